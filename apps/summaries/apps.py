from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SummariesConfig(AppConfig):
    name = "apps.summaries"
    verbose_name = _("Summaries")

    def ready(self) -> None:
        from apps.accounts.services.personal_data import PersonalTable, register_tables
        from apps.memory.changes.records import register_kind
        from apps.memory.deletion import register_copy_holder
        from apps.memory.models import Change
        from apps.summaries.history import COPIES, KIND
        from apps.summaries.models import SessionSummary

        register_kind(Change.Kind.SUMMARY, KIND)
        register_copy_holder("summary", COPIES)
        register_tables(PersonalTable(SessionSummary))
