"""Text that an assistant prints when it is asked what it remembers: a memory on each line, under headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

from apps.doors.imports.formats.base import Clue, Format, Item, PastMemory
from apps.doors.imports.formats.base import gettext_noop as _
from apps.doors.imports.formats.uploads import UnreadableFile, Upload
from apps.doors.imports.formats.values import (
    BULLET,
    HEADING,
    fit_statement,
    name_source,
    read_tags,
    read_text,
    read_time,
)

MAX_CHARACTERS = 200_000

_MAX_LABEL_CHARACTERS, _MAX_HEADING_CHARACTERS = 100, 30
# From here on an indented line is a memory of its own.
_MAX_CONTINUED_CHARACTERS = 2_000
# Fences of code, rules and bullets without words.
_FRAME = re.compile(r"```\w*|[-*_•]+|\d+[.)]")
_BOLD = re.compile(r"\*\*([^*]+)\*\*")
# "[2025-11-02]. Likes tea." as ChatGPT writes it, "[2025-11-02] - Likes tea." as Claude asks for it.
_DATED = re.compile(r"\[(?P<day>\d{4}-\d\d-\d\d|unknown|未知)\][.:]?\s*(?:[-–—](?:\s+|$))?")


@dataclass(frozen=True, slots=True)
class PastedMemory:
    """A memory in a text. `number`: of the line that it begins on; the first is 0."""

    number: int
    text: str
    heading: str = ""
    said_at: datetime | None = None


class Pasted(Format):
    """Such a text. It is never detected, as any text could be one."""

    name = "text"
    label = _("Pasted text")
    description = _("Text with a memory on each line, pasted")

    def score(self, clue: Clue) -> float:
        return 0.0

    def read(self, upload: Upload) -> Iterator[Item]:
        """Yield the memories."""
        for member in upload.members:
            with upload.open_text(member) as file:
                text = file.read(MAX_CHARACTERS + 1)
            if len(text) > MAX_CHARACTERS:
                raise UnreadableFile(f"The text has over {MAX_CHARACTERS:,} characters.")
            for found in split_memories(text):
                for statement in fit_statement(found.text):
                    tags = read_tags(found.heading)
                    yield PastMemory(name_source(statement), statement, tags=tags, said_at=found.said_at)


def split_memories(text: str) -> list[PastedMemory]:
    """Return the memories in a text, without bullets, dates in brackets and what frames them.

    A label ("Pets:") stands before the items of the list below it. An indented line continues the one before it.
    """
    memories: list[PastedMemory] = []
    labels: list[tuple[int, str]] = []
    heading, continued = "", False
    lines = [*read_text(text).split("\n"), ""]
    for number, (line, following) in enumerate(pairwise(lines)):
        indent, bullet = _measure(line), BULLET.match(line)
        body = line[bullet.end() :].strip() if bullet else line.strip()
        if not body or _FRAME.fullmatch(body):
            continued = False
            continue
        has_list = bool(BULLET.match(following)) and _measure(following) > indent
        if (found := HEADING.match(body)) and (has_list or not bullet):
            heading, labels, continued = (found["hashes"] or found["stars"]).strip(" #:：*"), [], False
            continue
        if continued and indent and not bullet and len(memories[-1].text) < _MAX_CONTINUED_CHARACTERS:
            memories[-1] = replace(memories[-1], text=f"{memories[-1].text} {body}")
            continue
        dated = _DATED.match(body)
        body = _BOLD.sub(r"\1", body[dated.end() :] if dated else body)
        labels = [label for label in labels if label[0] < indent]
        is_label = not body or (body.endswith((":", "：")) and len(body) <= _MAX_LABEL_CHARACTERS)
        continued = not is_label
        if not is_label:
            told = "".join(label if label.endswith("：") else f"{label} " for _indent, label in labels) + body
            said_at = read_time(dated["day"]) if dated else None
            memories.append(PastedMemory(number, told, heading, said_at))
        elif bullet:
            labels.append((indent, body))
        else:
            heading, labels = body.strip(":："), []
            heading = heading if len(heading) <= _MAX_HEADING_CHARACTERS else ""
    return memories


def _measure(line: str) -> int:
    return len(line) - len(line.lstrip())
