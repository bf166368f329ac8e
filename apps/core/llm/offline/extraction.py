"""Extraction by rules: which sentences of a batch of messages become memories, and what they say of the writer's style.

`telling` says which clauses count; here they are grouped, told in the third person, and dated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from apps.core.llm.blocks import read_block
from apps.core.llm.offline.enumerations import split_enumeration
from apps.core.llm.offline.language import detect_language, fold_in_place, spell_uniformly
from apps.core.llm.offline.statements import Entry, read_statements
from apps.core.llm.offline.telling import STYLE, TellingClause, list_aside_clauses, list_telling_clauses, load_cues
from apps.core.llm.offline.third_person import tell_in_third_person
from apps.core.llm.offline.topics import drop_vague
from apps.core.llm.types import PromptMessage
from apps.core.text.keywords import extract_keywords
from apps.core.text.matching import stem
from apps.core.text.time_expressions import find_times

_CONFIDENCE = 0.9
_MOST_KEYWORDS = 50
_PART = re.compile(r"[,，、]")
_SHORTEST_CASE = 120
_MOST_TAGS = 5
_LONGEST_ASIDE = 80
_LONGEST_CHINESE_ASIDE = 30
"""Characters of a message that may end what is known though it tells nothing by itself: "Deleted it.\""""
_NOW = re.compile(r"今[天日年]|这个?[周月]|本[周月]|today|this (?:week|month|year)", re.IGNORECASE)
"""Times that go on: what is told with one of them is how things are, unless it is told as something that happened."""
_APART = frozenset({"home", "hometown", "job", "employer", "name", "preferred_name", "marital", "allergies", "pets"})
"""Concepts that get a memory each; others stay with the sentences around them."""
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
_OPENS_ALONE = frozenset({"since", "while", "although", "though"})
"""Conjunctions without which a clause at the beginning of a memory says something else."""


def answer_extraction(messages: Sequence[PromptMessage]) -> dict[str, Any]:
    """The answer to an extraction prompt, in the form its pydantic model asks for."""
    prompt = "\n".join(message.content for message in messages)
    wanted = _read_object(read_block(prompt, "wanted"))
    said = [line for line in _read_lines(read_block(prompt, "conversation")) if line.get("role") == "user"]
    known = frozenset(
        stem(word)
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
    telling = list(list_telling_clauses(text, known=known))
    longest = _LONGEST_CHINESE_ASIDE if detect_language(text) == "zh" else _LONGEST_ASIDE
    aside = not telling and len(text) <= longest
    for clauses in [list_aside_clauses(text)] if aside else _group(telling):
        if not clauses:
            continue
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
                "aside": aside,
            }


def _find_event(statement: str, *, said_at: datetime | None) -> str | None:
    """The words that say when what is told happened or will happen; None of how things are."""
    if said_at is None:
        return None
    for span in find_times(statement, said_at=said_at, zone=ZoneInfo("UTC")):
        part = next(part for part in _PART.split(statement) if span.text in part)
        if not _NOW.fullmatch(span.text) or load_cues().find("happened", fold_in_place(part).strip(" 。.!")):
            return span.text
    return None


def _join(clauses: Sequence[TellingClause]) -> str:
    """The clauses of one memory as a text, with the conjunctions between them."""
    told = ""
    for index, clause in enumerate(clauses):
        if clause.lead and clause.lead != "and" and (index or clause.lead in _OPENS_ALONE):
            told = re.sub(r", $", " ", told) + f"{clause.lead} "
        told += clause.text + clause.mark
    return told


def _group(clauses: Sequence[TellingClause]) -> Iterator[list[TellingClause]]:
    """Clauses that make one memory: a sentence, or less where another of the concepts apart is told."""
    group: list[TellingClause] = []
    for clause in clauses:
        apart = _list_apart(clause)
        told = frozenset[str]().union(*map(_list_apart, group))
        if any(not earlier.weak for earlier in group) and (clause.begins or (apart and told and not apart & told)):
            yield group
            group = []
        group.append(clause)
    if any(not clause.weak for clause in group):
        yield group


def _list_apart(clause: TellingClause) -> frozenset[str]:
    """The concepts in a clause that get a memory of their own."""
    return frozenset(entry.concept for entry in clause.entries if not entry.about) & _APART


def _list_wishes(entries: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    for entry in entries:
        if section := STYLE.get(entry.concept):
            yield {"section": section, "text": _WISHES[entry.concept, entry.language].format(value=entry.value)}


def _read_case(text: str) -> dict[str, str] | None:
    """The background of a case that the person sets out: long, and introduced as one (X1)."""
    if len(text) < _SHORTEST_CASE or not load_cues().find("case", fold_in_place(text[:200])):
        return None
    first = next(filter(None, map(str.strip, text.splitlines())), "")
    title = re.split(r"[。！？!?；;\n]", first, maxsplit=1)[0].strip(" #*：:") or first
    return {"title": spell_uniformly(title)[:80], "content": text.strip()}
