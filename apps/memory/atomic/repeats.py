"""Whether what somebody says was said before in other words, or tells more of the very same fact, learned. Pure.

The rules of `compare` see a repetition where the words are the same. Here models that were learned from labelled
conversations compare the local embedder's vectors, the words and the phrases of both texts: two, whose log-odds add up,
say whether they are about the same fact, a third whether the new one tells more of it. What is the same is dropped, so
that must lose nothing; what tells more is merged, which loses nothing in any case: where it is unsure which, it tells
more. ``python -m benchmarks.train_repeats`` makes the weights.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from apps.core.text.fold import fold, normalize_value
from apps.core.text.places import find_places
from apps.core.text.text_cache import cache_texts
from apps.memory.atomic.compare import SAME_COSINE, Relation, share
from apps.memory.atomic.endings import read_pair
from apps.memory.atomic.frames import USER, Frame, read_frame
from apps.memory.atomic.naming import find_proper
from apps.memory.atomic.networks import Linear, PairModel, Weights, check_shapes, load_weights, raise_odds
from apps.memory.atomic.phrases import list_phrases, replace_shared
from apps.memory.atomic.quantities import list_quantities
from apps.memory.atomic.spelling import make_comparable
from apps.memory.atomic.vectors import DIMENSIONS, Floats, Statement, embed

MIN_REPEAT: Final = 0.25
DOUBT: Final = 0.5
"""Probability from which on both are about the same fact, where only one older text is known. Among more the odds that
it needs grow by this power of their number: each is one more chance to join what has nothing to do with each other
("has a cat", "has braces")."""

MIN_SAME: Final = 0.6
"""Probability from which on the new text may be dropped, where it tells no more."""

LEAST_REPEAT: Final = 0.08
"""Probability below which what the rules of `compare` take for a repetition is none."""

MOST_MORE: Final = 0.2
"""Probability of telling more up to which the new text tells nothing that the older one does not."""

CANDIDATES = 12
"""Older texts whose words are read: the nearest by their vectors."""

READ_CLOSELY = 2
MIN_GLANCE = -4.5
"""Of those, so many of the likeliest, with these log-odds at least: what the new text says of what both name has to be
embedded for each, which takes 2 ms."""

_PRODUCT, _DIFFERENCE, _BARE = 60, 10, 6
"""What scales each part of a row to about one."""

_ENDED = frozenset({"end", "no_more", "switch", "restart"})
"""Cues of what says that something is no longer so: no repetition, but a matter for `endings` and the rules."""

_ONE = frozenset({1.0})
"""The number that says nothing: 养了一只乌龟."""

_FRAME = 0.5
"""Share of the shorter of two texts from which on what they begin and end with is a frame around different things."""

_GRAM = 3
_PERSON = re.compile(r"\b(?:the user(?:'s)?|i|my|me|mentioned)\b|用户提到|用户|我")
_LETTERS, _CHARACTERS = re.compile(r"[a-z]+"), re.compile(r"[\u4e00-\u9fff]+")


@dataclass(frozen=True, slots=True)
class Models:
    """Whether both texts of a pair are about the same fact, and whether the newer of such a pair tells more."""

    repeat: PairModel
    more: Linear

    def score_repeats(self, vectors: Floats, features: Floats, olds: Sequence[str], new: str) -> Floats:
        """Return for each pair the probability that both texts are about the same fact."""
        return self.repeat.score(vectors, features, [list_phrases(old, new) for old in olds])

    def score_more(self, vectors: Floats, features: Floats) -> Floats:
        """Return for pairs about the same fact the probability that the new text tells more."""
        return self.more.score(self.repeat.network.join(vectors, features))


def find_repeated(olds: Sequence[Statement], new: Statement) -> tuple[int, Relation] | None:
    """Return the index of the older statement that the new one says again, and how; None where there is none.

    `Relation.SAME`: the new one tells nothing that the older one does not. `Relation.REFINES`: it tells, or may tell,
    more. Meant for what the rules of `compare` take for new.
    """
    near = _list_near(olds, new)
    if not near:
        return None
    models = load_models()
    features = np.stack([read_match(olds[index], new) for index in near])
    glances = join(np.stack([olds[index].vector for index in near]), new.vector)
    odds = models.repeat.network.weigh(glances, features)
    best = [place for place in np.argsort(-odds)[:READ_CLOSELY].tolist() if odds[place] >= MIN_GLANCE]
    if not best:
        return None
    chosen = [olds[near[place]] for place in best]
    vectors, features = join_pairs(chosen, new), features[best]
    scores = models.score_repeats(vectors, features, [old.text for old in chosen], new.text)
    first = int(scores.argmax())
    if scores[first] < raise_odds(MIN_REPEAT, by=len(olds) ** DOUBT):
        return None
    may_be_dropped = (
        scores[first] >= MIN_SAME
        and models.score_more(vectors[[first]], features[[first]])[0] <= MOST_MORE
        and not _tells_more(chosen[first].text, new.text)
    )
    return near[best[first]], Relation.SAME if may_be_dropped else Relation.REFINES


def _list_near(olds: Sequence[Statement], new: Statement) -> list[int]:
    """The indexes of the nearest older statements, without those that must be about another fact."""
    if not olds:
        return []
    cosines = np.stack([old.vector for old in olds]) @ new.vector
    nearest: list[int] = np.argsort(-cosines)[:CANDIDATES].tolist()
    return [index for index in nearest if not _is_other(olds[index].text, new.text)]


def is_repeat_doubtful(old: Statement, new: Statement) -> bool:
    """Whether the models contradict a rule by which the new statement is the same or more of it: 9 of 10 in prose."""
    if read_frame(old.text).normalized == read_frame(new.text).normalized or old.vector @ new.vector >= SAME_COSINE:
        return False
    features = read_match(old, new)[None, :]
    scores = load_models().score_repeats(join_pairs([old], new), features, [old.text], new.text)
    return bool(scores[0] < LEAST_REPEAT)


def join_pairs(olds: Sequence[Statement], new: Statement) -> Floats:
    """Return a row for each pair: the product and the difference of its vectors, and what the new text says of it."""
    bare = np.stack([embed(replace_shared(old.text, new.text)) for old in olds])
    return join(np.stack([old.vector for old in olds]), new.vector, bare=bare)


def join(olds: Floats, new: Floats, *, bare: Floats | None = None) -> Floats:
    """Return the rows of `join_pairs` for older vectors (rows); without `bare` as if nothing were named in both."""
    said = np.broadcast_to(new, olds.shape) if bare is None else bare
    return np.concatenate(
        [olds * new * _PRODUCT, abs(olds - new) * _DIFFERENCE, said * _BARE], axis=1, dtype=np.float32
    )


def read_match(old: Statement, new: Statement) -> Floats:
    """Return the features of a pair: those of `read_pair`, the cosine, and what each text has that the other lacks."""
    return np.concatenate([read_pair(old.text, new.text), [old.vector @ new.vector], _match(old.text, new.text)])


@cache_texts(4_000)
def _match(old: str, new: str) -> Floats:
    before, after = read_frame(old), read_frame(new)
    shared_before, shared_after = share(before.words, after.words), share(after.words, before.words)
    grams_before, grams_after = _list_grams(old), _list_grams(new)
    both = len(grams_before & grams_after)
    subjects_before, subjects_after = _list_subjects(before), _list_subjects(after)
    found = [
        len(shared_before) / max(1, len(before.words)),
        len(shared_after) / max(1, len(after.words)),
        min(len(before.words - shared_before), 6) / 3,
        min(len(after.words - shared_after), 6) / 3,
        both / max(1, len(grams_before)),
        both / max(1, len(grams_after)),
        *_relate(_list_numbers(old), _list_numbers(new)),
        *_relate(*_list_names(old, new)),
        *_relate(find_places(old), find_places(new)),
        min(len(new) / max(1, len(old)), 4) / 2,
        min(len(before.clauses), 5) / 3,
        min(len(after.clauses), 5) / 3,
        before.cues == after.cues,
        _denies(before) != _denies(after),
        bool({*subjects_before} & {*subjects_after}),
        subjects_before[:1] == subjects_after[:1],
        old.isascii() != new.isascii(),
    ]
    return np.array(found, dtype=np.float32)


def _relate(old: Set[object], new: Set[object]) -> list[bool]:
    """Whether either has anything, both the same, each what the other lacks, and both but nothing the same."""
    return [
        bool(old),
        bool(new),
        bool(old & new),
        bool(old - new),
        bool(new - old),
        bool(old) and bool(new) and not old & new,
    ]


@cache_texts(4_000)
def _list_grams(text: str) -> frozenset[str]:
    """Runs of three letters, and single characters of Chinese and two in a row; without the person."""
    spelt = _PERSON.sub("", make_comparable(text))
    letters = {
        word[start : start + _GRAM]
        for word in _LETTERS.findall(spelt)
        for start in range(max(1, len(word) - _GRAM + 1))
    }
    runs = _CHARACTERS.findall(spelt)
    return frozenset(letters).union(*runs, *({run[at : at + 2] for at in range(len(run) - 1)} for run in runs))


@cache_texts(4_000)
def _list_numbers(text: str) -> frozenset[float | str]:
    return frozenset(one.value for one in list_quantities(make_comparable(text)))


def _list_names(old: str, new: str) -> tuple[frozenset[str], frozenset[str]]:
    """The capitalised words of both, a word of one that is anywhere in the other counted for both."""
    before, after = find_proper(old), find_proper(new)
    told_before, told_after = fold(old), fold(new)
    return (
        before | {name for name in after if name in told_before},
        after | {name for name in before if name in told_after},
    )


def _list_subjects(frame: Frame) -> list[str]:
    return [clause.subject for clause in frame.clauses]


def _denies(frame: Frame) -> bool:
    return "negation" in frame.cues


def _is_other(old: str, new: str) -> bool:
    """Whether the new text must be about another fact: of somebody else, with another name, or one more of its kind."""
    before, after = read_frame(old), read_frame(new)
    return (
        "adding" in after.cues
        or bool((after.cues - before.cues) & _ENDED)
        or {"like", "dislike"} <= before.cues ^ after.cues
        or _is_of_another(before, after)
        or _is_of_another(after, before)
        or _differ(*_list_names(old, new))
        or _differ(find_places(old), find_places(new))
        or _differ(_list_numbers(old) - _ONE, _list_numbers(new) - _ONE)
    )


def _is_of_another(before: Frame, after: Frame) -> bool:
    """Whether the one text begins with somebody of whom the other says nothing."""
    subjects = _list_subjects(after)
    return bool(subjects) and subjects[0] not in {USER, *before.mentioned, *_list_subjects(before)}


def _differ(old: Set[object], new: Set[object]) -> bool:
    """Whether each has what the other lacks."""
    return bool(old - new) and bool(new - old)


def fills_otherwise(old: str, new: str) -> bool:
    """Whether both say the same of different things: "drinks black tea in the morning", "drinks green tea in …"."""
    one, other = normalize_value(old), normalize_value(new)
    shorter = min(len(one), len(other))
    begins = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    rest = shorter - begins
    ends = next((at for at in range(rest) if one[-1 - at] != other[-1 - at]), rest)
    return begins + ends >= _FRAME * shorter and min(len(one), len(other)) > begins + ends


def _tells_more(old: str, new: str) -> bool:
    """Whether the new text may tell more: in more clauses, of another thing, with other names or numbers, or turned."""
    before, after = read_frame(old), read_frame(new)
    names_before, names_after = _list_names(old, new)
    return (
        fills_otherwise(old, new)
        or len(after.clauses) > len(before.clauses)
        or _denies(before) != _denies(after)
        or bool(names_after - names_before)
        or bool(find_places(new) - find_places(old))
        or bool(_list_numbers(new) - _list_numbers(old))
    )


@cache
def load_models() -> Models:
    """Return the models whose weights are in ``data/repeats.npz``.

    Raises `ValueError` for weights that were learned from other features than the ones read now.
    """
    weights = load_weights("repeats")
    check_fit(weights)
    return Models(repeat=PairModel.read(weights), more=Linear.read(weights, "more"))


def check_fit(weights: Weights) -> None:
    """Raise `ValueError` where the shape of any weights is not that of the features they are for."""
    nothing = Statement(text="", vector=np.zeros(DIMENSIONS, dtype=np.float32))
    vectors, features = join(nothing.vector[None, :], nothing.vector).shape[1], len(read_match(nothing, nothing))
    check_shapes("repeats", weights, lines={"more": vectors + features}, vectors=vectors, features=features)
