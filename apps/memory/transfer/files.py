"""Files of memories over HTTP, for the API and the panel."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from typing import IO, Any

from django.core.files.uploadedfile import UploadedFile
from django.http import FileResponse
from django.utils import timezone

from apps.memory.transfer.reading import MAX_FILE_BYTES


def answer_file(portions: Iterable[bytes], *, name: str) -> FileResponse:
    """Answer with a file of JSON. Written out before it is sent: no connection waits for a slow client."""
    # Without a name: nothing of it stays, whatever happens. The response closes it.
    file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
    try:
        file.writelines(portions)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    filename = f"jiyi-{name}-{timezone.now():%Y-%m-%d}.json"
    return FileResponse(file, as_attachment=True, filename=filename, content_type="application/json")


def read_upload(file: UploadedFile[Any]) -> bytes:
    """Return what was uploaded, as far as `parse_file` looks at it."""
    return bytes(file.read(MAX_FILE_BYTES + 1))
