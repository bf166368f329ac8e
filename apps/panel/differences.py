"""What changed between two texts, word by word, Chinese and English. Pure: no Django."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

from apps.core.text.segment import pieces

Part = tuple[Literal["same", "gone", "new"], str]

MAX_COMPARED = 1_500
"""Words a side that are compared one by one, once what both begin and end with is set aside: the time is quadratic."""

_BETWEEN_WORDS = re.compile(r"\s+|\S")


def word_difference(before: str, after: str) -> list[Part]:
    """Return the parts of both texts in order, neighbours never of one kind, what is gone before what is new there.

    Without the new parts they are `before` again, without those gone `after`. Space alone between two changes counts
    as changed with them, so that "red car" to "blue bus" is one change. Texts with more than `MAX_COMPARED` changed
    words count as changed throughout.
    """
    old, new = _tokens(before), _tokens(after)
    start = _count_common(old, new)
    end = _count_common(old[start:][::-1], new[start:][::-1])
    old_end, new_end = len(old) - end, len(new) - end
    parts: list[Part] = [("same", "".join(old[:start]))]
    parts += _compare(old[start:old_end], new[start:new_end])
    parts.append(("same", "".join(old[old_end:])))
    return list(_join(parts))


def shorten_same(parts: Sequence[Part], *, keep: int = 80) -> list[Part]:
    """Cut what stayed the same to `keep` characters next to each change, "…" in place of the rest."""
    shortened: list[Part] = []
    for index, (kind, text) in enumerate(parts):
        head = text[:keep] if index > 0 else ""
        tail = text[-keep:] if index < len(parts) - 1 else ""
        long = kind == "same" and len(text) > len(head) + len(tail) + 1
        shortened.append((kind, f"{head}…{tail}") if long else (kind, text))
    return shortened


def _tokens(text: str) -> list[str]:
    return [
        token for piece in pieces(text) for token in ([piece] if _is_word(piece) else _BETWEEN_WORDS.findall(piece))
    ]


def _is_word(piece: str) -> bool:
    return any(map(str.isalnum, piece))


def _count_common(old: Sequence[str], new: Sequence[str]) -> int:
    count = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        count += 1
    return count


def _compare(old: Sequence[str], new: Sequence[str]) -> Iterator[Part]:
    if max(len(old), len(new)) > MAX_COMPARED:
        yield ("gone", "".join(old))
        yield ("new", "".join(new))
        return
    for kind, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            yield ("same", "".join(old[start:end]))
        else:
            yield ("gone", "".join(old[start:end]))
            yield ("new", "".join(new[new_start:new_end]))


def _join(parts: Sequence[Part]) -> Iterator[Part]:
    """Neighbours of one kind as one, empty ones left out, space between changes as part of them."""
    told = [part for part in parts if part[1]]
    gone = new = ""
    for index, (kind, text) in enumerate(told):
        if kind == "gone":
            gone += text
        elif kind == "new":
            new += text
        elif (gone or new) and text.isspace() and index < len(told) - 1:
            gone, new = gone + text, new + text
        else:
            yield from _list_told(gone, new)
            gone = new = ""
            yield ("same", text)
    yield from _list_told(gone, new)


def _list_told(gone: str, new: str) -> Iterator[Part]:
    if gone:
        yield ("gone", gone)
    if new:
        yield ("new", new)
