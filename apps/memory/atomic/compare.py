"""How a new memory relates to one that is there (A3): deterministic, and silent where only a model could tell. Pure.

Precision comes first: a wrong CONTRADICTS takes away something true, a wrong NEW only leaves two lines where one would
do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum

from apps.core.text.scripts import holds_chinese
from apps.core.text.text_cache import cache_texts
from apps.memory.atomic.chinese_names import gives_another_name
from apps.memory.atomic.frames import USER, Clause, Frame, Value, may_pass, read_frame
from apps.memory.atomic.naming import is_renamed
from apps.memory.atomic.tables import load_tables

SAME_COSINE = 0.97
"""From here on two texts with the same numbers and nothing ended in either say the same."""

DOUBTFUL_COSINE = 0.85
"""From here on a model is asked."""

_MOST_OVERLAP = 0.75
_IN_PASSING = 2
"""One word in so many may be the same in two texts that are about different things."""

_SHORT = 100
_SHORT_CHINESE = 35
"""Characters of a text that tells little besides. In 1,700 memories of long talk, each passing that the models doubted
was told at greater length, and was none."""

_FEW_WORDS = 3
_FEW_CLAUSES = 3
_STEM = 5
_OPENING = 12
_MOVES = re.compile(r"[搬迁租]|定居|落户|安家|常驻|mov|relocat|settl|rent|live")
_PLANS = re.compile(r"打算|计划|准备|要去|\b(?:plan(?:s|ned|ning)?|going) to\b")
"""What is told as a plan ends where it is dropped, though it never was a fact."""

_DONE = re.compile(r"^(?!.*[租借]).*(?<![不为除])了(?![解得不])")
_NEGATIONS = ("不", "没", "未")
_STATES = frozenset({"job", "relationship", "study", "name"})
"""Attributes that end, or turn out wrong, without a new value: "lost my job", 分手了, 名字打错了."""

_HABITS = frozenset({"diet", "commute", "rising", "bedtime"})
"""Attributes of which one day is an exception, not a change."""


class Relation(StrEnum):
    """What a new text is to an old one.

    DOUBTFUL: near, but the rules cannot tell. PARTLY: it contradicts one of several things that the old one joins in
    words that cannot be told apart; `apps.memory.atomic.relating` finds that, not `compare`.
    """

    NEW = "new"
    SAME = "same"
    REFINES = "refines"
    CONTRADICTS = "contradicts"
    PARTLY = "partly"
    DOUBTFUL = "doubtful"


REPEATS = frozenset({Relation.SAME, Relation.REFINES})
"""What leaves one memory of two."""


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


def has_passed(old: str, new: str) -> bool:
    """Whether a state told by `old` has given way to another that never goes with it, told by `new`: both in short."""
    if not (_is_short(old) and _is_short(new)):
        return False
    return any(
        "unreal" not in before.cues and "unsure" not in after.cues and _has_passed(before, after)
        for before, after in _pairs(read_frame(old), read_frame(new))
    )


def _is_short(text: str) -> bool:
    return len(text) <= (_SHORT_CHINESE if holds_chinese(text) else _SHORT)


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
    shared = share(before.words, after.words)  # one in passing ends nothing that is told at length
    if gives_another_name(before.names, after.names, of_same=bool(shared)):
        return True
    near = len(shared) >= min(len(before.words), len(after.words)) // _IN_PASSING
    for old, new in _pairs(before, after):
        of_same = _concern_the_same(old, new, before, after)
        if "unreal" in old.cues:
            if of_same and _PLANS.search(old.text) and "unsure" not in new.cues and _is_ended(old, new, after):
                return True
            continue
        if "unsure" not in new.cues:
            if _has_passed(old, new):
                return True
            if of_same and _is_ended(old, new, after) and (near or _is_plain(old, new, before)):
                return True
        if new.cues & {"unreal", "unsure"}:
            continue
        if any(is_renamed(one, other, said=after.words) for one in old.namings for other in new.namings):
            return True
        same = near and of_same
        if _has_another_value(old, new, after) or (
            same and (_is_turned(old, new) or _is_changed(old, new, before, after))
        ):
            return True
        if of_same and (_is_exchanged(old, new) or (near and _is_gained(old, new))):
            return True
    return False


def _has_passed(old: Clause, new: Clause) -> bool:
    """Whether somebody's state has given way to one that never goes with it: in hospital, discharged."""
    if "unreal" in new.cues or ("momentary" in new.cues and not new.final):
        return False
    return any(
        old.subject == new.subject or may_pass(number, subject=new.subject)
        for number in old.states & new.passed - old.passed
    )


def _is_plain(old: Clause, new: Clause, before: Frame) -> bool:
    """Whether what a long text begins with is plainly ended: in a clause that is about nothing else."""
    shared = share(new.words, old.words)
    return old is before.clauses[0] and len(new.words - shared) < _FEW_WORDS and bool(shared)


