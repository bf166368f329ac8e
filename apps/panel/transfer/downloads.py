"""Memories as files to keep (M4)."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import FileResponse

from apps.core.files import answer_file
from apps.memory.transfer.selectors import KINDS, export_rows


def download_memories(memories: QuerySet[Any]) -> FileResponse:
    """Answer with a file of these memories, of either kind, which the caller has seen to that may be read."""
    kind = next(kind for kind in KINDS.values() if kind.model is memories.model)
    return answer_file(export_rows(memories, kind), name=kind.name)
