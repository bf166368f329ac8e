"""The text of a file: plain text in the encodings people have, or the text of a PDF. No Django.

PDF files are read in a process of their own with limits, as a crafted one can take any time and memory:
``python -m apps.conversations.file_text`` reads one from standard input and writes its text.
"""

from __future__ import annotations

import io
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from apps.core.text.clean import guess_encoding

PDF_SECONDS = 30
# The address space of the process. An ordinary file of some hundred pages takes a tenth of it.
PDF_BYTES = 1_500_000_000
# More have more text than is kept, or none, and take all the time there is to find that out.
MAX_PDF_PAGES = 5_000
_BEGINS_PDF = b"%PDF-"
# The share of control characters from which on a file is no text, whatever its bytes decode to.
_MOST_CONTROLS = 0.01


class UnreadableAttachment(Exception):
    """There is no text to be had from this file; the message says why, and `reason` names it."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def extract_text(data: bytes) -> str:
    """Return the text of a file. Raises `UnreadableAttachment`."""
    text = _read_pdf(data) if data[:1024].lstrip().startswith(_BEGINS_PDF) else _decode(data)
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    if not text.strip():
        raise UnreadableAttachment("no_text", "The file has no text. Scanned pages are pictures.")
    return text


def _decode(data: bytes) -> str:
    """Decode plain text: UTF-8, UTF-16 with a byte order mark, or GB 18030, which most older Chinese files are in."""
    try:
        text = data.decode(guess_encoding(data))
    except UnicodeDecodeError:
        text = "\0"
    controls = sum(character < " " and character not in "\t\n\r\f" for character in text)
    if controls <= len(text) * _MOST_CONTROLS:
        return text
    raise UnreadableAttachment("not_text", "Only text and PDF files can be attached.")


def _read_pdf(data: bytes) -> str:
    command = [sys.executable, "-m", "apps.conversations.file_text"]
    root = Path(__file__).resolve().parents[2]
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=PDF_SECONDS, check=False, cwd=root)
    except subprocess.TimeoutExpired:
        raise UnreadableAttachment("slow", "Reading this PDF takes too long.") from None
    if done.returncode == _ENCRYPTED:
        raise UnreadableAttachment("password", "This PDF is protected by a password.")
    if done.returncode == _TOO_MANY_PAGES:
        raise UnreadableAttachment("pages", f"This PDF has over {MAX_PDF_PAGES:,} pages.")
    if done.returncode:
        raise UnreadableAttachment("damaged", "This PDF is damaged or too complex to be read.")
    return done.stdout.decode(errors="replace")


_ENCRYPTED, _TOO_MANY_PAGES = 3, 4


def main() -> int:
    """Read a PDF from standard input, write its text, one page after the other."""
    resource.setrlimit(resource.RLIMIT_AS, (PDF_BYTES, PDF_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (PDF_SECONDS, PDF_SECONDS))
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(sys.stdin.buffer.read()))
    if reader.is_encrypted and not reader.decrypt(""):
        return _ENCRYPTED
    tree: Any = reader.root_object["/Pages"]  # to look at the pages themselves takes a millisecond each
    counts = (tree.get("/Count"), len(tree.get("/Kids") or ()))
    if any(isinstance(count, int) and count > MAX_PDF_PAGES for count in counts):
        return _TOO_MANY_PAGES
    pages = (page.extract_text().strip() for page in reader.pages)
    sys.stdout.buffer.write("\n\n".join(filter(None, pages)).encode(errors="replace"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
