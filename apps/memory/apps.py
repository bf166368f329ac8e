from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class MemoryConfig(AppConfig):
    name = "apps.memory"
    verbose_name = _("Memory")

    def ready(self) -> None:
        from apps.memory import checks  # noqa: F401  # registers them
        from apps.memory.changes.records import register_kind
        from apps.memory.changes.undo import register_memories
        from apps.memory.contexts import tracking
        from apps.memory.copies import register_copy_holder
        from apps.memory.models import Change

        register_memories()
        register_kind(Change.Kind.CONTEXT, tracking.KIND)
        register_kind(Change.Kind.ENTRY, tracking.ENTRIES)
        register_copy_holder("context", tracking.HOLDER)
