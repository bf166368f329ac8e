"""How relevant is a memory: match modes, idf and the score of K4, K5 and K7. Pure functions, no Django."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from apps.accounts.types import ScoreWeights
from apps.core.text.fold import fold_for_search
from apps.core.text.keywords import word_parts
from apps.core.text.text_cache import cache_texts
from apps.memory.keyed import join_text
from apps.memory.types import Candidate, CorpusStatistics, Recall, ScoredMemory

WHOLE_WORD = 1.0
INSIDE_A_WORD = 0.7
PART_OF_THE_KEYWORD = 0.3
NO_MATCH = 0.0

CATEGORY_BOOST = {"preference": 1.5, "fact": 1.2, "pattern": 1.0}
TOPIC_BOOST = 1.3
FREQUENCY_UNKNOWN = 0.5  # frequency score while no candidate was used more than once: nothing can be told yet (K5)


@dataclass(frozen=True, slots=True)
class MemoryText:
    """The text of a memory as keywords are matched against it: the words stored with it, and the folded whole."""

    words: frozenset[str]
    whole: str


def read_memory_text(candidate: Candidate) -> MemoryText:
    """The words and the folded text of a candidate's key and value."""
    text = join_text(key=candidate.key, value=candidate.value)
    return MemoryText(words=frozenset(candidate.words), whole=_fold(text))


# The same memories are candidates again and again, and folding fifty of them takes longer than scoring them.
@cache_texts(10_000)
def _fold(text: str) -> str:
    return fold_for_search(text)


def match_keyword(keyword: str, *, text: MemoryText) -> float:
    """The best match mode of a folded keyword in a memory (K4): 1.0, 0.7, 0.3 or 0.

    1.0 it is a whole word; 0.7 it is inside a longer word, or across words where segmentation put a border inside it;
    0.3 only a part of it occurs (`word_parts` says what counts as one).
    """
    if keyword in text.words:
        return WHOLE_WORD
    if keyword in text.whole:
        return INSIDE_A_WORD
    if any(part in text.whole for part in word_parts(keyword)):
        return PART_OF_THE_KEYWORD
    return NO_MATCH


def compute_idf(*, memory_count: int, document_frequency: int) -> float:
    """Inverse document frequency in nats, as in BM25 (Robertson and Zaragoza 2009), always above 0 (K4)."""
    return math.log(1 + (memory_count - document_frequency + 0.5) / (document_frequency + 0.5))


def compute_idfs(keywords: Iterable[str], *, statistics: CorpusStatistics | None) -> dict[str, float]:
    """The idf of each keyword; 1 for all when there are no statistics, as in the fallback (K4)."""
    if statistics is None:
        return dict.fromkeys(keywords, 1.0)
    return {
        keyword: compute_idf(
            memory_count=statistics.memory_count, document_frequency=statistics.document_frequencies.get(keyword, 0)
        )
        for keyword in keywords
    }


def compute_keyword_score(*, modes: dict[str, float], idfs: dict[str, float]) -> float:
    """Σ idf·mode / Σ idf over the keywords (K4), 0..1; 0 without keywords."""
    total = sum(idfs[keyword] for keyword in modes)
    return sum(idfs[keyword] * mode for keyword, mode in modes.items()) / total if total else 0.0


def compute_recency_score(*, last_accessed: datetime, now: datetime, half_life_days: float) -> float:
    """2^(−days since last access / half-life), days fractional (K5); 1 for an access that is still to come."""
    days = max((now - last_accessed) / timedelta(days=1), 0.0)
    return float(2 ** (-days / half_life_days))


def compute_frequency_score(*, access_count: int, max_access_count: int) -> float:
    """ln(count + 1) / ln(max count among the candidates + 1), 0.5 when that max is at most 1 (K5)."""
    if max_access_count <= 1:
        return FREQUENCY_UNKNOWN
    return math.log(access_count + 1) / math.log(max_access_count + 1)


def rank_candidates(
    recall: Recall,
    *,
    keywords: Sequence[str],
    topic_keywords: Sequence[str] = (),
    weights: ScoreWeights,
    half_life_days: float,
    now: datetime,
) -> list[ScoredMemory]:
    """Score every candidate and put the best first (K4, K5, K7, K9).

    Left out is what matches no keyword and is not near in meaning (K8). ``keywords``: of the message and of the topic
    together. ``topic_keywords``: a memory in which one of them occurs gets the topic boost. Equal scores are ordered by
    last access, newest first, then by id.
    """
    idfs = compute_idfs(keywords, statistics=recall.statistics)
    max_access_count = max((candidate.access_count for candidate in recall.candidates), default=0)
    ranked: list[ScoredMemory] = []
    for candidate in recall.candidates:
        text = read_memory_text(candidate)
        modes = {keyword: match_keyword(keyword, text=text) for keyword in keywords}
        keyword_score = compute_keyword_score(modes=modes, idfs=idfs)
        semantic_score = recall.similarities.get(candidate.id, 0.0)
        if keyword_score == 0.0 and candidate.id not in recall.similarities:
            continue
        category_boost = CATEGORY_BOOST[candidate.category]
        recency_score = compute_recency_score(
            last_accessed=candidate.last_accessed, now=now, half_life_days=half_life_days
        )
        frequency_score = compute_frequency_score(
            access_count=candidate.access_count, max_access_count=max_access_count
        )
        on_topic = any(modes[keyword] >= INSIDE_A_WORD for keyword in topic_keywords)
        topic_boost = TOPIC_BOOST if on_topic else 1.0
        components = (
            weights.keyword * max(keyword_score, semantic_score)
            + weights.category * category_boost
            + weights.recency * recency_score
            + weights.frequency * frequency_score
            + weights.confidence * candidate.confidence
        )
        ranked.append(
            ScoredMemory(
                candidate=candidate,
                score=components * topic_boost,
                keyword_score=keyword_score,
                semantic_score=semantic_score,
                category_boost=category_boost,
                recency_score=recency_score,
                frequency_score=frequency_score,
                confidence=candidate.confidence,
                topic_boost=topic_boost,
            )
        )
    ranked.sort(key=_order)
    return ranked


def _order(memory: ScoredMemory) -> tuple[float, float, str]:
    return -memory.score, -memory.candidate.last_accessed.timestamp(), str(memory.candidate.id)
