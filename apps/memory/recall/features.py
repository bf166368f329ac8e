"""What speaks for an atomic memory, in numbers: words, meaning, what is around it, who says it, when. No Django.

Each feature is one column of what `compute_features` returns; its weights stand under the same name in
``weights.toml``. docs/retrieval.md says what each is worth.

Memories are of two kinds, each with weights of its own. Statements ("The user lives in Leeds.") are found by their own
meaning and words. Turns of a conversation ("Anna: …", "Ben: …") are understood by what was said around them: there
words nearby, the question before and the speaker count, too.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.core.text.fold import fold
from apps.core.text.segment import is_cjk
from apps.memory.recall.query import AtomicQuery

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class AtomicRows:
    """Memories of one person as columns, n of each, in the order in which they were said within their sessions.

    - `keys`: shape (n,), 16 bytes each: their IDs.
    - `session`: a number for each session, in ascending order; each memory without a session has one of its own.
    - `time`: of its turn, in seconds since 1970; `happened`: of what it tells, if that is known, else the same;
      `created`, when it was stored.
    - `length`: number of terms.
    - `cosine`: to the query, `earlier_cosine`: to the lines before it; NaN where there is no vector.
    - `asks`: whether it ends in a question mark.
    - `speakers`: who says it, where the content begins with a name ("Anna: …"); else "".
    - `row`, `term`, `frequency`: one entry for each term of the query in each memory: which row, which of
      `AtomicQuery.terms`, how often.
    """

    keys: npt.NDArray[Any]
    session: Integers
    time: Floats
    happened: Floats
    created: Floats
    length: Floats
    cosine: Floats
    earlier_cosine: Floats
    asks: Flags
    speakers: tuple[str, ...]
    row: Integers
    term: Integers
    frequency: Floats

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, slots=True, eq=False)
class AtomicRecall:
    """What a query is ranked among. The statistics are those of all the person's active memories.

    `document_frequencies`: of each of `AtomicQuery.terms`, in how many memories it occurs.
    """

    rows: AtomicRows
    memory_count: int
    average_length: float
    document_frequencies: Floats


@dataclass(frozen=True, slots=True)
class Sample:
    """How near texts of the person are to a query in general: number, mean and variance of their cosines."""

    count: int = 0
    mean: float = 0.0
    variance: float = 0.0

    @classmethod
    def of(cls, cosines: Floats) -> Sample:
        known = cosines[~np.isnan(cosines)]
        return cls(len(known), float(known.mean()), float(known.var())) if len(known) else cls()

    def merge(self, other: Sample) -> Sample:
        """Return the sample of both together."""
        count = self.count + other.count
        if not count:
            return self
        mean = (self.count * self.mean + other.count * other.mean) / count
        squares = sum(part.count * (part.variance + (part.mean - mean) ** 2) for part in (self, other))
        return Sample(count, mean, squares / count)

    def standardize(self, cosine: float | None) -> float:
        """Return the distance from the mean in standard deviations; 0 without a cosine, or where all are alike."""
        if cosine is None or self.variance < 1e-12:
            return 0.0
        return (cosine - self.mean) / math.sqrt(self.variance)


NO_SAMPLE = Sample()


K1 = 0.9  # how soon a further occurrence of a term stops to count
B = 0.4  # how much a long memory's terms count less. Both are the defaults of Anserini and BEIR, not tuned here.


def compute_idfs(recall: AtomicRecall) -> Floats:
    """Return the inverse document frequency of each term, in nats, always above 0."""
    frequencies = recall.document_frequencies
    idfs: Floats = np.log(1 + (recall.memory_count - frequencies + 0.5) / (frequencies + 0.5))
    return idfs


def compute_bm25(recall: AtomicRecall, weights: Floats) -> Floats:
    """Return the score of each row: the sum over the query's distinct terms of weight · saturated frequency.

    `weights`: of each term, for BM25 as it is published the idf; 0 leaves one out. The score is 0 where no term occurs,
    without an upper bound. A term counts once however often the query repeats it: in a dialogue, repetition is manner
    of speaking.
    """
    rows = recall.rows
    average = recall.average_length or 1.0
    norm = K1 * (1 - B + B * rows.length / average)
    gains = weights[rows.term] * rows.frequency * (K1 + 1) / (rows.frequency + norm[rows.row])
    return np.bincount(rows.row, weights=gains, minlength=len(rows)).astype(np.float64)


NEAR_TURNS = 2  # how many turns before and after a turn are looked at, for words near it
LONG_ENOUGH = 20  # terms: a longer turn is no likelier to hold an answer, a shorter one is less likely

# A person's memories are turns where at least so many speakers say so much each, and are brief on average: what is
# longer was written down, not said.
SPEAKERS, TURNS_OF_SPEAKER, AVERAGE_TERMS = 2, 3, 100.0


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """What several features need. `matched`: shape (n, terms), which term of the query occurs in which row.

    `bm25`, `earlier_bm25`: by the terms of the query and of the lines before it.
    """

    recall: AtomicRecall
    rows: AtomicRows
    query: AtomicQuery
    times: Sequence[tuple[float, float]]
    matched: Flags
    shares: Floats
    bm25: Floats
    earlier_bm25: Floats
    starts: Integers
    is_turn: Flags

    def cover(self, matched: Flags) -> Floats:
        """How much of the query's words the terms in `matched` make up, by idf: 0..1."""
        covered: Floats = matched @ self.shares
        return covered


