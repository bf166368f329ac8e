from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ShardsConfig(AppConfig):
    name = "apps.shards"
    verbose_name = _("Shards")

    def ready(self) -> None:
        from apps.shards import checks  # noqa: F401  # registers them
