"""What a query says besides its words: the lines before it that it needs, stretches of time (K7, A4). Pure, no Django.

A message of few keywords ("再找找其他的", "what about the other one?") is searched for with the last lines of the
conversation; one that speaks for itself is not, so a new subject drops the old one. Both are
measured in docs/retrieval.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from zoneinfo import ZoneInfo

from apps.core.text.keywords import extract_keywords, stem
from apps.core.text.search import bm25_terms
from apps.core.text.time_expressions import find_times
from apps.core.times import UTC_ZONE

ENOUGH_KEYWORDS = 3  # A message with so many keywords says itself what it is about
SHARE_PER_KEYWORD = 0.8  # with each keyword of its own, what was said before counts so much less
LINES = 4  # how many of the messages before it are looked at: two rounds
LINE_CHARACTERS = 200  # of each; a long reply would drown the message before it


def find_earlier(message: str, said: Sequence[str]) -> str:
    """Return the lines before `message` that it is to be searched for with, oldest first; "" where it needs none.

    `said`: the messages before it, oldest first.
    """
    if _count_keywords(message) >= ENOUGH_KEYWORDS:
        return ""
    lines = [" ".join(text[: 2 * LINE_CHARACTERS].split())[:LINE_CHARACTERS] for text in said[-LINES:]]
    return "\n".join(line for line in lines if line)


def weigh_earlier(message: str) -> float:
    """How much what was said before counts, against the message itself: 0..1."""
    return float(SHARE_PER_KEYWORD ** _count_keywords(message))


def _count_keywords(message: str) -> int:
    return len(extract_keywords(message, limit=ENOUGH_KEYWORDS))


# Stems of words that ask what there was at a time, and say nothing about it.
_VAGUE = frozenset(
    {
        *("happen", "talk", "day", "new", "since", "plan", "thing", "go", "spend", "remember"),
        *("发生", "干什么", "安排", "事", "事情", "过", "过得", "聊", "聊天", "记得", "计划"),
    }
)

# In a dialogue, what was said one line earlier counts half as much: the person is asked for what they say now.
LINE_DECAY = 0.5


@dataclass(frozen=True)
class AtomicQuery:
    """A question, keywords, or the lines of a dialogue, the newest last.

    `earlier`: the lines before it that it needs to be understood (`find_earlier`), oldest first; "" if none. `since`,
    `until`: bounds of the time of a memory's turn, included. `now`, `zone`: from where "last May" is seen; without
    `now` from the newest memory.
    """

    text: str
    earlier: str = ""
    since: datetime | None = None
    until: datetime | None = None
    now: datetime | None = None
    zone: ZoneInfo = UTC_ZONE

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """The distinct terms of the query, each with the weight of the newest line in which it occurs, 0..1."""
        return _weigh_terms(self.text)

    @cached_property
    def earlier_weights(self) -> Mapping[str, float]:
        """The same of the lines before it."""
        return _weigh_terms(self.earlier)

    @cached_property
    def terms(self) -> list[str]:
        """All distinct terms: those of the query, in the order of `weights`, then what only the earlier lines have."""
        return list(dict.fromkeys([*self.weights, *self.earlier_weights]))

    @cached_property
    def earlier_share(self) -> float:
        """How much the earlier lines count, 0..1."""
        return weigh_earlier(self.text) if self.earlier else 0.0

    def list_times(self, *, said_at: datetime) -> list[tuple[float, float]]:
        """Return the stretches of time that its last line names, seen from `said_at`: from and until, since 1970.

        In seconds. What the lines of a dialogue before it name was talked about, and is not asked for.
        """
        (last,) = split_lines(self.text)[-1:] or [""]
        return [
            (span.start.timestamp(), span.end.timestamp())
            for span in find_times(last, said_at=said_at, zone=self.zone, of_past=True)
        ]

    def names_time_alone(self, *, said_at: datetime) -> bool:
        """Whether it names a time and nothing else ("What did I do yesterday?"): whatever is from then is asked for."""
        rest, reached = [], 0
        for span in find_times(self.text, said_at=said_at, zone=self.zone, of_past=True):
            rest.append(self.text[reached : span.position])
            reached = span.position + len(span.text)
        return reached > 0 and not set(map(stem, extract_keywords(" ".join([*rest, self.text[reached:]])))) - _VAGUE


def _weigh_terms(text: str) -> dict[str, float]:
    weights: dict[str, float] = {}
    for age, line in enumerate(reversed(split_lines(text))):
        for term in bm25_terms(line):
            weights.setdefault(term, LINE_DECAY**age)
    return weights


def split_lines(text: str) -> list[str]:
    """The lines of `text` that are not blank."""
    return [line for line in text.splitlines() if line.strip()]