def compute_features(
    recall: AtomicRecall, query: AtomicQuery, *, times: Sequence[tuple[float, float]]
) -> Mapping[str, Floats]:
    """Return every feature of every row, by name; each of shape (n,). `times`: stretches of time the query names."""
    return compute_columns(look(recall, query, times))


def compute_columns(context: Look) -> Mapping[str, Floats]:
    """Return every feature of every row, by name; each of shape (n,)."""
    return {name: compute(context) for name, compute in (FEATURES | EARLIER).items()}


def compute_keyword_scores(recall: AtomicRecall, query: AtomicQuery) -> Floats:
    """Return BM25 of each row, as it is published: for people to read, and 0 where no term of the query occurs."""
    idfs = compute_idfs(recall)
    return compute_bm25(recall, np.where(np.arange(len(idfs)) < len(query.weights), idfs, 0.0))


# As a sign that a memory bears on the query, all of its words together are worth so many standard deviations of
# cosine: enough for what shares all of them, however unlike it is otherwise.
WORDS_AS_EVIDENCE = 4.0


def compute_evidence(context: Look, features: Mapping[str, Floats]) -> Floats:
    """Return how much speaks for each row having to do with the query at all, in standard deviations of its cosine.

    The plain distance of its meaning from that of the other memories, plus the share of the query's words in or around
    it; being from a time that the query names is enough. Unlike the score it has no upper bound by words alone, so that
    one rare word that is shared by chance ("capital") does not carry a memory into a prompt.
    """
    recall, query = context.recall, context.query
    words = np.maximum(context.cover(context.matched), features["words_near"])
    evidence = standardize(recall.rows.cosine) + WORDS_AS_EVIDENCE * words
    if query.earlier:
        said = _weigh(query.terms, query.earlier_weights) * compute_idfs(recall)
        shares = said / (said.sum() or 1.0)
        matched = np.zeros((len(recall.rows), len(shares)))
        matched[recall.rows.row, recall.rows.term] = 1.0
        earlier = standardize(recall.rows.earlier_cosine) + WORDS_AS_EVIDENCE * (matched @ shares)
        evidence = np.maximum(evidence, query.earlier_share * earlier)
    # "What did I do yesterday?" has no other word: what is from then is what is asked for.
    return np.where(features["time"] > 0, np.inf, evidence)


def look(recall: AtomicRecall, query: AtomicQuery, times: Sequence[tuple[float, float]]) -> Look:
    rows = recall.rows
    own, idfs = len(query.weights), compute_idfs(recall)
    weights = _weigh(query.terms, query.weights) * idfs
    known = np.where(recall.document_frequencies > 0, weights, 0.0)[:own]
    matched = np.zeros((len(rows), len(weights)), dtype=np.bool_)
    matched[rows.row, rows.term] = True
    return Look(
        recall=recall,
        rows=rows,
        query=query,
        times=times,
        matched=matched[:, :own],
        shares=known / (known.sum() or 1.0),
        bm25=compute_bm25(recall, weights),
        earlier_bm25=compute_bm25(recall, _weigh(query.terms, query.earlier_weights) * idfs),
        starts=np.flatnonzero(np.diff(rows.session, prepend=rows.session[0] - 1)),
        is_turn=find_turns(rows),
    )


def _weigh(terms: Sequence[str], weights: Mapping[str, float]) -> Floats:
    return np.fromiter((weights.get(term, 0.0) for term in terms), np.float64, len(terms))


def find_turns(rows: AtomicRows) -> Flags:
    """Return which rows are turns of a conversation, not statements: decided by person, from who speaks in all of it.

    By session, messages that one speaker sends in a row would be turns in some sessions and statements in others.
    "Home: …", "Job: …" are no speakers: nobody of these says a third thing.
    """
    spoken = Counter(name for name in rows.speakers if name)
    speakers = {name for name, count in spoken.items() if count >= TURNS_OF_SPEAKER}
    if len(speakers) < SPEAKERS or rows.length.mean() > AVERAGE_TERMS:
        return np.zeros(len(rows), np.bool_)
    return np.fromiter((name in speakers for name in rows.speakers), np.bool_, len(rows))


