"""The formats that can be imported, and which of them a file has. A new one is a class and a line in `FORMATS`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.doors.imports.formats.base import Clue, Format
from apps.doors.imports.formats.chats import ChatGPT, Claude, DeepSeek, Grok
from apps.doors.imports.formats.clients import LibreChat, LobeHub, OpenWebUI, SillyTavern
from apps.doors.imports.formats.gemini import Gemini
from apps.doors.imports.formats.own import Jiyi, Plain
from apps.doors.imports.formats.pasted import Pasted
from apps.doors.imports.formats.stores import Letta, Mem0, Zep
from apps.doors.imports.formats.uploads import Readable, Rejoined, UnknownFormat, UnreadableFile, Upload, read_nodes
from apps.doors.imports.formats.values import as_object

# By name, in the order in which people see them. Where two are as sure, the first counts.
_CHATS = (ChatGPT(), Claude(), Gemini(), Grok(), DeepSeek(), OpenWebUI(), LibreChat(), LobeHub(), SillyTavern())
FORMATS: dict[str, Format] = {each.name: each for each in (*_CHATS, Mem0(), Letta(), Zep(), Pasted(), Plain(), Jiyi())}

# Values of a document that are looked at; what tells the formats apart comes early.
_LOOKED_AT = 1_000

# A score above this settles it; at or below it, another file of the archive may say more.
_UNSURE = 0.5

_AS_LINES = "which cannot be read yet. Convert it to JSON lines instead."
# What people bring that cannot be read: names that stand together in an object, and what to do instead.
_NOT_READ: dict[frozenset[str], str] = {
    frozenset({"export_id", "data_files"}): "This is only the list of files of a Claude export. Download the archives "
    "that it names, and import those.",
    frozenset({"info", "histories"}): f"This is an export of Character.AI, {_AS_LINES}",
    frozenset({"chat-next-web-store"}): f"This is a backup of NextChat, {_AS_LINES}",
    frozenset({"localStorage", "indexedDB"}): f"This is a backup of Cherry Studio, {_AS_LINES}",
}
_COPILOT = "Conversation,Time,Author,Message"


def get_format(name: str) -> Format:
    """Return a format by its name, or raise `UnknownFormat`."""
    if name not in FORMATS:
        raise UnknownFormat(f"There is no format named {name!r}.")
    return FORMATS[name]


def detect_format(upload: Upload) -> Format:
    """Return the format of a file by its content: names of files prove nothing.

    Raises `UnknownFormat`, or `UnreadableFile` where not even that can be told.
    """
    reason: UnreadableFile | None = None
    best: Format | None = None
    best_score = 0.0
    for member in (*upload.members, *upload.pages):
        try:
            with upload.open_text(member) as text:
                score, found = _detect_in_document(text)
        except UnreadableFile as error:
            reason = reason if isinstance(reason, UnknownFormat) else error
            continue
        if score > best_score:
            best, best_score = found, score
        if best_score > _UNSURE:
            break
    if best is not None:
        return best
    raise reason or UnknownFormat("This file is not in a format that can be imported.")


def _detect_in_document(text: Readable) -> tuple[float, Format | None]:
    """Return the first format that recognizes something in a document, and how sure it is."""
    top: dict[str, Any] = {}
    head = text.read(len(_COPILOT))
    if head == _COPILOT:
        raise UnknownFormat(f"This is an export of Microsoft Copilot, {_AS_LINES}")
    for number, node in enumerate(read_nodes(Rejoined(head, text))):
        found = as_object(node.value) if node.is_element else {}
        if not node.path:
            _refuse_unread(found)
        else:
            top[node.path[0]] = node.value
        best = _choose(Clue(node.path, found, top))
        if best[0] or number >= _LOOKED_AT:
            return best
    _refuse_unread(top)
    return _choose(Clue((), top, top))


def _choose(clue: Clue) -> tuple[float, Format | None]:
    score, found = max(((each.score(clue), each) for each in FORMATS.values()), key=lambda scored: scored[0])
    return (score, found) if score else (0.0, None)


def _refuse_unread(found: Mapping[str, Any]) -> None:
    """Raise `UnknownFormat` for what is recognized and cannot be read; the text says what to do."""
    for names, advice in _NOT_READ.items():
        if names <= found.keys():
            raise UnknownFormat(advice)
