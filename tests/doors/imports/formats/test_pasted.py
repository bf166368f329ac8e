"""Pasted text: a memory on each line, word for word."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest

from apps.doors.imports.formats.base import PastMemory
from apps.doors.imports.formats.pasted import MAX_CHARACTERS, Pasted, split_memories
from apps.doors.imports.formats.uploads import UnreadableFile, Upload
from apps.doors.imports.formats.values import MAX_STATEMENT_CHARACTERS

CLAUDE = """Here is what I know about you:

```
## Instructions
[2025-01-15] - Always answer in bullet points.
[unknown] - 用中文回答我。

**Identity**
[2024-03-02] - Name is **Anna**, lives in York
  with two cats.
```
This is the complete set.
"""
GEMINI = """1. **Family**
   * Has a brother, Jo.
   * Pets:
     * a cat, Miso
2. **Work:**
   - 宠物：
     - 一只狗
---
Likes [red] tea: green, too.
2027-03-01 passport expires
"""


def split(text: str) -> list[tuple[int, str, str]]:
    return [(found.number, found.text, found.heading) for found in split_memories(text)]


def test_what_claude_prints() -> None:
    assert split(CLAUDE) == [
        (4, "Always answer in bullet points.", "Instructions"),
        (5, "用中文回答我。", "Instructions"),
        (8, "Name is Anna, lives in York with two cats.", "Identity"),
        (11, "This is the complete set.", "Identity"),
    ]
    days = [found.said_at for found in split_memories(CLAUDE)]
    assert days == [datetime(2025, 1, 15, tzinfo=UTC), None, datetime(2024, 3, 2, tzinfo=UTC), None]


def test_what_others_print() -> None:
    assert split(GEMINI) == [
        (1, "Has a brother, Jo.", "Family"),
        (3, "Pets: a cat, Miso", "Family"),
        (6, "宠物：一只狗", "Work"),
        (8, "Likes [red] tea: green, too.", "Work"),
        (9, "2027-03-01 passport expires", "Work"),
    ]


def test_saved_memories_of_chatgpt() -> None:
    assert split("1. [2025-11-02]. Likes tea.\n2. [2025-11-03]. 对花生过敏") == [
        (0, "Likes tea.", ""), (1, "对花生过敏", ""),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["", " \n\n", "```\n```", "# Title", "Memories:", "- [2025-01-01] -", "-", "1.", "***"]
)
def test_what_has_no_memory(text: str) -> None:
    assert split(text) == []


def test_a_long_line_that_ends_in_a_colon_is_no_label() -> None:
    line = (
        "I told you this long story about my grandmother, who kept bees behind the chapel and always used to say that:"
    )
    assert split(f"{line}\n- {line}\n  - bees are kind") == [(0, line, ""), (1, line, ""), (2, "bees are kind", "")]


def test_a_text_is_read_as_memories_with_their_headings_as_tags() -> None:
    items = list(Pasted().read(Upload(io.BytesIO(CLAUDE.encode()))))
    memories = [item for item in items if isinstance(item, PastMemory)]
    assert [(item.content, item.tags) for item in memories][1] == ("用中文回答我。", ("Instructions",))
    assert memories[0].said_at == datetime(2025, 1, 15, tzinfo=UTC)
    long = " ".join(f"Sentence number {number} is about tea." for number in range(40))
    pieces = list(Pasted().read(Upload(io.BytesIO(long.encode()))))
    assert " ".join(item.content for item in pieces if isinstance(item, PastMemory)) == long
    assert all(len(item.content) <= MAX_STATEMENT_CHARACTERS for item in pieces if isinstance(item, PastMemory))


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(UnreadableFile, match="200,000"):
        list(Pasted().read(Upload(io.BytesIO(b"a" * (MAX_CHARACTERS + 1)))))
