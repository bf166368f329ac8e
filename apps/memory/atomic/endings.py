"""Whether what somebody says ends an older memory of theirs, learned from labelled statements. Pure.

Three small models read the vectors of the local embedder and what `frames` and `quantities` find in the words: whether
the older text states something that can end, whether the new one says that anything has changed, and whether it is
this that has. Each must agree: in diary prose, where thousands of pairs are compared, one of them alone would be wrong
too often. ``python -m benchmarks.train_endings`` makes the weights from the statements in ``benchmarks/endings`` and
the labelled conversations of ``tests/quality``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from apps.core.text.places import find_places
from apps.core.text.scripts import holds_chinese
from apps.core.text.text_cache import cache_texts
from apps.memory.atomic.compare import Relation, compare, has_passed, share, speaks_of
from apps.memory.atomic.frames import USER, Frame, list_attributes, list_cues, read_frame
from apps.memory.atomic.networks import Linear, Network, PairModel, Weights, check_shapes, load_weights, raise_odds
from apps.memory.atomic.phrases import list_phrases
from apps.memory.atomic.quantities import PLAIN, Quantity, list_quantities
from apps.memory.atomic.spelling import make_comparable
from apps.memory.atomic.vectors import DIMENSIONS, Floats, Statement, glance, join_vectors

MIN_STATE = 0.8
MIN_CHANGE = 0.03
MIN_END = 0.1
"""Probabilities from which on each model agrees."""

MIN_END_ACROSS = 0.02
"""The same of an end for texts of which only one is Chinese: the models have learned from few of those."""

FEW_STATES = 10
DOUBT = 0.6
"""Of states up to `FEW_STATES` any may well have ended. Among more of them the odds that an end needs grow by this
power of their number: a message ends one thing or none, and each pair compared is one more chance to be wrong."""

MIN_END_OF_REPEATED = 0.5
"""Probability from which on even what the rules of `compare` take for said again has ended: "keto's over"."""

MIN_END_OF_ASIDE = 0.5
"""Probability from which on a message that tells nothing by itself ("Deleted it.") has ended anything."""

LEAST_STATE = 0.1
"""Probability of a state below which, or of an end below `MIN_END`, what the rules of `compare` end is not ended."""

MOST_ENDED = 4
"""By one message: what would end more is about everything, and has ended nothing."""

CANDIDATES = 40
"""Older texts whose words are read: the likeliest by the vectors alone."""

_AT_ONCE = 1_000
"""Pairs whose rows, 13 kB each, are in memory together."""

_CHANGES = frozenset({"end", "no_more", "change", "correction", "switch", "gain", "restart"})
"""Cues of which a clause with one says that something is otherwise than it was."""

_CHINESE_LENGTH = 3
"""A character of Chinese says as much as so many of English."""


@dataclass(frozen=True, slots=True)
class Models:
    """The three models; `end` is of an older and a newer text."""

    state: Linear
    change: Linear
    end: PairModel

    def score_ends(self, olds: Sequence[Statement], new: Statement) -> Floats:
        """Return for each older text the probability that the new one ends it."""
        features = np.stack([read_pair(old.text, new.text) for old in olds])
        phrases = [list_phrases(old.text, new.text) for old in olds]
        return self.end.score(join_vectors(olds, new), features, phrases)


def find_ended(olds: Sequence[Statement], new: Statement) -> dict[int, float]:
    """Return the indexes of the older statements that are no longer true once `new` was said, each with how likely."""
    models = load_models()
    if not olds or models.change.score(read_new(new)[None, :])[0] < MIN_CHANGE:
        return {}
    states = models.state.score(read_olds(olds))
    left = np.flatnonzero(states >= MIN_STATE).tolist()
    if not left:
        return {}
    by = max(1.0, len(left) / FEW_STATES) ** DOUBT
    if len(left) > CANDIDATES:
        left = [left[index] for index in _rank(models.end.network, [olds[index] for index in left], new)[:CANDIDATES]]
    ends = models.score_ends([olds[index] for index in left], new)
    likeliest = np.argsort(-ends)[:MOST_ENDED].tolist()
    return {
        left[place]: float(ends[place])
        for place in likeliest
        if ends[place] >= raise_odds(get_least(olds[left[place]].text, new.text), by=by)
    }


def get_least(old: str, new: str) -> float:
    """Return the probability from which on the new text ends the older one where few others are known."""
    return MIN_END_ACROSS if _are_of_two_scripts(old, new) else MIN_END


def _are_of_two_scripts(old: str, new: str) -> bool:
    return holds_chinese(old) != holds_chinese(new)


def _rank(end: Network, olds: Sequence[Statement], new: Statement) -> list[int]:
    """Return the indexes of older statements: those first which have most likely ended, by the vectors alone."""
    vectors = np.stack([old.vector for old in olds])
    likely = [
        end.weigh(glance(some, new), np.broadcast_to(end.means, (len(some), len(end.means))))
        for some in np.array_split(vectors, len(vectors) // _AT_ONCE + 1)
    ]
    ranked: list[int] = np.argsort(-np.concatenate(likely)).tolist()
    return ranked


def is_end_doubtful(old: Statement, new: Statement) -> bool:
    """Whether the models contradict a rule by which the new statement ends the older one: 2 of 3 such ends in prose."""
    if has_passed(old.text, new.text):
        return False
    models = load_models()
    if models.state.score(read_olds([old]))[0] < LEAST_STATE:
        return True
    return bool(models.score_ends([old], new)[0] < get_least(old.text, new.text))


def read_olds(statements: Sequence[Statement]) -> Floats:
    """Return what tells states from remarks, a row each: its vector, its length and how many clauses it has."""
    told = [(_measure(statement.text), len(read_frame(statement.text).clauses) / 4) for statement in statements]
    vectors = np.stack([statement.vector for statement in statements])
    return np.concatenate([vectors * 6, told], axis=1, dtype=np.float32)


def _measure(text: str) -> float:
    return min(len(text), 300) / 100 * (1 if text.isascii() else _CHINESE_LENGTH)


def read_new(statement: Statement) -> Floats:
    """Return what tells a change from other news: its vector, the cues in it, its length and of whom it is."""
    frame = read_frame(statement.text)
    others = any(clause.subject != USER for clause in frame.clauses)
    told = [*(cue in frame.cues for cue in list_cues()), min(len(frame.clauses), 6) / 6, others]
    return np.append(statement.vector * 6, told).astype(np.float32)


@cache_texts(20_000)
def read_pair(old: str, new: str) -> Floats:
    """Return the features of a pair of texts: shared words, quantities, cues, of whom, attributes, scripts."""
    before, after = read_frame(old), read_frame(new)
    shared = share(before.words, after.words)
    telling = max(after.clauses, key=lambda clause: len(share(before.words, clause.words)), default=None)
    in_telling = telling.cues if telling else frozenset[str]()
    whose_old, whose_new = ([clause.subject for clause in frame.clauses] for frame in (before, after))
    known_old, known_new = _join_attributes(before), _join_attributes(after)
    found = [
        bool(shared),
        min(len(shared), 4) / 2,
        len(shared) / max(1, len(before.words)),
        len(shared) / max(1, len(after.words)),
        *(cue in before.cues for cue in list_cues()),
        *(cue in after.cues for cue in list_cues()),
        *(cue in in_telling for cue in list_cues()),
        bool({*whose_old} & {*whose_new}),
        whose_old[:1] == whose_new[:1],
        USER in whose_new,
        USER in whose_old,
        whose_new[:1] != [USER],
        telling is not None and telling.subject in whose_old,
        telling is not None and telling.subject == USER,
        *_tell_changes(after, of=frozenset(whose_old)),
        bool(before.mentioned & after.mentioned),
        bool(after.mentioned - before.mentioned),
        bool(known_old & known_new),
        *(name in known_old for name in list_attributes()),
        *(name in known_new for name in list_attributes()),
        any(one.categories & other.categories for one in before.clauses for other in after.clauses),
        compare(old, new) is Relation.CONTRADICTS,
        old.isascii() and new.isascii(),
        min(len(new), 200) / 100,
        min(len(old), 200) / 100,
        *_compare_places(find_places(old), find_places(new)),
        *_compare_quantities(_list_quantities(old), _list_quantities(new)),
        bool(shared) and not speaks_of(after.words, before.words),
        _are_of_two_scripts(old, new),
    ]
    return np.array(found, dtype=np.float32)


def _tell_changes(frame: Frame, *, of: frozenset[str]) -> list[bool]:
    """Whether a clause tells of a change about one of these subjects, and whether one does about anybody else."""
    changed = [clause.subject in of for clause in frame.clauses if clause.cues & _CHANGES]
    return [any(changed), not all(changed)]


def _join_attributes(frame: Frame) -> set[str]:
    return {name for clause in frame.clauses for _whose, name in clause.attributes}


@cache_texts(4_000)
def _list_quantities(text: str) -> tuple[Quantity, ...]:
    return list_quantities(make_comparable(text))


def _compare_places(old: frozenset[str], new: frozenset[str]) -> list[bool]:
    """Whether either names a place, both the same, and the newer another."""
    return [bool(old), bool(new), bool(old & new), bool(old) and bool(new - old)]


def _compare_quantities(old: Sequence[Quantity], new: Sequence[Quantity]) -> list[float]:
    """Whether both measure the same, and whether, and how far, it differs."""
    both = {one.kind for one in old} & {one.kind for one in new}
    known = both - {PLAIN}
    equal = {one.value for one in old} & {one.value for one in new}
    differ = any(
        not {one.value for one in old if one.kind == kind} & {one.value for one in new if one.kind == kind}
        for kind in known
    )
    near = max(
        (
            min(one.value, other.value) / max(one.value, other.value)
            for one in old
            for other in new
            if isinstance(one.value, float) and isinstance(other.value, float) and 0 < one.value != other.value > 0
            if one.kind == other.kind or PLAIN in (one.kind, other.kind)
        ),
        default=0.0,
    )
    when = bool({"date", "weekday", "day", "hour"} & both) and not equal
    plain = PLAIN in both and not equal
    counts = [min(len(old), 4) / 4, min(len(new), 4) / 4]
    return [bool(old), bool(new), bool(both), bool(known), differ, bool(equal), near, plain, when, *counts]


@cache
def load_models() -> Models:
    """Return the models whose weights are in ``data/endings.npz``.

    Raises `ValueError` for weights that were learned from other features than the ones read now.
    """
    weights = load_weights("endings")
    check_fit(weights)
    return Models(
        state=Linear.read(weights, "state"), change=Linear.read(weights, "change"), end=PairModel.read(weights)
    )


def check_fit(weights: Weights) -> None:
    """Raise `ValueError` where the shape of any weights is not that of the features they are for."""
    nothing = Statement(text="", vector=np.zeros(DIMENSIONS, dtype=np.float32))
    check_shapes(
        "endings",
        weights,
        lines={"state": read_olds([nothing]).shape[1], "change": len(read_new(nothing))},
        vectors=glance(nothing.vector[None, :], nothing).shape[1],
        features=len(read_pair("", "")),
    )
