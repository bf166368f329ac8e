"""Files to keep over HTTP, of JSON unless something else is said."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable, Iterable
from typing import IO

from asgiref.sync import sync_to_async
from django.http import FileResponse
from django.utils import timezone

_BYTES_AT_ONCE = 256 * 1024


class _Attachment(FileResponse):
    """A file that is sent in portions, whether the server asks for them in an event loop or not."""

    def __init__(self, file: IO[bytes], *, filename: str, content_type: str) -> None:
        super().__init__(file, as_attachment=True, filename=filename, content_type=content_type)
        self._file = file  # which middleware hides from the response, to log when it was sent

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while portion := await sync_to_async(self._file.read, thread_sensitive=False)(_BYTES_AT_ONCE):
            yield portion


def answer_file(portions: Iterable[bytes], *, name: str) -> FileResponse:
    """Answer with a file of JSON made of these portions."""
    return answer_written(lambda file: file.writelines(portions), name=name)


def answer_written(
    write: Callable[[IO[bytes]], object], *, name: str, ending: str = "json", content_type: str = "application/json"
) -> FileResponse:
    """Answer with what `write` writes. Written out before it is sent: no connection waits for a slow client."""
    # Without a name: nothing of it stays, whatever happens. The response closes it.
    file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
    try:
        write(file)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return _Attachment(file, filename=f"jiyi-{name}-{timezone.now():%Y-%m-%d}.{ending}", content_type=content_type)
