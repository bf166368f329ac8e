from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class MemoryConfig(AppConfig):
    name = "apps.memory"
    verbose_name = _("Memory")

    def ready(self) -> None:
        from apps.memory import checks  # noqa: F401  # registers them
        from apps.memory.atomic import undo as atomic
        from apps.memory.copies import register_copy_holder
        from apps.memory.history.kinds import register_kind
        from apps.memory.long_term import undo as long_term
        from apps.memory.models import Change
        from apps.memory.shared_context import audit as shared_context
        from apps.memory.shared_context import copies

        register_kind(Change.Kind.LONG_TERM, long_term.KIND)
        register_kind(Change.Kind.ATOMIC, atomic.KIND)
        register_kind(Change.Kind.CONTEXT, shared_context.KIND)
        register_kind(Change.Kind.ENTRY, shared_context.ENTRIES)
        register_copy_holder("context", copies.HOLDER)
