from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class MemoryConfig(AppConfig):
    name = "apps.memory"
    verbose_name = _("Memory")

    def ready(self) -> None:
        from apps.memory import contexts
        from apps.memory.changes.records import register_kind
        from apps.memory.changes.undo import register_memories
        from apps.memory.deletion import register_copy_holder
        from apps.memory.models import Change
        from apps.memory.vectors import embedders  # noqa: F401  # registers its system checks

        register_memories()
        register_kind(Change.Kind.CONTEXT, contexts.KIND)
        register_kind(Change.Kind.ENTRY, contexts.ENTRIES)
        register_copy_holder("context", contexts.HOLDER)
