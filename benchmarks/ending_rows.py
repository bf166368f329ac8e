"""What endings are learned from: rows of the statements, conversations and diaries in ``benchmarks/endings``."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from apps.core.llm.offline.enumerations import split_enumeration
from apps.core.llm.offline.language import detect_language
from apps.core.llm.offline.third_person import tell_in_third_person
from apps.core.text.sentences import split_sentences
from apps.memory.atomic.compare import share
from apps.memory.atomic.facts import list_facts
from apps.memory.atomic.frames import read_frame
from apps.memory.atomic.vectors import embed
from tests.quality.cases import ContradictionCase, holds

STATEMENTS = Path(__file__).parent / "endings"

TOPICS = ("home", "work", "name", "number", "taste", "ended", "stays")
_OF_ONE = ("home", "work", "name")
"""Topics whose statements are of the same attribute in every group: one group's may well end another's."""

_ENDING_KINDS = frozenset({"moved", "job", "no_longer_likes", "name", "number", "negation"})
_HARD, _EASY, _DIARY_SHARE = 12, 4, 1.5
"""Of the sentences said before a diary's entry: how many of those most like it, and of all others, and their share."""


@dataclass(slots=True)
class Group:
    """Statements about one thing: older ones, those that end them, and those that do not."""

    topic: str
    title: str
    old: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)
    more: list[str] = field(default_factory=list)

    @property
    def is_pool(self) -> bool:
        """Whether it is a list of statements of its topic rather than of one thing."""
        return self.title == self.topic


@dataclass(frozen=True, slots=True)
class Entry:
    """What one person said on one day. `ends`: the places, from 0, of the entries before it that it has ended."""

    text: str
    ends: frozenset[int]


@dataclass(frozen=True, slots=True)
class Row:
    """A text or a pair with its label (0 or 1) and what it counts."""

    old: str
    new: str
    label: int
    share: float


def load_groups() -> list[Group]:
    """Read the statements; raises `ValueError` for a line that begins with no mark."""
    groups: list[Group] = []
    for topic in TOPICS:
        for line in (STATEMENTS / f"{topic}.txt").read_text("utf-8").splitlines():
            mark, text = line[:1], line[1:].strip()
            match mark:
                case "":
                    pass
                case "#":
                    groups.append(Group(topic=topic, title=text))
                case "=":
                    groups[-1].old.append(text)
                case ">":
                    groups[-1].ends.append(text)
                case "-":
                    groups[-1].other.append(text)
                case "~":
                    groups[-1].more.append(text)
                case _:
                    raise ValueError(f"{topic}.txt: a line begins with no mark")
    return groups


