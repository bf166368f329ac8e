"""Questions about past conversations and the rows that answer them: read, ranked by BM25, scored. Pure.

What a folder holds is told by its files:

- ``corpus.jsonl``: BEIR's layout (`apps.core.beir`), as which RealMem and others are read.
- ``chat.json`` in folders below, beside ``probing_questions``: BEAM (Tavakoli et al., 2025); each is one person.
- ``locomo*.json``: LoCoMo (Maharana et al., 2024); each conversation is one person.

The role of a row is user, assistant or memory. In BEIR's layout, rows of a single speaker are memories, and where all
are called user, the first speaker is the user and the others stand for the assistant.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any

from apps.core.beir import CORPUS, CorpusRow, InvalidFolder, read_folders
from apps.core.llm.reading import read_json_object
from apps.core.text.search import bm25_terms

ROLES = (USER, ASSISTANT) = ("user", "assistant")
MEMORY = "memory"
DEPTHS = (5, 10)
NOTHING = "Says that this was not mentioned or is not known."
LOCOMO_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
# The rubric, or else what each ability of BEAM calls the answer that is hoped for.
BEAM_CRITERIA = ("rubric", "answer", "ideal_response", "ideal_answer", "ideal_summary", "expected_compliance")

# The IDs of the rows that are found as one: a memory, a message, or a message and its reply.
Unit = tuple[str, ...]
Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Question:
    """A question. `evidence`: IDs of the rows that answer it; none where nothing was said.

    `criteria`: what a good answer says or does; none where that is unknown.
    """

    text: str
    category: str
    evidence: frozenset[str]
    criteria: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody's sessions, each its rows in order of time, and what is asked about them."""

    sessions: Sequence[Sequence[CorpusRow]]
    questions: list[Question]


@dataclass(frozen=True, slots=True)
class DataSet:
    """The people of a folder. `losses`: what could not be used, and how often."""

    name: str
    people: list[Person] = field(default_factory=list)
    losses: Counter[str] = field(default_factory=Counter)


def read_data_set(path: Path, *, limit: int | None = None) -> DataSet:
    """Read a folder with all its questions, or `limit` of them, always the same. Raises `InvalidFolder`."""
    data = DataSet(str(path))
    try:
        if (path / CORPUS).exists():
            _read_beir(path, data)
        for file in sorted(path.rglob("chat.json")):
            _read_beam(file, data)
        for file in sorted(path.glob("locomo*.json")):
            _read_locomo(json.loads(file.read_bytes()), data)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise InvalidFolder(f"{path}: is not as expected: {type(error).__name__}: {error}") from error
    asked = [question for person in data.people for question in person.questions]
    if not asked:
        raise InvalidFolder(f"{path}: holds no questions in a layout that is known")
    drawn = set(random.Random(0).sample(asked, min(limit or len(asked), len(asked))))
    for person in data.people:
        person.questions[:] = [question for question in person.questions if question in drawn]
    return data


def _read_beir(path: Path, data: DataSet) -> None:
    (folder,) = read_folders([path])
    people: dict[str, list[CorpusRow]] = {}
    for row in folder.corpus:
        people.setdefault(row.user_id, []).append(row)
    for name, rows in people.items():
        speakers, roles = list(dict.fromkeys(row.speaker for row in rows)), {row.role for row in rows}
        sessions: dict[str, list[CorpusRow]] = {}
        for row in rows:
            role = ASSISTANT if roles == {USER} and row.speaker != speakers[0] else row.role
            role = role if role in ROLES and len(speakers) > 1 else MEMORY
            sessions.setdefault(row.session_id, []).append(replace(row, role=role))
        questions = [
            Question(query.text, query.category, frozenset(query.relevant), (query.answer,) if query.answer else ())
            for query in folder.queries
            if query.user_id == name
        ]
        data.people.append(Person(list(sessions.values()), questions))


