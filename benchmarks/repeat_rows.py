"""What repetitions are learned from: rows of the labelled conversations, diaries and statements."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from apps.core.llm.offline.language import detect_language
from apps.core.text.sentences import split_sentences
from apps.memory.atomic.vectors import embed
from benchmarks.ending_rows import Entry, Group, tell
from tests.quality.cases import ContradictionCase, holds

_CASE_SHARE = 4
_APART_SHARE = 2
_UNRELATED_SHARE = 2
_TURNED_SHARE = 0.5
_MERGED_SHARE = 0.25
_STATEMENT_SHARE = 0.5
_OTHER_STATEMENT_SHARE = 0.2
_STRANGER_SHARE, _DIARY_SHARE, _PASSING_SHARE = 0.8, 1.0, 0.8
"""What a row counts, by what it is made of. Conversations weigh the most; of what sounds alike there is the most."""

_NEAR_STRANGERS, _STRANGERS, _FAR_STRANGERS = 12, 2, 1
"""Of so many of other people's statements nearest to a new one, how many are compared with it; and of all others."""

_NEAR_DAYS, _LONGER = 5, 3
"""Of so many of a diary's sentences nearest to a statement, one is compared with it: of other things, or longer by so
much that it names the same in passing."""

_NEAR_ENTRIES = 4
"""Sentences of a diary's earlier entries that are compared with one: the nearest."""


@dataclass(frozen=True, slots=True)
class Row:
    """A pair of statements with what it counts. `again`: whether both are about the same fact.

    `more`: whether the newer tells anything that the older one does not; None where nobody has said.
    """

    old: str
    new: str
    again: bool
    more: bool | None
    share: float


def make_case_rows(cases: Sequence[ContradictionCase]) -> list[Row]:
    """Return the pairs of labelled conversations: each sentence of the last message with each that was said before.

    Two about the same fact are a pair the other way round, too, and with both in one text: the newer tells no more.
    """
    rows: list[Row] = []
    for case in cases:
        new = _split(case.messages[-1].text)
        old = [sentence for message in case.messages[:-1] for sentence in _split(message.text)]
        for before in old:
            for after in new:
                rows.extend(_make_pair(case, before, after))
        rows.extend(_make_apart(case))
    return rows


def _make_apart(case: ContradictionCase) -> Iterator[Row]:
    """The messages before the last of a person of whom several things are known: no two are about the same."""
    marks = (*case.live, *case.ended)
    told = [
        (message.text, {mark for mark in marks if holds(text=message.text, mark=mark)}) for message in case.messages
    ]
    for (old, its), (new, others) in combinations(told[:-1], 2):
        if its and others and not its & others:
            yield Row(old, new, again=False, more=True, share=_APART_SHARE)


def _make_pair(case: ContradictionCase, old: str, new: str) -> Iterator[Row]:
    if case.kind not in ("same", "refines"):
        share = _UNRELATED_SHARE if case.kind == "unrelated" else 1 if case.relation == "contradicts" else _CASE_SHARE
        yield Row(old, new, again=False, more=True, share=share)
    elif not _has_any(old, case.live):
        yield Row(old, new, again=False, more=True, share=1)
    elif _has_any(new, case.live):
        more = case.kind == "refines"
        yield Row(old, new, again=True, more=more, share=_CASE_SHARE)
        yield Row(new, old, again=True, more=False, share=_TURNED_SHARE)
        if more:
            both = _merge(old, new)
            yield Row(both, old, again=True, more=False, share=_MERGED_SHARE)
            yield Row(both, new, again=True, more=False, share=_MERGED_SHARE)


def make_stranger_rows(cases: Sequence[ContradictionCase]) -> list[Row]:
    """Return pairs across conversations that sound alike, but for those that may say the same: they share a mark."""
    chance = random.Random(1)
    rows: list[Row] = []
    for language in ("zh", "en"):
        of = [case for case in cases if case.language == language]
        if not of:
            continue
        olds = [(sentence, case) for case in of for sentence in _split(case.messages[0].text)]
        vectors = np.stack([embed(old) for old, _case in olds])
        for case in of:
            for new in _split(case.messages[-1].text):
                nearest = np.argsort(-(vectors @ embed(new)))[:_NEAR_STRANGERS].tolist()
                places = chance.sample(nearest, _STRANGERS) + chance.sample(range(len(olds)), _FAR_STRANGERS)
                for old, other in (olds[place] for place in places):
                    if other is not case and not _share_mark(old, other, new, case):
                        rows.append(Row(old, new, again=False, more=True, share=_STRANGER_SHARE))
    return rows


def make_passing_rows(cases: Sequence[ContradictionCase], diaries: Sequence[Sequence[Entry]]) -> list[Row]:
    """Return pairs of what somebody stated and what somebody else told of a day, in either order.

    "The user loves music" is not said by a birthday with music, though each of its words is.
    """
    chance = random.Random(2)
    rows: list[Row] = []
    for language in ("zh", "en"):
        days = [
            sentence
            for diary in diaries
            for entry in diary
            if detect_language(entry.text) == language
            for sentence in _split(entry.text)
        ]
        if not days:
            continue
        vectors = np.stack([embed(day) for day in days])
        for case in cases:
            if case.language == language:
                stated = _split(case.messages[0].text)[0]
                nearest = np.argsort(-(vectors @ embed(stated)))[:_NEAR_DAYS].tolist()
                day = days[chance.choice(nearest)]
                old, new = chance.choice([(day, stated), (stated, day)])
                if not _has_any(day, (*case.live, *case.ended)) or len(day) > _LONGER * len(stated):
                    rows.append(Row(old, new, again=False, more=True, share=_PASSING_SHARE))
    return rows


def make_diary_rows(diaries: Sequence[Sequence[Entry]]) -> list[Row]:
    """Return pairs of diaries, in which next to nothing is said again."""
    rows: list[Row] = []
    for diary in diaries:
        earlier: list[str] = []
        for entry in diary:
            sentences = _split(entry.text)
            if earlier:
                vectors = np.stack([embed(sentence) for sentence in earlier])
                for new in sentences:
                    nearest = np.argsort(-(vectors @ embed(new)))[:_NEAR_ENTRIES].tolist()
                    rows.extend(Row(earlier[at], new, again=False, more=None, share=_DIARY_SHARE) for at in nearest)
            earlier += sentences
    return rows


def make_statement_rows(groups: Sequence[Group]) -> Iterator[Row]:
    """Yield pairs of statements of one thing: those marked as more of the same, and all others."""
    for group in groups:
        if not group.is_pool:
            for old in group.old:
                for new in group.more:
                    yield Row(tell(old), tell(new), again=True, more=None, share=_STATEMENT_SHARE)
                for new in (*group.other, *group.ends):
                    yield Row(tell(old), tell(new), again=False, more=None, share=_OTHER_STATEMENT_SHARE)


def _split(text: str) -> list[str]:
    """The sentences of a message as the offline rules would store them."""
    return [_end(tell(sentence)) for sentence in split_sentences(text)]


def _end(text: str) -> str:
    return text if text[-1] in "。.!?！？" else f"{text}{'。' if detect_language(text) == 'zh' else '.'}"


def _merge(old: str, new: str) -> str:
    return f"{old}{'' if old.endswith('。') else ' '}{new}"


def _share_mark(old: str, other: ContradictionCase, new: str, case: ContradictionCase) -> bool:
    return _has_any(new, (*other.live, *other.ended)) or _has_any(old, (*case.live, *case.ended))


def _has_any(text: str, marks: Sequence[str]) -> bool:
    return any(holds(text=text, mark=mark) for mark in marks)