def load_diaries() -> list[list[Entry]]:
    """Read the diaries, each of one person, in their order."""
    diaries: dict[str, list[Entry]] = {}
    for language in ("zh", "en"):
        for line in (STATEMENTS / f"{language}_diaries.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            ends = frozenset(number - 1 for number in row["ends"])
            diaries.setdefault(row["person"], []).append(Entry(text=row["text"], ends=ends))
    return list(diaries.values())


def make_diary_rows(diaries: Sequence[Sequence[Entry]]) -> tuple[list[Row], list[Row], list[Row]]:
    """Return the pairs, the older and the newer texts of diaries, in which almost nothing ends.

    Of the pairs without an end those that share the most words are the hardest, so they are taken, and some others.
    """
    pairs: list[Row] = []
    states: list[Row] = []
    changes: list[Row] = []
    chance = random.Random(6)
    for diary in diaries:
        ended = {number for entry in diary for number in entry.ends}
        for place, entry in enumerate(diary):
            states.append(Row(entry.text, "", int(place in ended), 1))
            changes.append(Row("", entry.text, int(bool(entry.ends)), 2 if entry.ends else 1))
            pairs.extend(Row(diary[number].text, entry.text, 1, 1) for number in sorted(entry.ends))
            others = [
                sentence
                for number, earlier in enumerate(diary[:place])
                if number not in entry.ends
                for sentence in {earlier.text, *split_sentences(earlier.text)}
            ]
            words = read_frame(tell(entry.text)).words
            others.sort(key=lambda text: (-len(share(read_frame(tell(text)).words, words)), text))
            hard, rest = others[:_HARD], others[_HARD:]
            chosen = [*hard, *chance.sample(rest, min(len(rest), _EASY))]
            pairs.extend(Row(text, entry.text, 0, _DIARY_SHARE) for text in chosen)
    return pairs, states, changes


class Maker:
    """Makes rows of the statements: alone, with remarks around them, and against what has nothing to do with them."""

    def __init__(self, groups: Sequence[Group], *, seed: int) -> None:
        self._random = random.Random(seed)
        self._groups = groups
        self._diary = _by_language((STATEMENTS / "diary.txt").read_text("utf-8").splitlines())
        self._remarks = _by_language((STATEMENTS / "remarks.txt").read_text("utf-8").splitlines())
        texts = [(text, group) for group in groups for text in (*group.old, *group.ends, *group.other, *group.more)]
        self._texts = {chinese: [one for one in texts if _is_chinese(one[0]) == chinese] for chinese in (True, False)}

    def make_pairs(self) -> Iterator[Row]:
        """Pairs of an older and a newer statement: labelled 1 where the newer one ends the older."""
        for group in self._groups:
            if not group.is_pool:
                for old in group.old:
                    for label, news in ((1, group.ends), (0, [*group.other, *group.more])):
                        for new in news:
                            yield Row(old, new, label, 1)
                            if self._random.random() < 0.5:
                                yield Row(self._surround(old, 0.3), self._surround(new, 1), label, 0.7)
        yield from self._make_pool_pairs()
        yield from self._make_strangers()
        yield from self._make_long()
        yield from self._make_diary()

    def _make_pool_pairs(self) -> Iterator[Row]:
        for topic in ("home", "work"):
            for chinese in (True, False):
                of = [group for group in self._groups if group.topic == topic]
                old, ends, other = (
                    [(text, group.title) for group in of for text in texts(group) if _is_chinese(text) == chinese]
                    for texts in (lambda one: one.old, lambda one: one.ends, lambda one: one.other)
                )
                plan = (
                    (old, ends, 1, 350),
                    (old, old, 1, 60),
                    (ends, ends, 1, 60),
                    (old, other, 0, 400),
                    (ends, other, 0, 60),
                )
                for first, second, label, count in plan:
                    for _ in range(count):
                        (one, title), (two, its_title) = self._random.choice(first), self._random.choice(second)
                        if one != two and not (label and first is second and title == its_title != topic):
                            yield Row(one, two, label, 0.5)

    def _make_strangers(self) -> Iterator[Row]:
        """Statements about different things; near ones are left out, as they may well be about the same."""
        for group in self._groups:
            for old in (*group.old, *group.ends[:1]):
                for _ in range(12):
                    text, other = self._random.choice(self._texts[_is_chinese(old)])
                    if self._are_strangers(old, group, text, other):
                        yield Row(old, self._surround(text, 0.3), 0, 0.5)

    def _are_strangers(self, old: str, group: Group, text: str, other: Group) -> bool:
        of_one = group.topic == other.topic and group.topic in _OF_ONE
        return group is not other and not of_one and float(embed(old) @ embed(text)) < 0.5

    def _make_long(self) -> Iterator[Row]:
        for chinese in (True, False):
            texts = self._texts[chinese]
            for _ in range(2_500):
                old, group = self._random.choice(
                    [one for one in self._random.sample(texts, 20) if one[0] in one[1].old] or texts
                )
                others = [
                    text
                    for text, other in self._random.sample(texts, self._random.choice([2, 3, 4]))
                    if self._are_strangers(old, group, text, other)
                ]
                if others:
                    yield Row(old, _join(others), 0, 0.6)
            ending = [group for group in self._groups if group.old and group.ends and not group.is_pool]
            for _ in range(700):
                group = self._random.choice(ending)
                parts = [
                    self._random.choice(group.ends),
                    *(text for text, _ in self._random.sample(texts, self._random.choice([1, 2]))),
                ]
                self._random.shuffle(parts)
                old = self._random.choice(group.old)
                if _is_chinese(old) == chinese == _is_chinese(parts[0]):
                    yield Row(old, _join(parts), 1, 0.6)

    def _make_diary(self) -> Iterator[Row]:
        for _ in range(9_000):
            chinese = self._random.random() < 0.4
            diary = self._diary[chinese]
            new = _join(self._random.sample(diary, self._random.choice([1, 1, 2, 3])))
            old = self._random.choice(diary)
            match self._random.randrange(5):
                case 0 | 1:
                    old, _group = self._random.choice(self._texts[chinese])
                case 2:
                    new, _group = self._random.choice(self._texts[chinese])
                case _:
                    pass
            if old not in new:
                yield Row(old, new, 0, 0.7)

    def make_states(self) -> Iterator[Row]:
        """Older texts alone: labelled 1 where they state what can end."""
        for group in self._groups:
            for text in group.old:
                yield Row(text, "", 1, 1)
                yield Row(self._surround(text, 1), "", 1, 0.5)
            if group.topic in ("home", "work", "name", "number"):
                yield from (Row(text, "", 1, 0.3) for text in group.ends)
            yield from (Row(text, "", 0, 0.3) for text in group.other)
        for chinese in (True, False):
            remarks = [*self._diary[chinese], *self._remarks[chinese]]
            yield from (Row(text, "", 0, 3) for text in remarks)
            for _ in range(1_000):
                yield Row(_join(self._random.sample(remarks, self._random.choice([2, 2, 3]))), "", 0, 1)

    def make_changes(self) -> Iterator[Row]:
        """Newer texts alone: labelled 1 where they say that something has changed."""
        for group in self._groups:
            for text in group.ends:
                yield Row("", text, 1, 1)
                yield from (Row("", self._surround(text, 1), 1, 0.7) for _ in range(2))
                diary = self._random.choice(self._diary[_is_chinese(text)])
                yield Row("", _join([text, diary]), 1, 0.4)
            for text in (*group.old, *group.other, *group.more):
                yield Row("", text, 0, 1)
                if self._random.random() < 0.6:
                    yield Row("", self._surround(text, 1), 0, 0.7)
        for chinese in (True, False):
            days = self._diary[chinese]
            yield from (Row("", text, 0, 2) for text in days)
            for _ in range(800):
                yield Row("", _join(self._random.sample(days, self._random.choice([2, 3]))), 0, 1)

    def _surround(self, text: str, chance: float) -> str:
        if self._random.random() > chance:
            return text
        parts = [text, *self._random.sample(self._remarks[_is_chinese(text)], self._random.choice([1, 1, 2]))]
        self._random.shuffle(parts)
        return _join(parts)


def make_case_rows(cases: Sequence[ContradictionCase]) -> tuple[list[Row], list[Row], list[Row]]:
    """Return the pairs, the older and the newer texts of labelled conversations, and pairs across them."""
    pairs: list[Row] = []
    states: list[Row] = []
    changes: list[Row] = []
    for case in cases:
        new = case.messages[-1].text
        changes.append(Row("", new, int(case.kind in _ENDING_KINDS), 3))
        for message in case.messages[:-1]:
            for text, ends in _label_parts(message.text, case):
                pairs.append(Row(text, new, int(ends), 3))
                states.append(Row(text, "", 1, 1.5))
    chance = random.Random(5)
    for case in cases:
        pairs.extend(
            Row(case.messages[0].text, other.messages[-1].text, 0, 0.5)
            for other in chance.sample(cases, 6)
            if other.kind != case.kind and other.language == case.language
        )
    return pairs, states, changes


def _label_parts(text: str, case: ContradictionCase) -> Iterator[tuple[str, bool]]:
    """A message with whether it ends; where only a part of it does, the statements in it that hold one kind of mark."""
    whole = _label(text, case)
    if whole != (True, True):
        if any(whole):
            yield text, whole[0]
        return
    for fact in list_facts(tell(text)):
        for statement in split_enumeration(fact, language=detect_language(fact)):
            ends, stays = _label(statement, case)
            if ends != stays:
                yield statement, ends


def _label(text: str, case: ContradictionCase) -> tuple[bool, bool]:
    """Whether a text holds what ends, and whether what stays."""
    return any(holds(text=text, mark=mark) for mark in case.ended), any(
        holds(text=text, mark=mark) for mark in case.kept
    )


@cache
def tell(text: str) -> str:
    """The text as the offline rules would store it."""
    return tell_in_third_person(text, language=detect_language(text)) or text


def _by_language(texts: Sequence[str]) -> dict[bool, list[str]]:
    return {chinese: [text for text in texts if text and _is_chinese(text) == chinese] for chinese in (True, False)}


def _is_chinese(text: str) -> bool:
    return any("\u4e00" <= character <= "\u9fff" for character in text)


def _join(texts: Sequence[str]) -> str:
    chinese = _is_chinese(texts[0])
    whole = (text if text[-1] in "。.!?！？" else f"{text}{'。' if chinese else '.'}" for text in texts)
    return ("" if chinese else " ").join(whole)
