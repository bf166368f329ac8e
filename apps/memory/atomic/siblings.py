"""Statements of the same about several things ("plays guitar", "plays piano"): who names one means that one. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from apps.memory.atomic.compare import share
from apps.memory.atomic.frames import Frame, list_attributes, read_frame
from apps.memory.atomic.repeats import fills_otherwise

_ALL = re.compile(
    r"(?<![成首古旧京])都(?!市)|(?<![安完健齐])全(?![职麦日勤科球国])|所有|统统|一[个样门只本家]也?[不没]|只(?![猫狗鸟鱼])|仅"
    r"|\b(?:all|both|none|neither|nothing|everything|any(?! ?more)|each|altogether|only|just the)\b"
    r"|\bevery(?! (?:day|morning|evening|night|week|month|year|\w+day)\b)",
    re.IGNORECASE,
)
"""Who says so may well mean those, too, that are not named; or, with "only", just those."""

_HEAD = re.compile(
    r"(?:the user(?:'s)?\b|用户)?(?:的|家里?|最|很|现在|平时|经常|每[天周月年晚])*"
    r"(?:\s*(?:also|still|really|currently)\b|[也还])*\s*(?P<head>is \w+|can \w+|[a-z]+|[\u4e00-\u9fff])",
    re.IGNORECASE,
)
"""What is said of each: "plays", "is allergic", 会."""


def list_unnamed(contents: Sequence[str], said: str) -> frozenset[int]:
    """Return the indexes of statements that `said` cannot mean: it names what sets another one of their kind apart.

    Two are of a kind if they say the same of different things, and may both be true at once.
    """
    if len(contents) < 2 or _ALL.search(said):
        return frozenset()
    frames = [read_frame(content) for content in contents]
    words, numbers = read_frame(said).words, read_frame(said).numbers
    unnamed: set[int] = set()
    for one, content in enumerate(contents):
        for other, its_content in enumerate(contents):
            if one == other or not _are_of_a_kind(content, its_content, frames[one], frames[other]):
                continue
            if _is_named(frames[other], words, numbers, beside=frames[one]) and not _is_named(
                frames[one], words, numbers, beside=frames[other]
            ):
                unnamed.add(one)
    return frozenset(unnamed)


def _are_of_a_kind(one: str, other: str, frame: Frame, its_frame: Frame) -> bool:
    both = _list_attributes(frame) & _list_attributes(its_frame)
    if any(name in list_attributes() for _whose, name in both):
        return False  # somebody has one home, one job
    head, its_head = _HEAD.match(one), _HEAD.match(other)
    alike = head and its_head and head["head"].lower() == its_head["head"].lower()
    return bool(both or alike) or fills_otherwise(one, other)


def _list_attributes(frame: Frame) -> set[tuple[str, str]]:
    return {attribute for clause in frame.clauses for attribute in clause.attributes}


def _is_named(frame: Frame, words: frozenset[str], numbers: frozenset[str], *, beside: Frame) -> bool:
    """Whether words or numbers are of a statement, but not of the one beside it."""
    own = frame.words - share(frame.words, beside.words)
    return bool(share(own, words)) or bool((frame.numbers - beside.numbers) & numbers)
