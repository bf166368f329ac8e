"""How a new memory relates to one that is there (A3): deterministic, and silent where only a model could tell. Pure.

Precision comes first: a wrong CONTRADICTS takes away something true, a wrong NEW only leaves two lines where one would
do.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from apps.memory.atomic.frames import USER, Clause, Frame, Value, read_frame

SAME_COSINE = 0.97
"""From here on two texts with the same numbers and nothing ended in either say the same."""

DOUBTFUL_COSINE = 0.85
"""From here on a model is asked."""

_MOST_OVERLAP, _SOME_OVERLAP = 0.75, 0.5
_FEW_WORDS = 3
_STATES = frozenset({"job", "relationship", "study"})
"""Attributes that end without a new value: "lost my job", 分手了."""


class Relation(StrEnum):
    """What a new text is to an old one. DOUBTFUL: near, but the rules cannot tell."""

    NEW = "new"
    SAME = "same"
    REFINES = "refines"
    CONTRADICTS = "contradicts"
    DOUBTFUL = "doubtful"


def compare(old: str, new: str, *, cosine: float | None = None) -> Relation:
    """Return how `new` relates to `old`, the contents of two memories of one person.

    ``cosine``: of their vectors, None where one has none.
    """
    before, after = read_frame(old), read_frame(new)
    if before.normalized == after.normalized:
        return Relation.SAME
    if _contradicts(before, after):
        return Relation.CONTRADICTS
    if not _share_subject(before, after):
        return Relation.NEW
    return _compare_content(before, after, cosine=cosine)


def _share_subject(before: Frame, after: Frame) -> bool:
    return any(_concern_the_same(old, new, before, after) for old, new in _pairs(before, after))


def _pairs(before: Frame, after: Frame) -> Iterator[tuple[Clause, Clause]]:
    return ((old, new) for new in after.clauses for old in before.clauses)


def _concern_the_same(old: Clause, new: Clause, before: Frame, after: Frame) -> bool:
    """Whether both are about the same one; "my cat died" is about the cat in "I have a cat"."""
    if old.subject == new.subject:
        return True
    return (old.subject == USER and new.subject in before.mentioned) or (
        new.subject == USER and old.subject in after.mentioned
    )


def _contradicts(before: Frame, after: Frame) -> bool:
    for old, new in _pairs(before, after):
        if "unreal" in new.cues and not new.cues & {"end"}:
            continue
        if "unreal" in old.cues:
            continue
        if old.subject == new.subject and _has_another_value(old, new):
            return True
        if _concern_the_same(old, new, before, after) and (
            _is_ended(old, new, after) or _is_turned(old, new) or _is_changed(old, new, before, after)
        ):
            return True
    return False


def _has_another_value(old: Clause, new: Clause) -> bool:
    if "adding" in new.cues and not new.cues & {"end", "change", "restart"}:
        return False
    if ("weekday" in old.cues) != ("weekday" in new.cues) or "travel" in new.cues:
        return False
    return any(
        _differs(name, old.attributes[name], new.attributes[name]) for name in old.attributes.keys() & new.attributes
    )


def _differs(name: str, old: Value, new: Value) -> bool:
    if not old or not new:
        return bool(old) != bool(new) and name in _STATES
    if old.numbers and new.numbers:
        return old.numbers != new.numbers
    return not old.words & new.words and not _contain_each_other(old, new)


def _contain_each_other(old: Value, new: Value) -> bool:
    return any(one in other or other in one for one in old.words for other in new.words)


def _is_ended(old: Clause, new: Clause, after: Frame) -> bool:
    if "end" in old.cues:
        return "restart" in new.cues and "end" not in new.cues and bool(old.words & new.words)
    if "end" not in new.cues or "momentary" in new.cues:
        return False
    return bool(old.words & _about(new, after))


def _about(clause: Clause, frame: Frame) -> frozenset[str]:
    """The words of a clause, or of the whole text where the clause itself is too short to say what it is about."""
    return frame.words if len(clause.words) <= _FEW_WORDS else clause.words


def _is_turned(old: Clause, new: Clause) -> bool:
    """Whether liking has turned into disliking, or one preference into another."""
    shared = old.words & new.words
    if not shared or "momentary" in new.cues or "adding" in new.cues:
        return False
    liked_before, liked_now = _likes(old), _likes(new)
    if liked_before is not None and liked_now is not None and liked_before != liked_now:
        return True
    if "preference" in old.cues and "preference" in new.cues:
        return True
    mostly = len(shared) >= _MOST_OVERLAP * len(old.words)
    return mostly and ("negation" in new.cues) and "negation" not in old.cues and "like" not in old.cues


def _likes(clause: Clause) -> bool | None:
    if "dislike" in clause.cues:
        return False
    return True if "like" in clause.cues else None


def _is_changed(old: Clause, new: Clause, before: Frame, after: Frame) -> bool:
    if "adding" in new.cues or ("weekday" in old.cues) != ("weekday" in new.cues):
        return False
    shared = old.words & _about(new, after)
    if not shared:
        return False
    if "change" in new.cues:
        return bool(after.words - before.words or after.numbers - before.numbers)
    topics_agree = old.words <= new.words or new.words <= old.words
    return (
        topics_agree
        and "momentary" not in new.cues
        and bool(old.numbers and new.numbers)
        and not old.numbers & new.numbers
    )


def _compare_content(before: Frame, after: Frame, *, cosine: float | None) -> Relation:
    old, new = before.words | before.numbers, after.words | after.numbers
    shared = old & new
    exceptional = any({"momentary", "unreal", "adding"} & clause.cues for clause in after.clauses)
    turned = _ended(before) != _ended(after)
    if not turned and not exceptional and shared:
        if (new <= old and before.numbers == after.numbers) or old == new:
            return Relation.SAME
        if len(shared) >= _MOST_OVERLAP * len(old | new) and before.numbers == after.numbers:
            return Relation.SAME
        if old <= new or len(shared & (before.words & after.words)) >= _SOME_OVERLAP * min(
            len(before.words) or 1, len(after.words) or 1
        ):
            return Relation.REFINES
    if cosine is not None and not turned and not exceptional:
        if cosine >= SAME_COSINE and before.numbers == after.numbers:
            return Relation.SAME
        if cosine >= DOUBTFUL_COSINE:
            return Relation.DOUBTFUL
    return Relation.NEW


def _ended(frame: Frame) -> bool:
    return any(clause.cues & {"end", "dislike"} for clause in frame.clauses)
