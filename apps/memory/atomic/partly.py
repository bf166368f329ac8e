"""Whether what was said is about one of several things that a text joins: "plays the spoons and the ukulele". Pure."""

from __future__ import annotations

import re

from apps.core.text.scripts import holds_chinese
from apps.memory.atomic.compare import share
from apps.memory.atomic.frames import read_frame
from apps.memory.atomic.tables import load_tables

_SEPARATOR = re.compile(
    r"(?P<joint>,? (?:and|or|plus|as well as) "
    r"|，?(?:以及|还有)|、|(?<![温暖柔])和(?![服平气谐睦解])|与|(?<![高平坡粗细低])跟)|[,，;；] ?"
)
_SENTENCE = re.compile(r"[^。!?！？\n]+?(?:\.(?=\s|$)|[。!?！？\n]|$)")
_ONLY = re.compile(r"\bonly\b|只(?:剩|留|[喝吃用看玩订有])|仅")
"""Who says so names what stays."""
_SHORT, _SHORT_CHINESE = 40, 12
"""Characters of a thing in a list whose last two are joined."""


def names_a_part(content: str, said: str) -> bool:
    """Whether `said` names one of the things that `content` joins, and not the one beside it."""
    if _ONLY.search(said):
        return False
    frame = read_frame(said)
    about, numbers = frame.words - load_tables().taking, frame.numbers
    return any(
        one != other
        for sentence in _SENTENCE.findall(content)
        for one, other in _list_pairs(sentence, about=about, numbers=numbers)
    )


def _list_pairs(sentence: str, *, about: frozenset[str], numbers: frozenset[str]) -> list[tuple[bool, bool]]:
    """For each two things joined, whether they are named; none of those that tell nothing."""
    pieces, joints, start = [], [], 0
    for found in _SEPARATOR.finditer(sentence):
        pieces.append(sentence[start : found.start()])
        joints.append(found["joint"] is not None)
        start = found.end()
    pieces.append(sentence[start:])
    for at in range(len(joints) - 2, -1, -1):
        joints[at] = joints[at] or (joints[at + 1] and _is_short(pieces[at + 1]))
    named = [_is_named(piece, about=about, numbers=numbers) for piece in pieces]
    return [
        (one, other)
        for joint, one, other in zip(joints, named, named[1:], strict=False)
        if joint and one is not None and other is not None
    ]


def _is_short(piece: str) -> bool:
    return len(piece) <= (_SHORT_CHINESE if holds_chinese(piece) else _SHORT)


def _is_named(piece: str, *, about: frozenset[str], numbers: frozenset[str]) -> bool | None:
    """Whether a piece shares a word with what was said; None where it has none to share."""
    frame = read_frame(piece)
    words = frame.words - load_tables().taking
    if not words and not frame.numbers:
        return None
    return bool(share(words, about)) or bool(frame.numbers & numbers)