def standardize(values: Floats) -> Floats:
    """Each value as its distance from the mean, in standard deviations; 0 where one is missing, or all are equal."""
    known = ~np.isnan(values)
    if not known.any():
        return np.zeros_like(values)
    mean, deviation = values[known].mean(), values[known].std()
    # Equal values differ by rounding alone: that must not be blown up to a difference.
    if deviation <= 1e-6 * max(1.0, abs(mean)):
        return np.zeros_like(values)
    return np.where(known, (values - mean) / deviation, 0.0)


def _meaning(context: Look) -> Floats:
    return standardize(context.rows.cosine)


def _words(context: Look) -> Floats:
    return standardize(context.bm25)


def _words_near(context: Look) -> Floats:
    """Share of the query's words that occur in the turn, or in one of the `NEAR_TURNS` before and after it."""
    matched, session = context.matched.copy(), context.rows.session
    for distance in range(1, NEAR_TURNS + 1):
        together = (session[distance:] == session[:-distance])[:, None]
        matched[distance:] |= context.matched[:-distance] & together
        matched[:-distance] |= context.matched[distance:] & together
    return context.cover(matched) * context.is_turn


def _length(context: Look) -> Floats:
    """How much too short a turn is to say much, as a logarithm; 0 where it is long enough."""
    missing = np.log1p(context.rows.length) - math.log1p(LONG_ENOUGH)
    return np.asarray(np.minimum(missing, 0.0) * context.is_turn, np.float64)


def _question(context: Look) -> Floats:
    return (context.rows.asks & context.is_turn).astype(np.float64)


def _answer(context: Look) -> Floats:
    """How well the question before it covers the query's words: this turn may be the answer."""
    asked = np.zeros(len(context.rows))
    asked[1:] = (context.rows.asks * context.cover(context.matched))[:-1]
    asked[context.starts] = 0
    return asked * context.is_turn


def _speaker(context: Look) -> Floats:
    """Whether the query names who says it, and not everybody."""
    names = {name for name in context.rows.speakers if name}
    named = find_named(context.query.text, names)
    if len(named) == len(names):
        return np.zeros(len(context.rows))
    said = np.fromiter((name in named for name in context.rows.speakers), np.float64, len(context.rows))
    return said * context.is_turn


def find_named(text: str, names: set[str]) -> set[str]:
    """Return which of `names` occur in `text`: Chinese ones anywhere, others as whole words."""
    folded = fold(text)
    words = set(re.findall(r"[^\W_]+", folded))
    found = set()
    for name in names:
        parts = re.findall(r"[^\W_]+", fold(name))
        if is_cjk(name[:1]) if name else False:
            if len(name) > 1 and fold(name) in folded:
                found.add(name)
        elif parts and words.issuperset(parts):
            found.add(name)
    return found


def _time(context: Look) -> Floats:
    """Whether it is from a time that the query names, or tells of it."""
    inside = np.zeros(len(context.rows), dtype=np.bool_)
    for start, end in context.times:
        for time in (context.rows.time, context.rows.happened):
            inside |= (time >= start) & (time < end)
    return inside.astype(np.float64)


def _earlier_meaning(context: Look) -> Floats:
    return context.query.earlier_share * standardize(context.rows.earlier_cosine)


def _earlier_words(context: Look) -> Floats:
    return context.query.earlier_share * standardize(context.earlier_bm25)


def _said_before(context: Look) -> Floats:
    """How much of it the earlier lines have said already: 0..1. To hear it again helps nobody."""
    rows = context.rows
    if not context.query.earlier:
        return np.zeros(len(rows))
    said = _weigh(context.query.terms, context.query.earlier_weights) > 0
    repeated = np.bincount(rows.row, weights=rows.frequency * said[rows.term], minlength=len(rows))
    return np.asarray(repeated / np.maximum(rows.length, 1.0), np.float64)


# What a query alone tells, in the order in which people read it. Their weights are trained.
FEATURES: dict[str, Callable[[Look], Floats]] = {
    "meaning": _meaning,
    "words": _words,
    "words_near": _words_near,
    "length": _length,
    "question": _question,
    "answer": _answer,
    "speaker": _speaker,
    "time": _time,
}

# What the lines before a follow-up add.
EARLIER: dict[str, Callable[[Look], Floats]] = {
    "earlier_meaning": _earlier_meaning,
    "earlier_words": _earlier_words,
    "said_before": _said_before,
}
