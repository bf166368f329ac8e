"""Extraction by rules: which sentences of a batch of messages become memories, and what they end.

A statement ends another value of the same attribute, or the same statement where it is denied. Everything that is not
plain stays beside it: nothing is ended in part, merged or refined here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from apps.core.llm.types import read_block
from apps.core.text.fold import normalize_value, spell_value
from apps.core.text.keywords import stem
from apps.core.text.time_expressions import find_times
from apps.core.times import UTC_ZONE
from apps.offline.attributes import (
    CONFIDENCE,
    Fact,
    is_same_value,
    is_single,
    make_entry,
    make_own,
    name_attribute,
    read_facts,
    read_remembered,
)
from apps.offline.language import fold_in_place, load_rules
from apps.offline.prompt import ANY_DAY, read_lines, read_object
from apps.offline.sentences import Sentence, list_sentences
from apps.offline.statements import list_statements, read_stated

_WORD = re.compile(r"[a-z0-9][\w’-]*|[\u3400-\u9fff]")
_FEWEST_WORDS = 3


def find_ended(sentence: Sentence, known: Mapping[int, str]) -> list[int]:
    """Return which of the `known` memories, texts by number, `sentence` ends."""
    facts = read_facts(sentence)
    ending = [fact for fact in facts if fact.removes or (fact.sets and is_single(fact.attribute) and not fact.is_wide)]
    return [
        number
        for number, text in known.items()
        if _is_denied(sentence, text) or any(_is_ended(text, fact) for fact in ending)
    ]


def _is_ended(text: str, new: Fact) -> bool:
    """Whether a text says nothing but another value of what is set, or the very value that is taken away."""
    old = read_remembered(text)
    if old is None or old.removes or old.identity != new.identity:
        return False
    if new.removes and not is_single(new.attribute):
        return normalize_value(old.value) == normalize_value(new.value)
    return not old.is_wide and is_same_value(old.value, new.value) is new.removes


def _is_denied(sentence: Sentence, text: str) -> bool:
    known = make_own(text)
    denies, denied = (load_rules("talk")["denies"].search(said.plain) for said in (sentence, known))
    if (denies is None) == (denied is None):
        return False
    words = _reduce(sentence.plain)
    return len(words) >= _FEWEST_WORDS and words == _reduce(known.plain)


def _reduce(plain: str) -> list[str]:
    """The words of a statement without those that affirm, deny or say that it is so now; the -ing of "stopped -ing"."""
    rules = load_rules("talk")
    plain = rules["beside"].sub(" ", rules["denies"].sub(" ", plain))
    return [stem(word) for word in _WORD.findall(plain)]


_MOST_TAGS, _SHORTEST_CASE = 5, 120
_RECURS = re.compile(r"(?i)\b(?:birthday|anniversary|born|every|each|daily|weekly|yearly|since)\b|生日|周年|每|出生|属")
_OPPOSITES = {"likes": "dislikes", "dislikes": "likes"}
_GOES_ON = re.compile(r"(?i)今[天年]|这[个]?[周月]|本[周月]|today|this (?:week|month|year)")


def answer_extraction(prompt: str) -> dict[str, Any]:
    """The answer to an extraction prompt, in the form its pydantic model asks for."""
    wanted = read_object(read_block(prompt, "wanted"))
    rows = read_lines(read_block(prompt, "known_memories"))
    known = {row["number"]: str(row.get("text", "")) for row in rows if isinstance(row.get("number"), int)}
    held = set(map(spell_value, known.values()))  # what is only spelled otherwise now is told: it is to be kept so
    profile = read_object(read_block(prompt, "profile"))
    answer: dict[str, Any] = {"memories": [], "entries": [], "profile": [], "context": None}
    for line in read_lines(read_block(prompt, "conversation")):
        if line.get("role") != "user":
            continue
        text, number = str(line.get("text", "")), line.get("number")
        if case := _read_case(text):
            if wanted.get("context") and answer["context"] is None:
                answer["context"] = {**case, "about": number}
            continue  # its facts are not those of the person's own life
        for sentence in list_statements(text):
            if (spelling := spell_value(sentence.text)) not in held:
                held.add(spelling)
                answer["memories"].append({**_make_memory(sentence, known), "about": number})
        if wanted.get("entries"):
            answer["entries"] += [{**entry, "about": number} for entry in list_entries(text, known.values())]
        answer["profile"] += [{**section, "about": number} for section in _list_wishes(text, profile)]
    return answer


def list_entries(text: str, remembered: Collection[str]) -> list[dict[str, Any]]:
    """Return the entries that a message states (E5), under the keys by which `remembered` has their attributes."""
    keys: dict[tuple[str, str], str] = {}
    for known in remembered:
        key, colon, _ = known.partition(": ")
        if colon and (named := name_attribute(key)):
            keys.setdefault(named, key)
    entries = []
    for fact in (fact for sentence in list_statements(text) for fact in read_stated(sentence)):
        entries.append(make_entry(fact, key=keys.get(fact.identity, "")))
        if (other := _OPPOSITES.get(fact.attribute)) and not fact.removes:
            gone = replace(fact, attribute=other, removes=True)  # what is liked now is disliked no longer
            entries.append(make_entry(gone, key=keys.get(gone.identity, "")))
    return entries


def _make_memory(sentence: Sentence, known: Mapping[int, str]) -> dict[str, Any]:
    facts = read_stated(sentence)
    ended = find_ended(sentence, known)
    return {
        "content": sentence.text,
        "tags": list(dict.fromkeys(fact.key for fact in facts))[:_MOST_TAGS],
        "event": _find_event(sentence.text, facts),
        "relation": "contradicts" if ended else "new",
        "target": ended,
        "confidence": CONFIDENCE,
    }


def _find_event(text: str, facts: Sequence[Fact]) -> str | None:
    """The words that say when it happened or will happen, where there is one time; None of what recurs or goes on."""
    if _RECURS.search(text) or any(fact.attribute == "birthday" for fact in facts):
        return None
    times = list(find_times(text, said_at=ANY_DAY, zone=UTC_ZONE))
    return times[0].text if len(times) == 1 and not _GOES_ON.fullmatch(times[0].text) else None


def _list_wishes(text: str, profile: dict[str, Any]) -> list[dict[str, str]]:
    """The section on replies with what the message wishes of them, as it was said; each wish once."""
    rules = load_rules("wishes")
    said = [sentence.text for sentence in list_sentences(text) if rules["wish"].search(sentence.plain)]
    if not said:
        return []
    before = str(profile.get("reply_style", "")).splitlines()
    # A new wish about the same takes the place of the old one: long after short.
    about = [rule for name, rule in rules.items() if name not in ("wish", "case") and any(map(rule.search, said))]
    kept = [line for line in before if not any(rule.search(line) for rule in about)]
    return [{"section": "reply_style", "text": "\n".join(dict.fromkeys([*kept, *said]))}]


def _read_case(text: str) -> dict[str, str] | None:
    """The background of a case that the person sets out: long, and introduced as one (X1)."""
    if len(text) < _SHORTEST_CASE or not load_rules("wishes")["case"].search(fold_in_place(text[:200])):
        return None
    first = next(filter(None, map(str.strip, text.splitlines())), "")
    title = re.split(r"[。！？!?；;\n]", first, maxsplit=1)[0].strip(" #*：:") or first
    return {"title": title[:80], "content": text.strip()}
