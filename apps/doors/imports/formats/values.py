"""Reading single values: times, texts, and statements out of a text of several."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from apps.core.text.clean import clean_json, clean_text, normalize_line_ends
from apps.core.text.sentences import split_sentences
from apps.core.times import exists_everywhere
from apps.doors.imports.formats.base import LeftOut, Omission, PastConversation, PastFile, PastMessage

# Of one message, as for those that are sent; a longer one becomes several.
MAX_MESSAGE_CHARACTERS = 32_000

MAX_STATEMENT_CHARACTERS = 500
MAX_TITLE_CHARACTERS = 200
MAX_TAG_CHARACTERS = 50

_MILLISECONDS_FROM = 1e11
_LATEST = datetime.max.replace(tzinfo=UTC)
HEADING = re.compile(r"^(?:#{1,6}\s+(?P<hashes>\S.*)|\*\*(?P<stars>[^*]+)\*\*:?)$")
BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")


def read_time(value: Any) -> datetime | None:
    """Return the time that a number (seconds or milliseconds since 1970) or a text (ISO 8601; UTC where it has no
    offset) means; None for anything else.
    """
    try:
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            seconds = value / 1000 if value > _MILLISECONDS_FROM else value
            time = datetime.fromtimestamp(seconds, UTC)
        elif isinstance(value, str) and value.strip():
            time = datetime.fromisoformat(value.strip().removesuffix(" UTC"))
            time = time if time.tzinfo else time.replace(tzinfo=UTC)
        else:
            return None
        return time if exists_everywhere(time) else None
    except (ValueError, OverflowError, OSError):
        return None


def read_number(value: Any) -> Any:
    """Return the number of milliseconds that a text of digits is; anything else as it is."""
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 16 else value


def read_text(value: Any) -> str:
    """Return a text without what cannot be stored; "" for anything else."""
    return normalize_line_ends(clean_text(value)).strip() if isinstance(value, str) else ""


def read_title(value: Any) -> str:
    """Return a title on one line, no longer than a session's may be."""
    line = " ".join(read_text(value).split())
    return line if len(line) <= MAX_TITLE_CHARACTERS else f"{line[: MAX_TITLE_CHARACTERS - 1].rstrip()}…"


def read_tags(values: Any) -> tuple[str, ...]:
    """Return the tags in a list, or the one that a text is."""
    found = map(read_tag, values if isinstance(values, list) else [values])
    return tuple(filter(None, found))


def read_tag(value: Any) -> str:
    """Return a tag on one line, no longer than one may be."""
    return " ".join(read_text(value).split())[:MAX_TAG_CHARACTERS].strip()


def read_json(value: Any) -> Any:
    """Return a JSON value without what cannot be stored; None for one that is nested too deeply."""
    try:
        return clean_json(value)
    except ValueError:
        return None


def as_object(value: Any) -> Mapping[str, Any]:
    """Return an object; an empty one in place of anything else, so that wrong shapes are empty ones."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def name_source(*parts: Any) -> str:
    """Return an ID made of values, the same for the same values."""
    told = json.dumps(parts, ensure_ascii=True, sort_keys=True, default=str)
    return hashlib.sha256(told.encode()).hexdigest()[:32]


_SPEAKERS = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}


class Draft:
    """Collect what was said in a conversation, and count what is left out of it."""

    def __init__(self) -> None:
        self.messages: list[PastMessage] = []
        self.left_out: Counter[LeftOut] = Counter()
        self._count = 0

    def say(
        self,
        role: Any,
        text: str,
        *,
        said_at: datetime | None,
        source_id: Any = None,
        files: Sequence[PastFile] = (),
        attachments: int = 0,
    ) -> None:
        """Add a message, as several where it is too long for one, or count why it is left out.

        `files` go with its first part; `attachments`: how many came with it that are no text.
        """
        self._count += 1
        self.left_out[LeftOut.ATTACHMENT] += attachments
        role = str(role).lower()
        speaker = _SPEAKERS.get(role)
        if speaker is None:
            self.left_out[LeftOut.TOOL if role in ("tool", "function") else LeftOut.HIDDEN] += 1
        elif not text and not files:
            self.left_out[LeftOut.EMPTY] += not attachments
        else:
            name = str(source_id or name_source(self._count, speaker, text))
            text = text or " ".join(f"[{file.name}]" for file in files)[:MAX_MESSAGE_CHARACTERS]
            for number, start in enumerate(range(0, len(text), MAX_MESSAGE_CHARACTERS)):
                part = text[start : start + MAX_MESSAGE_CHARACTERS]
                if part.strip():
                    part_name, with_it = (f"{name}#{number}", ()) if number else (name, tuple(files))
                    self.messages.append(PastMessage(part_name, speaker, part, said_at, with_it))

    def finish(
        self, *, title: str, source_id: Any = None, started: Any = None, learns: bool = True
    ) -> PastConversation | Omission:
        """Return the conversation, or that it is empty. Without an ID at the source, how it begins identifies it."""
        if not self.messages:
            return Omission(LeftOut.EMPTY, label=title or str(source_id or ""))
        return PastConversation(
            source_id=str(source_id or name_source(title, started, self.messages[0].content)),
            title=title,
            messages=tuple(self.messages),
            started_at=read_time(started) or self.messages[0].said_at,
            left_out=+self.left_out,
            learns=learns,
        )


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of a conversation that may branch.

    `parent`: the ID of the message that it follows, None for one that begins the conversation; one that is not there
    means the message before it. `left_out`: what of it is left out, such as calls of tools.
    """

    source_id: str
    parent: Any
    role: Any
    text: str
    said_at: datetime | None = None
    left_out: Mapping[LeftOut, int] = field(default_factory=dict)


