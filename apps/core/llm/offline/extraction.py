"""Extraction by rules: which sentences of a batch of messages become memories, and what they say of the writer's style.

Only what the person says themselves counts, as for `statements`, but of anything lasting or eventful: their life, their
people and their things. Questions, requests, material to work on, quotations, suppositions, courtesies, the weather,
and whatever addresses the assistant or its memory do not.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any
from zoneinfo import ZoneInfo

from apps.core.llm.blocks import read_block
from apps.core.llm.offline.clauses import Clause, split_clauses
from apps.core.llm.offline.enumerations import split_enumeration
from apps.core.llm.offline.language import detect_language, fold_in_place, spell_uniformly
from apps.core.llm.offline.statements import Entry, read_clauses, read_statements
from apps.core.llm.offline.third_person import tell_in_third_person
from apps.core.llm.offline.topics import drop_vague
from apps.core.llm.types import PromptMessage
from apps.core.text.keywords import extract_keywords
from apps.core.text.time_expressions import find_times

_CONFIDENCE = 0.9
_MOST_KEYWORDS = 50
_PART = re.compile(r"[,，、]")
_LONGEST_MESSAGE = 4_000
"""Longer messages are documents; the beginning says whose, and a case set out in one becomes a shared context."""
_SHORTEST_CASE = 120
_MOST_TAGS = 5
_NOW = re.compile(r"今[天日年]|这个?[周月]|本[周月]|today|this (?:week|month|year)", re.IGNORECASE)
"""Times that go on: what is told with one of them is how things are, unless it is told as something that happened."""
_APART = frozenset({"home", "hometown", "job", "employer", "name", "preferred_name", "marital", "allergies", "pets"})
"""Concepts that get a memory each; others stay with the sentences around them."""
_STYLE = {
    "reply_length": "reply_style",
    "reply_tone": "reply_style",
    "emoji": "reply_style",
    "preferred_name": "reply_style",
    "reply_language": "language_habits",
}
"""The section of the profile that a wish about replies belongs to: no memory of the person's life."""
_WISHES = {
    ("reply_length", "zh"): "回复要{value}。",
    ("reply_length", "en"): "Keep replies {value}.",
    ("reply_tone", "zh"): "回复的语气要{value}。",
    ("reply_tone", "en"): "Use a {value} tone.",
    ("emoji", "zh"): "回复时{value}表情符号。",
    ("emoji", "en"): "Emoji in replies: {value}.",
    ("preferred_name", "zh"): "希望被称呼为{value}。",
    ("preferred_name", "en"): "Wants to be called {value}.",
    ("reply_language", "zh"): "希望用{value}回复。",
    ("reply_language", "en"): "Wants replies in {value}.",
}
_OWN_SUBJECT = re.compile(r"(?:我|咱|俺|本人)|\b(?:i|i’m|i’ve|i’d|im|we|we’re|we’ve|my|our)\b")
_OPENING = 12
"""Characters in which a sentence names its subject."""
_CONJUNCTION = re.compile(r"\b(and|so|because|though|although|while|since)\b")
_OPENS_ALONE = frozenset({"since", "while", "although", "though"})
"""Conjunctions without which a clause at the beginning of a memory says something else."""
_COMPANION = re.compile(r"(?:my|our|his|her) (?:\w+ ?){1,2}|[a-z]+")
"""What "and I" goes on with: a person, no clause."""


@dataclass(frozen=True, slots=True)
class _Cues:
    """The tables of `data/extraction.toml`; each pattern is what its name says in there."""

    patterns: Mapping[str, re.Pattern[str]]

    def find(self, name: str, text: str) -> bool:
        return self.patterns[name].search(text) is not None


@cache
def _load_cues() -> _Cues:
    table: dict[str, list[str]] = tomllib.loads(
        files(__package__).joinpath("data/extraction.toml").read_text(encoding="utf-8")
    )
    return _Cues(patterns={name: re.compile("|".join(f"(?:{row})" for row in rows)) for name, rows in table.items()})


def answer_extraction(messages: Sequence[PromptMessage]) -> dict[str, Any]:
    """The answer to an extraction prompt, in the form its pydantic model asks for."""
    prompt = "\n".join(message.content for message in messages)
    wanted = _read_object(read_block(prompt, "wanted"))
    said = [line for line in _read_lines(read_block(prompt, "conversation")) if line.get("role") == "user"]
    known = frozenset(
        word
        for row in _read_lines(read_block(prompt, "known_memories"))
        for word in drop_vague(extract_keywords(str(row.get("text", "")), limit=_MOST_KEYWORDS))
    )
    answer: dict[str, Any] = {"memories": [], "entries": [], "profile": [], "context": None}
    before: list[Entry] = []
    for line in said:
        text, number = str(line.get("text", "")), line.get("number")
        entries = read_statements(text, before=before)
        before = entries
        memories = _list_memories(text, known=known, said_at=_read_time(line.get("said_at")))
        answer["memories"] += [{**memory, "about": number} for memory in memories]
        if wanted.get("entries"):
            answer["entries"] += [{**entry.to_wire(), "about": number} for entry in entries]
        answer["profile"] += [{**proposal, "about": number} for proposal in _list_wishes(entries)]
        if wanted.get("context") and answer["context"] is None and (case := _read_case(text)):
            answer["context"] = {**case, "about": number}
    return answer