def _is_exchanged(old: Clause, new: Clause) -> bool:
    """Whether a thing was given up for another: "from X to Y", or switched to another of its kind."""
    if "adding" in new.cues or _ends(old):
        return False
    if share(old.words, new.left):
        return True
    return "switch" in new.cues and bool(old.categories & new.categories) and bool(new.words - old.words)


def _is_gained(old: Clause, new: Clause) -> bool:
    """Whether somebody has, or can do, what they had not or could not."""
    if "negation" not in old.cues or new.cues & {"negation", "adding"} or not _comes_about(old, new):
        return False
    wanted = frozenset(word for word in old.words if not word.startswith(_NEGATIONS) and word[-1] != "过")
    shared = share(wanted, new.words)
    return (
        _likes(old) is None
        and (not _ends(old) or "没" in old.text)
        and shared == wanted
        and 0 < len(shared) <= _FEW_WORDS
    )


def _comes_about(old: Clause, new: Clause) -> bool:
    """Whether the new clause tells of a gain, or that what had not happened (没) has (了)."""
    return "gain" in new.cues or ("没" in old.text and "momentary" not in new.cues and bool(_DONE.search(new.text)))


def _has_another_value(old: Clause, new: Clause, after: Frame) -> bool:
    known = old.attributes.keys() & new.attributes
    if not known:
        return False
    if _is_added(new, after) and not new.cues & {"end", "no_more", "correction", "restart"}:
        return False
    if ("weekday" in old.cues) != ("weekday" in new.cues):
        return False
    once = any("once" in clause.cues for clause in after.clauses)  # a measure of one evening is none
    is_moved = bool(_MOVES.search(new.text)) and "change" in new.cues
    return any(
        _differs(name, old.attributes[whose, name], new.attributes[whose, name], is_moved=is_moved)
        for whose, name in known
        if not (name == "home" and _is_trip(new, after)) and not (name in _HABITS and "momentary" in new.cues)
        if not (once and " " in name)
        if not new.attributes[whose, name].is_moved or new.cues & {"change", "correction"}
    )


def _is_added(clause: Clause, frame: Frame) -> bool:
    """Whether a clause tells of one more thing: by itself, or beside another that does where nothing has changed."""
    if "adding" in clause.cues or "change" in clause.cues:
        return "adding" in clause.cues
    return "adding" in frame.cues and not frame.cues & {"end", "no_more", "switch"}


def _is_trip(clause: Clause, frame: Frame) -> bool:
    """Whether somewhere is only visited: by the clause, or by another of the text where it tells of no move."""
    if "travel" in clause.cues:
        return True
    return not _MOVES.search(clause.text) and any("travel" in other.cues for other in frame.clauses)


def _differs(name: str, old: Value, new: Value, *, is_moved: bool) -> bool:
    if not old or not new:
        return bool(old) != bool(new) and name in _STATES
    if old.about and new.about and not share(old.about, new.about):
        return False
    if old.numbers and new.numbers:
        return not _fit(old.numbers, new.numbers)
    shared = share(old.words, new.words)
    if name == "home" and is_moved and shared and len(new.words) < _FEW_WORDS:
        return bool(old.words - shared) and bool(new.words - share(new.words, old.words))
    return not shared


def _fit(old: frozenset[str], new: frozenset[str]) -> bool:
    """Whether two sets of numbers can be of the same: one may leave something out."""
    return old <= new or new <= old


def share(old: frozenset[str], new: frozenset[str]) -> frozenset[str]:
    """The words of `old` that `new` has too, by itself or in a longer word: 咖啡 is in 喝咖啡."""
    before, after = _list_keys(old), _list_keys(new)
    if before is not None and after is not None and before.isdisjoint(after):
        return frozenset()
    return frozenset(
        word for word in old if word in new or any(is_part(word, other) or is_part(other, word) for other in new)
    )


@cache_texts(20_000)
def _list_keys(words: frozenset[str]) -> frozenset[str] | None:
    """What two words have in common where one is a part of the other: how they begin, or a character of Chinese.

    None for words in both scripts, of which anything may be a part. Nearly all that is compared has nothing in common,
    which this tells at once.
    """
    keys: set[str] = set()
    for word in words:
        if word.isascii():
            keys.add(word[:_STEM])
        elif any(map(str.isascii, word)):
            return None
        else:
            keys.update(word)
    return frozenset(keys)


def speaks_of(about: frozenset[str], words: frozenset[str]) -> bool:
    """Whether two texts share words, and not only what one does with different things: allergic to nuts, to eggs."""
    shared = share(words, about)
    if not shared <= load_tables().taking or shared == words:
        return bool(shared)
    return not about - share(about, words)


