"""Summaries by rules (S1, S3): the sentences that tell most, in the order in which they were said.

What the person says is told in the third person, questions and the assistant's conclusions are marked as such, and of
what is said twice or corrected later only the newest is kept. The summary so far takes part like what came after it.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from apps.core.llm.blocks import read_block
from apps.core.llm.offline.language import Language, detect_language, fold_in_place, take_excerpt
from apps.core.llm.offline.statements import read_statements
from apps.core.llm.offline.third_person import tell_in_third_person
from apps.core.llm.types import PromptMessage
from apps.core.text.citations import find_citation_spans, find_citations
from apps.core.text.instructions import is_instruction
from apps.core.text.keywords import extract_keywords
from apps.core.text.segment import rarity
from apps.core.text.sentences import cut_at_sentence, split_sentences

_SUMMARY_CHARACTERS, _LEAST_CHARACTERS = 490, 150
_SNIPPET_CHARACTERS = 200
_TITLE_CHARACTERS = {"zh": 30, "en": 60}
_EARLIER_SHARE = 0.6
"""Of the room that the summary so far may take: it must not crowd out what is new."""
_SAME = 0.6
"""Share of common keywords from which two sentences say the same."""
_LONGEST_SENTENCE = 180
_LABELS: dict[Language, dict[str, str]] = {
    "zh": {"question": "用户问：", "assistant": "助手："},
    "en": {"question": "The user asked: ", "assistant": "Assistant: "},
}
_LISTED = re.compile(r"^(?:引用：|Cited: ).*$", re.MULTILINE)
_NUMBER = re.compile(r"\d+")
_LABELLED = re.compile("|".join(re.escape(label) for labels in _LABELS.values() for label in labels.values()))


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence that may stand in a summary. `concepts`: what it tells of the person, by `read_statements`."""

    order: int
    text: str
    words: frozenset[str]
    weight: float
    earlier: bool
    concepts: frozenset[str] = frozenset()


def answer_session_summary(messages: Sequence[PromptMessage]) -> dict[str, Any]:
    """The answer to a prompt for a session's note: `title` and `snippet`."""
    prompt = "\n".join(message.content for message in messages if message.role == "user")
    note = _read_json(read_block(prompt, "earlier_note") or "")
    said = _read_lines(prompt)
    chosen = _choose(_list_sentences(str(note.get("snippet", "")), said), room=_SNIPPET_CHARACTERS)
    title = str(note.get("title", "")) or _make_title(said)
    return {"title": title, "snippet": _join(chosen) or title}


def answer_conversation_summary(messages: Sequence[PromptMessage]) -> dict[str, Any]:
    """The answer to a prompt for a conversation's summary: `summary`."""
    prompt = "\n".join(message.content for message in messages if message.role == "user")
    said = _read_lines(prompt)
    citations = (read_block(prompt, "citations") or "").splitlines()
    room = max(_SUMMARY_CHARACTERS - sum(len(citation) + 2 for citation in citations), _LEAST_CHARACTERS)
    chosen = _choose(_list_sentences(read_block(prompt, "earlier_summary") or "", said), room=room)
    return {"summary": _join(chosen) or _make_title(said)}


def _read_lines(prompt: str) -> list[tuple[str, str]]:
    rows = map(_read_json, (read_block(prompt, "conversation") or "").splitlines())
    return [(str(row.get("role", "")), str(row.get("text", ""))) for row in rows if row]


