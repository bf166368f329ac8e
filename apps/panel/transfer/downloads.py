"""Memories as files to keep (M4)."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from typing import IO, Any

from django.db.models import QuerySet
from django.http import FileResponse
from django.utils import timezone

from apps.core.files import answer_file, answer_written
from apps.memory.transfer.selectors import KINDS, export_rows


def download_memories(parts: Sequence[QuerySet[Any]]) -> FileResponse:
    """Answer with a file of these memories, each part of one kind, which the caller has seen to that may be read.

    Of both kinds it is a ZIP archive of a file for each, as they are imported.
    """
    found = [part for part in parts if part.exists()] or parts[:1]
    files = [(next(kind for kind in KINDS.values() if kind.model is part.model), part) for part in found]
    if len(files) == 1:
        kind, memories = files[0]
        return answer_file(export_rows(memories, kind), name=kind.name)

    def write(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for kind, memories in files:
                with archive.open(f"jiyi-{kind.name}-{timezone.now():%Y-%m-%d}.json", "w", force_zip64=True) as part:
                    part.writelines(export_rows(memories, kind))

    return answer_written(write, name="memories", suffix="zip", content_type="application/zip")