def follow_turns(turns: Sequence[Turn], leaf: Any = None) -> Draft:
    """Return what was said on the way to `leaf`, or to the newest message; the others are counted as other branches."""
    if all(turn.said_at for turn in turns):
        turns = sorted(turns, key=lambda turn: turn.said_at or _LATEST)
    by_id = {turn.source_id or f"#{number}": turn for number, turn in enumerate(turns)}
    parents = {name: turn.parent for name, turn in by_id.items()}
    if not any(isinstance(parent, str) and parent in by_id for parent in parents.values()):
        parents = dict.fromkeys(by_id, "")  # they do not say what they follow
    draft = Draft()
    path = trace_branch(parents, leaf if isinstance(leaf, str) and leaf in by_id else next(reversed(by_id), None))
    draft.left_out[LeftOut.OTHER_BRANCH] = len(by_id) - len(path)
    for turn in map(by_id.__getitem__, path):
        draft.left_out.update(turn.left_out)
        if turn.text or not any(turn.left_out.values()):
            draft.say(turn.role, turn.text, source_id=turn.source_id, said_at=turn.said_at)
    return draft


def read_parts(content: Any) -> tuple[str, int]:
    """Return the text of a message's content, a text or a list of parts, and how many parts of it are no text."""
    if isinstance(content, dict):
        content = content.get("parts", [content])
    texts, others = [], 0
    for part in content if isinstance(content, list) else [content]:
        text = as_object(part).get("text") if isinstance(part, dict) else part
        if isinstance(text, str):
            texts.append(read_text(text))
        else:
            others += part is not None
    return "\n\n".join(filter(None, texts)), others


def cut_elements(text: str, opening: str, closing: str) -> tuple[str, list[str]]:
    """Return a text without what stands between such marks, and what stood there. Linear in its length."""
    *pieces, rest = text.split(closing)
    kept, cut = [], []
    for piece in pieces:
        before, opened, inside = piece.partition(opening)
        kept.append(before if opened else piece + closing)
        cut += [inside] if opened else []
    return read_text("".join([*kept, rest])), cut


def trace_branch(parents: Mapping[str, Any], leaf: str | None) -> list[str]:
    """Return the IDs on the way from the first message to `leaf`.

    `parents`: what each continues, None for the first one, in the order in which they were said. One whose parent is
    not there continues what was said before it: a lost way is no root, and what precedes it no other branch.
    """
    order = list(parents)
    places = {name: place for place, name in enumerate(order)}
    path: dict[str, None] = {}
    while leaf is not None and leaf not in path:
        path[leaf] = None
        place, parent = places[leaf], parents[leaf]
        is_known = parent is None or (isinstance(parent, str) and parent in places)
        leaf = parent if is_known else order[place - 1] if place else None
    return list(reversed(path))


def split_statements(text: str) -> Iterator[tuple[str, str]]:
    """Yield the statements of a text of headings, lists and paragraphs, each with the heading that it is under.

    A list item or a paragraph is one statement; a long one becomes several, of whole sentences.
    """
    heading = ""
    for block in _split_blocks(text):
        if found := HEADING.match(block):
            hashes = found["hashes"] or ""
            heading = (hashes.rstrip("# \t") or hashes or found["stars"]).strip().strip(":")
            continue
        for statement in fit_statement(block):
            yield statement, heading


def _split_blocks(text: str) -> Iterator[str]:
    paragraph: list[str] = []
    for line in [*read_text(text).split("\n"), ""]:
        stands_alone = bool(BULLET.match(line) or HEADING.match(line.strip()))
        if paragraph and (stands_alone or not line.strip()):
            yield " ".join(paragraph)
            paragraph = []
        if stands_alone and HEADING.match(line.strip()):
            yield line.strip()
        elif line.strip():
            paragraph.append(BULLET.sub("", line).strip())


def fit_statement(statement: str) -> Iterator[str]:
    """Yield a statement; a long one as several, of whole sentences."""
    held = ""
    for sentence in split_sentences(statement):
        for start in range(0, len(sentence), MAX_STATEMENT_CHARACTERS):
            piece = sentence[start : start + MAX_STATEMENT_CHARACTERS]
            if held.strip() and len((held + piece).strip()) > MAX_STATEMENT_CHARACTERS:
                yield held.strip()
                held = ""
            held += piece
    if held.strip():
        yield held.strip()