def _read_json(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _list_sentences(earlier: str, said: Iterable[tuple[str, str]]) -> list[_Sentence]:
    found: list[_Sentence] = []
    for text in _split(_LISTED.sub("", earlier)):
        weight = 0.5 if _LABELLED.match(text) else 1.0
        told = text.replace("用户", "我")  # so that the rules see a statement of the person in it
        found.append(_make_sentence(text, told=told, order=len(found), weight=weight, earlier=True))
    asked = False
    for role, message in said:
        for text in _split(take_excerpt(message)):
            folded = fold_in_place(text).strip(" \n.。!~")
            if _finds("courtesy", folded) or is_instruction(text):
                continue
            labels = _LABELS[detect_language(text)]
            question = _finds("question", fold_in_place(text).strip())
            if role == "assistant":
                if question or _finds("offer", folded) or not (_finds("conclusion", folded) or find_citations(text)):
                    continue
                shown, weight, told = labels["assistant"] + text, 0.7, ""
            elif question:
                shown, weight, told = labels["question"] + text, 0.4 if asked else 1.0, ""
                asked = True
            else:
                shown = tell_in_third_person(text, language=detect_language(text), bare=True)
                weight, told = 1.0, text
            found.append(_make_sentence(shown, told=told, order=len(found), weight=weight, earlier=False))
    return found


def _split(text: str) -> Iterator[str]:
    for sentence in split_sentences(text, keep=find_citation_spans(text)):
        short = cut_at_sentence(sentence, _LONGEST_SENTENCE, keep=find_citation_spans(sentence))
        if sum(map(str.isalnum, short)) > 3:
            yield short


def _make_sentence(text: str, *, told: str, order: int, weight: float, earlier: bool) -> _Sentence:
    folded = fold_in_place(text)
    entries = [entry for entry in read_statements(told) if entry.mode == "replace"] if told else []
    weight += 0.4 * _finds("decision", folded) + 0.4 * bool(find_citations(text))
    weight += 0.2 * any(map(str.isdigit, text)) + 0.3 * bool(entries)
    return _Sentence(
        order=order,
        text=text,
        words=frozenset(extract_keywords(folded, limit=20)),
        weight=weight,
        earlier=earlier,
        concepts=frozenset(f"{entry.concept} {entry.about} {entry.attribute} {entry.key}" for entry in entries),
    )


def _choose(sentences: Sequence[_Sentence], *, room: int) -> list[_Sentence]:
    """The sentences that tell most, each something else, that have room together; in order."""
    counts = Counter(word for sentence in sentences for word in sentence.words)
    newest = {concept: sentence.order for sentence in sentences for concept in sentence.concepts}

    def score(sentence: _Sentence) -> float:
        telling = sum(rarity(word) * min(counts[word], 3) for word in sentence.words)
        return sentence.weight * telling / (len(sentence.words) + 4)

    left, left_earlier = room, room * _EARLIER_SHARE
    chosen: list[_Sentence] = []
    for sentence in sorted(sentences, key=lambda sentence: (-score(sentence), -sentence.order)):
        size = len(sentence.text) + 1
        corrected = any(newest[concept] > sentence.order for concept in sentence.concepts)
        crowds = size > left or (sentence.earlier and size > left_earlier and len(chosen) < len(sentences) - 1)
        if not sentence.words or corrected or crowds or any(_say_same(sentence, other) for other in chosen):
            continue
        chosen.append(sentence)
        left -= size
        left_earlier -= size * sentence.earlier
    return sorted(chosen, key=lambda sentence: sentence.order)


def _say_same(one: _Sentence, other: _Sentence) -> bool:
    numbers, others = (set(_NUMBER.findall(sentence.text)) for sentence in (one, other))
    if not (numbers <= others or others <= numbers):
        return False
    return len(one.words & other.words) >= _SAME * min(len(one.words), len(other.words))


def _join(sentences: Iterable[_Sentence]) -> str:
    text = ""
    for sentence in sentences:
        gap = " " if text and text[-1].isascii() and sentence.text[0].isascii() else ""
        text += gap + sentence.text
        if text[-1].isalnum() or text[-1] in "”’》）)":
            text += "." if text[-1].isascii() else "。"
    return text


def _make_title(said: Sequence[tuple[str, str]]) -> str:
    """The first thing the person said that is no greeting."""
    texts = [text for role, message in said if role == "user" for text in _split(take_excerpt(message))]
    telling = [text for text in texts if not _finds("courtesy", fold_in_place(text).strip(" \n.。!~"))]
    first = next(iter(telling or texts), said[0][1] if said else "")
    first = " ".join(first.split())
    title = first.rstrip(" .。!！?？,，;；") or first
    return cut_at_sentence(title, _TITLE_CHARACTERS[detect_language(title)]) or "…"


def _finds(cue: str, folded: str) -> bool:
    return _load_cues()[cue].search(folded) is not None


@cache
def _load_cues() -> dict[str, re.Pattern[str]]:
    table: dict[str, str] = tomllib.loads(files(__package__).joinpath("data/summary.toml").read_text("utf-8"))
    return {name: re.compile(cue) for name, cue in table.items()}