def _read_object(block: str | None) -> dict[str, Any]:
    try:
        value = json.loads(block or "")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _read_lines(block: str | None) -> Iterator[dict[str, Any]]:
    return filter(None, map(_read_object, (block or "").splitlines()))


def _read_time(text: Any) -> datetime | None:
    """When a message was said, as the prompt shows it: with the name of the weekday after it."""
    try:
        said_at = datetime.fromisoformat(str(text).partition(" ")[0])
    except ValueError:
        return None
    return said_at if said_at.tzinfo else said_at.replace(tzinfo=UTC)


def _list_memories(text: str, *, known: frozenset[str], said_at: datetime | None) -> Iterator[dict[str, Any]]:
    for clauses in _group(list(list_telling_clauses(text, known=known))):
        told = _join(clauses)
        language = detect_language(told)
        told = told.rstrip("，, 。.") + ("。" if language == "zh" else ".")
        entries = [entry for clause in clauses for entry in clause.entries]
        dated = any(entry.concept == "birthday" for entry in entries)
        for statement in split_enumeration(tell_in_third_person(told, language=language), language=language):
            yield {
                "content": statement,
                "tags": list(dict.fromkeys(entry.key for entry in entries))[:_MOST_TAGS],
                "event": None if dated else _find_event(statement, said_at=said_at),
                "relation": "new",
                "target": None,
                "confidence": _CONFIDENCE,
            }


def _find_event(statement: str, *, said_at: datetime | None) -> str | None:
    """The words that say when what is told happened or will happen; None of how things are."""
    if said_at is None:
        return None
    for span in find_times(statement, said_at=said_at, zone=ZoneInfo("UTC")):
        part = next(part for part in _PART.split(statement) if span.text in part)
        if not _NOW.fullmatch(span.text) or _load_cues().find("happened", fold_in_place(part).strip(" 。.!")):
            return span.text
    return None


@dataclass(frozen=True, slots=True)
class TellingClause:
    """A clause worth keeping, with the punctuation after it and what it states about attributes we know.

    ``begins``: it begins a sentence that names whom it is about; others go on with what was told before. ``lead``: the
    conjunction before it.
    """

    text: str
    mark: str
    lead: str = ""
    entries: tuple[Entry, ...] = ()
    begins: bool = False

    @property
    def apart(self) -> frozenset[str]:
        """The concepts in it that get a memory of their own."""
        return frozenset(entry.concept for entry in self.entries if not entry.about) & _APART


def list_telling_clauses(text: str, *, known: frozenset[str] = frozenset()) -> Iterator[TellingClause]:
    """The clauses of a message that tell something of its writer, in order; none of a message that is material.

    ``known``: telling words of what is remembered: a statement with one of them goes on with it.
    """
    cues = _load_cues()
    text = text[:_LONGEST_MESSAGE]
    folded = fold_in_place(text)
    if cues.find("material", folded) or any(cues.find("code", line) for line in folded.splitlines()):
        return
    text = re.sub(r"[^\S\n]+", " ", _drop_greetings(text))
    telling: list[TellingClause] = []
    end = 0
    for sentence in split_clauses(text):
        leads = []
        for clause in sentence:
            start = text.index(clause.text, end)
            found = _CONJUNCTION.search(text[end:start].lower())
            leads.append(found[1] if found else "")
            end = start + len(clause.text)
        joined, leads = _join_companions(sentence, leads)
        telling = list(_read_sentence(joined, cues, leads=leads, known=known, goes_on=bool(telling)))
        yield from telling


def _drop_greetings(text: str) -> str:
    """`text` without the greetings, names and fillers that its sentences begin with."""
    return _load_cues().patterns["greeting"].sub(" ", text)


def _join_companions(sentence: Sequence[Clause], leads: Sequence[str]) -> tuple[tuple[Clause, ...], list[str]]:
    """The clauses of a sentence with "My wife" and "I live here" as the one that they are."""
    clauses: list[Clause] = []
    kept: list[str] = []
    for clause, lead in zip(sentence, leads, strict=True):
        companion = clauses[-1] if clauses and lead == "and" and re.match(r"(?:i|we)\b", clause.folded) else None
        if companion and _COMPANION.fullmatch(companion.folded) and companion.text[0].isupper():
            text, folded = (f"{left} and {right}" for left, right in (
                (companion.text, clause.text), (companion.folded, clause.folded)
            ))  # fmt: skip
            clauses[-1] = replace(clause, text=text, folded=folded)
        else:
            clauses.append(clause)
            kept.append(lead)
    return tuple(clauses), kept