def _read_locomo(samples: Sequence[Mapping[str, Any]], data: DataSet) -> None:
    for sample in samples:
        talk, name, sessions = sample["conversation"], str(sample["sample_id"]), list[list[CorpusRow]]()
        for number in sorted(int(found[1]) for key in talk if (found := re.fullmatch(r"session_(\d+)", key))):
            time = datetime.strptime(talk[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
            sessions.append([])
            for turn in talk[f"session_{number}"]:
                text = f"{turn['text']} [{turn['blip_caption']}]" if turn.get("blip_caption") else turn["text"]
                role, key = USER if turn["speaker"] == talk["speaker_a"] else ASSISTANT, turn["dia_id"]
                row = CorpusRow(f"{name}/{key}", text, name, str(number), role, turn["speaker"], time, where=key)
                sessions[-1].append(row)
        questions = []
        for asked in sample["qa"]:
            # The published file has "D8:6; D9:17" and "D:11:26", too.
            given = re.findall(r"D:?(\d+):0*(\d+)", " ".join(asked.get("evidence") or ()))
            evidence = _find_evidence([f"D{session}:{turn}" for session, turn in given], sessions, data)
            category = LOCOMO_CATEGORIES.get(asked["category"], str(asked["category"]))
            criterion = NOTHING if category == "adversarial" else str(asked.get("answer", ""))
            questions.append(Question(asked["question"], category, evidence, (criterion,) if criterion else ()))
        data.people.append(Person(sessions, questions))


def _read_beam(path: Path, data: DataSet) -> None:
    file, name = path.parent / "probing_questions" / "probing_questions.json", str(path.parent)
    sessions, time = list[list[CorpusRow]](), datetime(2024, 1, 1, tzinfo=UTC)
    for number, part in enumerate(json.loads(path.read_bytes())):
        messages = [found for found in _walk(part) if isinstance(found, dict)]
        anchors = (each.get("time_anchor") for each in (part, *messages) if isinstance(each, dict))
        anchor = next(filter(None, anchors), None)
        # A session without a date is of the day after the one before it.
        time = datetime.strptime(anchor, "%B-%d-%Y").replace(tzinfo=UTC) if anchor else time + timedelta(days=1)
        sessions.append([])
        for at, each in enumerate(messages):
            # Behind some messages stands what they were made from: "->-> 1,2".
            text, key = re.sub(r"\s*->->[\s\d,.]*$", "", each["content"]).strip(), f"{name}/{number}/{at}"
            row = CorpusRow(key, text, name, str(number), each["role"], each["role"], time, where=str(each["id"]))
            sessions[-1] += [row] if text else []
    questions = []
    for ability, asked in json.loads(file.read_bytes()).items() if file.exists() else ():
        for each in asked:
            evidence = _find_evidence(_walk(each.get("source_chat_ids")), sessions, data)
            wanted: Any = next((each[key] for key in BEAM_CRITERIA if each.get(key)), ())
            criteria = (wanted,) if isinstance(wanted, str) else tuple(map(str, wanted))
            questions.append(Question(each["question"], ability, evidence, criteria))
    data.people.append(Person(sessions, questions))


def _walk(value: Any) -> Iterator[Any]:
    """Yield the messages and the plain values in lists and objects, however they are nested."""
    if isinstance(value, dict | list) and "role" not in value:
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _walk(inner)
    elif value is not None:
        yield value


def _find_evidence(given: Iterable[object], sessions: Sequence[Sequence[CorpusRow]], data: DataSet) -> frozenset[str]:
    """Return the rows that these published IDs name; one that several messages have names none of them."""
    named: dict[str, list[str]] = {str(each): [] for each in given}
    for row in (row for rows in sessions for row in rows if row.where in named):
        named[row.where].append(row.id)
    known = frozenset(keys[0] for keys in named.values() if len(keys) == 1)
    data.losses["evidence that is not in the data"] += len(named) - len(known)
    return known


class BM25:
    """Words alone: Lucene's BM25 over these texts."""

    def __init__(self, texts: Mapping[Unit, str]) -> None:
        self._terms = {unit: Counter(bm25_terms(text)) for unit, text in texts.items()}
        self._seen = Counter(term for terms in self._terms.values() for term in terms)
        self._length = fmean(terms.total() for terms in self._terms.values()) or 1.0

    def search(self, query: str, *, limit: int) -> list[Unit]:
        """Return the best `limit` of those that share a word with the query."""
        count, seen = len(self._terms), self._seen
        idf = {each: math.log1p((count - seen[each] + 0.5) / (seen[each] + 0.5)) for each in set(bm25_terms(query))}
        scores = {}
        for unit, terms in self._terms.items():
            norm = 0.9 * (0.6 + 0.4 * terms.total() / self._length)  # as in BEIR's baseline
            scores[unit] = sum(idf[each] * terms[each] / (terms[each] + norm) for each in idf.keys() & terms.keys())
        best = sorted(scores, key=lambda unit: -scores[unit])[:limit]
        return [unit for unit in best if scores[unit] > 0]


def compute_recall(question: Question, found: Sequence[Unit], rows: Mapping[str, CorpusRow]) -> dict[str, Figures]:
    """Return the share of the evidence in the first units: of "all", and of what either role said, if there is any."""
    known = [rows[key] for key in question.evidence]
    groups = {"all": known} | {f"said by the {role}": [row for row in known if row.role == role] for role in ROLES}
    first = {f"recall@{depth}": {key for unit in found[:depth] for key in unit} for depth in DEPTHS}
    return {
        group: {name: fmean(row.id in keys for row in wanted) for name, keys in first.items()}
        for group, wanted in groups.items()
        if wanted
    }


def average(figures: Iterable[tuple[str, Figures]]) -> dict[str, Figures]:
    """Return the mean of each figure by group, "all" first, over those that have it, and how many those are at most."""
    values: dict[str, dict[str, list[float]]] = {"all": {}}
    for group, named in figures:
        for name, value in named.items():
            values.setdefault(group, {}).setdefault(name, []).append(value)
    return {
        group: {"questions": max(map(len, named.values()), default=0)}
        | {name: round(fmean(column), 4) for name, column in named.items()}
        for group, named in sorted(values.items(), key=lambda each: (each[0] != "all", each[0]))
    }


def read_score(answer: str, *, count: int) -> float | None:
    """Return the mean of a judge's `count` grades of 0, 0.5 or 1; None where they cannot be read without a guess."""
    read = read_json_object(answer, keys=("grades",))
    grades = read.value.get("grades") if read.value and not read.repaired else None
    fit = isinstance(grades, list) and len(grades) == count and all(each in (0, 0.5, 1) for each in grades)
    return fmean(grades) if grades and fit else None