def is_part(short: str, long: str) -> bool:
    """Whether one word is in another: anywhere in Chinese, as a stem of some length in English (allerg, allergi)."""
    return long.startswith(short) and len(short) >= _STEM if long.isascii() else short in long


def _is_ended(old: Clause, new: Clause, after: Frame) -> bool:
    if "preference" in new.cues and "preference" not in old.cues and _likes(old) and share(old.words, after.words):
        return not share(old.words, new.words)
    if _ends(old):
        return "restart" in new.cues and not _ends(new) and bool(share(old.words, _about(new, after)))
    if "negation" in old.cues and _likes(old) is None:
        return False  # "I don't smoke" is as true after "I quit smoking ten years ago"
    return _ends(new) and speaks_of(_about(new, after), old.words)


def _ends(clause: Clause) -> bool:
    """Whether something stops being true; that one does not feel like it today is an exception."""
    if "once" in clause.cues and not clause.final:
        return False
    return "end" in clause.cues or ("no_more" in clause.cues and "momentary" not in clause.cues)


def _about(clause: Clause, frame: Frame) -> frozenset[str]:
    """The words of a clause, or of a short text's of the same one if by itself it does not say what it is about."""
    if len(clause.words) > _FEW_WORDS or len(frame.clauses) > _FEW_CLAUSES:
        return clause.words
    return frozenset[str]().union(*(other.words for other in frame.clauses if other.subject == clause.subject))


def _is_turned(old: Clause, new: Clause) -> bool:
    """Whether liking has turned into disliking, or one preference into another."""
    shared = share(old.words, new.words)
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
    if _is_added(new, after) or ("weekday" in old.cues) != ("weekday" in new.cues):
        return False
    shared = share(old.words, _about(new, after))
    if not shared:
        return False
    if "correction" in new.cues:
        said_again = 2 * len(shared) >= len(old.words) or bool(old.categories & new.categories)
        return said_again and bool(after.words - before.words or after.numbers - before.numbers)
    numbers = frozenset[str]().union(*(other.numbers for other in after.clauses if other.subject == new.subject))
    if not old.numbers or not numbers or _fit(old.numbers, numbers) or "momentary" in new.cues:
        return False
    return "change" in new.cues or old.words <= new.words or new.words <= old.words


def _compare_content(before: Frame, after: Frame, *, cosine: float | None) -> Relation:
    plain = [clause for clause in after.clauses if not clause.cues & {"unreal", "adding"}]
    if not plain or _ended(before) != _ended(after) or any(clause.cues & {"momentary", "travel"} for clause in plain):
        return Relation.NEW
    if not _fit(before.numbers, after.numbers) or (_denies(before) and not _denies(after)):
        return Relation.NEW
    if plain[0].subject not in {USER, *before.mentioned, *(clause.subject for clause in before.clauses)}:
        return Relation.NEW
    words = frozenset[str]().union(*(clause.words for clause in plain))
    shared = share(before.words, words)
    as_many = before.numbers == after.numbers
    if shared and as_many and (len(shared) >= _MOST_OVERLAP * len(before.words | words) or words <= before.words):
        return Relation.SAME
    if shared and (_tell_more(before, plain) or (shared == before.words and _goes_on(shared, plain[0]))):
        return Relation.REFINES
    if as_many and not shared and not before.words and not words and _agree(before, plain):
        return Relation.SAME
    if cosine is not None and cosine >= SAME_COSINE and as_many:
        return Relation.SAME
    return Relation.DOUBTFUL if cosine is not None and cosine >= DOUBTFUL_COSINE else Relation.NEW


def _goes_on(words: frozenset[str], clause: Clause) -> bool:
    """Whether a clause speaks of these words again: of several, or of one that it begins with (毕业论文的题目…)."""
    return len(words) > 1 or any(-1 < clause.text.find(word) <= _OPENING for word in words)


def _tell_more(before: Frame, clauses: Sequence[Clause]) -> bool:
    """Whether an attribute is given the same value, in more words or in fewer."""
    return any(
        share(old.attributes[key].words, new.attributes[key].words)
        for new in clauses
        for old in before.clauses
        for key in old.attributes.keys() & new.attributes
    )


def _agree(before: Frame, clauses: Sequence[Clause]) -> bool:
    """Whether both give the same attribute the same numbers, and say nothing else."""
    return any(
        old.attributes[key].numbers == new.attributes[key].numbers and old.attributes[key].numbers
        for new in clauses
        for old in before.clauses
        for key in old.attributes.keys() & new.attributes
    )


def _denies(frame: Frame) -> bool:
    return any("negation" in clause.cues for clause in frame.clauses)


def _ended(frame: Frame) -> bool:
    return any(clause.cues & {"end", "no_more", "dislike"} for clause in frame.clauses)