def _join(clauses: Sequence[TellingClause]) -> str:
    """The clauses of one memory as a text, with the conjunctions between them."""
    told = ""
    for index, clause in enumerate(clauses):
        if clause.lead and clause.lead != "and" and (index or clause.lead in _OPENS_ALONE):
            told = re.sub(r", $", " ", told) + f"{clause.lead} "
        told += clause.text + clause.mark
    return told


def _read_sentence(
    sentence: Sequence[Clause], cues: _Cues, *, leads: Sequence[str], known: frozenset[str], goes_on: bool
) -> Iterator[TellingClause]:
    """``goes_on``: the sentence before told something, and "she" may be whom it told of."""
    whole = " ".join(clause.folded for clause in sentence)
    if cues.find("quoting", whole) or cues.find("system", whole) or any(clause.supposes for clause in sentence):
        return
    styled = cues.find("style", whole)
    pairs = [
        (clause, lead)
        for index, (clause, lead) in enumerate(zip(map(_drop_address, sentence), leads, strict=True))
        if clause.text and not _is_empty(clause, cues, first=index == 0)
    ]
    kept = [clause for clause, _ in pairs]
    telling = "，".join(clause.folded for clause in kept)
    if not kept or (sentence[-1].asks and not cues.find("person", telling)):
        return
    told = styled or any(cues.find(name, telling) for name in ("person", "own", "event", "detail"))
    told = told or (goes_on and cues.find("pronoun", telling))
    if not told and not known & set(extract_keywords(telling, limit=_MOST_KEYWORDS)):
        return
    language = detect_language(telling)
    for index, (clause, entries) in enumerate(zip(kept, read_clauses(kept), strict=True)):
        last = index == len(kept) - 1
        mark = ("。" if last else "，") if language == "zh" else (". " if last else ", ")
        if not entries and language == "en" and index == 0:
            entries = tuple(read_statements(f"I {clause.text}"))  # "Moved to Columbus"
        if entries and all(entry.concept in _STYLE for entry in entries):
            continue
        begins = index == 0 and bool(_OWN_SUBJECT.search(clause.folded[:_OPENING]))
        yield TellingClause(text=clause.text, mark=mark, lead=pairs[index][1], entries=entries, begins=begins)


def _drop_address(clause: Clause) -> Clause:
    """The clause without words to the assistant at its beginning (告诉你, "guess what")."""
    found = _load_cues().patterns["address"].match(clause.folded)
    if found is None:
        return clause
    start = found.end()
    while start < len(clause.text) and not clause.text[start].isalnum():
        start += 1
    return replace(clause, text=clause.text[start:], folded=clause.folded[start:])


def _is_empty(clause: Clause, cues: _Cues, *, first: bool) -> bool:
    """Whether a clause tells nothing: a question, a request, a courtesy, the weather, words to the assistant."""
    requests = first and cues.find("request", clause.folded)
    if clause.asks or cues.find("assistant", clause.folded):
        return True
    parts = [part.strip(" .!~。") for part in _PART.split(clause.folded)]
    if all(cues.find("courtesy", part) for part in parts if part):
        return True
    if cues.find("weather", clause.folded.strip(" .!~。")):
        return True
    return requests


def _group(clauses: Sequence[TellingClause]) -> Iterator[list[TellingClause]]:
    """Clauses that make one memory: a sentence, or less where another of the concepts apart is told."""
    group: list[TellingClause] = []
    for clause in clauses:
        told = frozenset[str]().union(*(earlier.apart for earlier in group))
        if group and (clause.begins or (clause.apart and told and not clause.apart & told)):
            yield group
            group = []
        group.append(clause)
    if group:
        yield group


def _list_wishes(entries: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    for entry in entries:
        if section := _STYLE.get(entry.concept):
            yield {"section": section, "text": _WISHES[entry.concept, entry.language].format(value=entry.value)}


def _read_case(text: str) -> dict[str, str] | None:
    """The background of a case that the person sets out: long, and introduced as one (X1)."""
    if len(text) < _SHORTEST_CASE or not _load_cues().find("case", fold_in_place(text[:200])):
        return None
    first = next(filter(None, map(str.strip, text.splitlines())), "")
    title = re.split(r"[。！？!?；;\n]", first, maxsplit=1)[0].strip(" #*：:") or first
    return {"title": spell_uniformly(title)[:80], "content": text.strip()}
