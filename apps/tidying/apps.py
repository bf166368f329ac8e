from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class TidyingConfig(AppConfig):
    name = "apps.tidying"
    verbose_name = _("Tidying")

    def ready(self) -> None:
        from apps.accounts.services.personal_data import PersonalTable, register_tables
        from apps.tidying.models import Tidying

        register_tables(PersonalTable(Tidying))
