"""Files over HTTP: of JSON, unless another type is said."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable, Iterable
from typing import IO

from asgiref.sync import sync_to_async
from django.http import FileResponse
from django.utils import timezone

JSON = "application/json"
MAX_NAME_CHARACTERS = 60

_BYTES_AT_ONCE = 256 * 1024
_FORBIDDEN = frozenset('<>:"/\\|?*')


class _Attachment(FileResponse):
    """A file that is sent in portions, whether the server asks for them in an event loop or not."""

    def __init__(self, file: IO[bytes], *, filename: str, content_type: str) -> None:
        super().__init__(file, as_attachment=True, filename=filename, content_type=content_type)
        self._file = file  # which middleware hides from the response, to log when it was sent

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while portion := await sync_to_async(self._file.read, thread_sensitive=False)(_BYTES_AT_ONCE):
            yield portion


def answer_file(
    portions: Iterable[bytes], *, name: str, content_type: str = JSON, suffix: str = "json"
) -> FileResponse:
    """Answer with a file made of these portions."""
    return answer_written(lambda file: file.writelines(portions), name=name, content_type=content_type, suffix=suffix)


def answer_written(
    write: Callable[[IO[bytes]], object], *, name: str, content_type: str = JSON, suffix: str = "json"
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
    filename = f"jiyi-{make_safe_name(name)}-{timezone.now():%Y-%m-%d}.{suffix}"
    return _Attachment(file, filename=filename, content_type=content_type)


def make_safe_name(text: str) -> str:
    """Return a text as a part of a file's name that every system takes: one line, without marks that mean something."""
    kept = "".join(" " if char in _FORBIDDEN or not char.isprintable() else char for char in text)
    return " ".join(kept.split())[:MAX_NAME_CHARACTERS].strip(" .")
