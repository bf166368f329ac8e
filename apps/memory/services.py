"""What other apps may write in memory."""

from apps.memory.archive import archive_working_memory, expire_working_memory
from apps.memory.atomic.curation import bring_back_atomic_memory, merge_atomic_memories, supersede_atomic_memory
from apps.memory.atomic.services import (
    create_atomic_memory,
    forget_all_atomic_memories,
    forget_atomic_memories,
    update_atomic_memory,
)
from apps.memory.commands import (
    CommandResult,
    Outcome,
    StatementHolder,
    describe_forgotten,
    forget_chosen,
    forget_learned,
    forget_stated,
    name_operation,
    register_statement_holder,
    remember_statement,
    run_commands,
)
from apps.memory.copies import CopyHolder, MemoryCopy, register_copy_holder
from apps.memory.embeddings.messages import forget_embeddings, prepare_embeddings, store_embeddings
from apps.memory.embeddings.reembedding import begin_reembedding
from apps.memory.history.authorship import changed_by, collect_operations
from apps.memory.history.kinds import TrackedKind, register_kind
from apps.memory.history.services import empty_history, forget_history, record_changes
from apps.memory.history.together import MOST_TOGETHER, UndoneTogether, undo_together
from apps.memory.history.undo import undo_operation
from apps.memory.locking import lock_memories
from apps.memory.long_term.curation import bring_back_memory, merge_memories, remove_item
from apps.memory.long_term.deletion import forget_all, forget_memories
from apps.memory.long_term.services import (
    accept_memory,
    create_memory,
    record_entries,
    record_use,
    reject_memory,
    update_memory,
)
from apps.memory.models import Change
from apps.memory.retracting import restore_retracted, retract_learned
from apps.memory.reviewing import accept_atomic_memory, reject_atomic_memory
from apps.memory.setting_aside import set_aside
from apps.memory.shared_context.services import append_entry, create_context, forget_context, record_context
from apps.memory.transfer.adopting import Adopted, Adoption, ForeignMemory, adopt_memories
from apps.memory.transfer.types import ImportRefused
from apps.memory.verdicts import record_verdicts
from apps.memory.withdrawing import withdraw_operation
from apps.memory.working.services import (
    count_turn,
    forget_working_memory,
    record_analysis,
    record_form,
    update_working_memory,
)

Origin = Change.Origin
"""Where changes come from (L7)."""

__all__ = [
    "MOST_TOGETHER",
    "Adopted",
    "Adoption",
    "CommandResult",
    "CopyHolder",
    "ForeignMemory",
    "ImportRefused",
    "MemoryCopy",
    "Origin",
    "Outcome",
    "StatementHolder",
    "TrackedKind",
    "UndoneTogether",
    "accept_atomic_memory",
    "accept_memory",
    "adopt_memories",
    "append_entry",
    "archive_working_memory",
    "begin_reembedding",
    "bring_back_atomic_memory",
    "bring_back_memory",
    "changed_by",
    "collect_operations",
    "count_turn",
    "create_atomic_memory",
    "create_context",
    "create_memory",
    "describe_forgotten",
    "empty_history",
    "expire_working_memory",
    "forget_all",
    "forget_all_atomic_memories",
    "forget_atomic_memories",
    "forget_chosen",
    "forget_context",
    "forget_embeddings",
    "forget_history",
    "forget_learned",
    "forget_memories",
    "forget_stated",
    "forget_working_memory",
    "lock_memories",
    "merge_atomic_memories",
    "merge_memories",
    "name_operation",
    "prepare_embeddings",
    "record_analysis",
    "record_changes",
    "record_context",
    "record_entries",
    "record_form",
    "record_use",
    "record_verdicts",
    "register_copy_holder",
    "register_kind",
    "register_statement_holder",
    "reject_atomic_memory",
    "reject_memory",
    "remember_statement",
    "remove_item",
    "restore_retracted",
    "retract_learned",
    "run_commands",
    "set_aside",
    "store_embeddings",
    "supersede_atomic_memory",
    "undo_operation",
    "undo_together",
    "update_atomic_memory",
    "update_memory",
    "update_working_memory",
    "withdraw_operation",
]
