"""What other apps may read here: files of memories, and what importing one would do."""

from apps.memory.transfer.exporting import export_memories, export_rows
from apps.memory.transfer.kinds import KINDS, LONG_TERM, TransferKind
from apps.memory.transfer.planning import plan_import
from apps.memory.transfer.reading import read_upload

__all__ = ["KINDS", "LONG_TERM", "TransferKind", "export_memories", "export_rows", "plan_import", "read_upload"]
