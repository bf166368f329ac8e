"""Summaries by rules (S1, S3): the sentences that tell most, as they were said, in the order in which they were said.

The summary so far takes part like what came after it. Of an attribute that is stated again only the newest value stays.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from apps.core.llm.types import read_block
from apps.core.text.citations import find_citation_spans, find_citations
from apps.core.text.instructions import is_instruction
from apps.core.text.keywords import extract_keywords, tells_enough
from apps.core.text.segment import rarity
from apps.core.text.sentences import cut_at_sentence, split_sentences
from apps.offline.attributes import is_single, make_own, read_facts
from apps.offline.language import Language, detect_language, fold_in_place, load_rules, take_excerpt
from apps.offline.prompt import read_lines, read_object
from apps.offline.sentences import make_sentence

_SUMMARY_CHARACTERS, _LEAST_CHARACTERS = 490, 150
_TITLE_CHARACTERS: dict[Language, int] = {"zh": 30, "en": 60}
# The share of the room that the earlier summary may take; the share of keywords that makes two sentences the same.
_EARLIER_SHARE, _SAME = 0.6, 0.6
_SNIPPET_CHARACTERS, _LONGEST_SENTENCE = 200, 180
_WEIGHTS = {"user": 1.0, "assistant": 0.7}
_LABELS = {"user": ("用户：", "User: "), "assistant": ("助手：", "Assistant: ")}
_LISTED = re.compile(r"^(?:引用：|Cited: ).*$", re.MULTILINE)
_NUMBER = re.compile(r"\d+")
_LABEL = re.compile("用户：|User:|助手：|Assistant:")


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence that may stand in a summary. `states`: the attributes it states with one value each."""

    order: int
    role: str
    text: str
    weight: float
    earlier: bool
    words: frozenset[str]
    states: frozenset[tuple[str, str]]


def answer_session_summary(prompt: str) -> dict[str, Any]:
    """The answer to a prompt for a session's note: `title` and `snippet`."""
    note = read_object(read_block(prompt, "earlier_note"))
    said = _read_said(prompt)
    sentences = _list_sentences(str(note.get("snippet", "")), [line for line in said if line[0] == "user"])
    title = str(note.get("title", "")) or _make_title(said)
    return {"title": title, "snippet": _join(_choose(sentences, room=_SNIPPET_CHARACTERS)) or title}


def answer_conversation_summary(prompt: str) -> dict[str, Any]:
    """The answer to a prompt for a conversation's summary: `summary`, with who said what."""
    said = _read_said(prompt)
    citations = (read_block(prompt, "citations") or "").splitlines()
    room = max(_SUMMARY_CHARACTERS - sum(len(citation) + 2 for citation in citations), _LEAST_CHARACTERS)
    chosen = _choose(_list_sentences(read_block(prompt, "earlier_summary") or "", said), room=room)
    return {"summary": _join(chosen, labelled=True) or _make_title(said)}


def _read_said(prompt: str) -> list[tuple[str, str]]:
    rows = read_lines(read_block(prompt, "conversation"))
    return [("assistant" if row.get("role") == "assistant" else "user", str(row.get("text", ""))) for row in rows]


def _list_sentences(earlier: str, said: Iterable[tuple[str, str]]) -> list[_Sentence]:
    found: list[_Sentence] = []
    for role, text in _split_labelled(_LISTED.sub("", earlier)):
        found.append(_make_sentence(text, role, order=len(found), weight=_WEIGHTS[role], earlier=True))
    cues = load_rules("summary")
    for role, text in ((role, text) for role, message in said for text in _split(take_excerpt(message))):
        folded = fold_in_place(text).strip(" \n.。!~")
        asks = bool(cues["question"].search(fold_in_place(text).strip()))
        if cues["courtesy"].search(folded) or is_instruction(text):
            continue
        if role == "assistant":
            concludes = cues["conclusion"].search(folded) or find_citations(text)
            if asks or cues["offer"].search(folded) or not concludes:
                continue
        else:
            text = make_sentence(text).text
        weight = 0.7 if asks else _WEIGHTS[role]
        found.append(_make_sentence(text, role, order=len(found), weight=weight, earlier=False))
    return found


def _split_labelled(earlier: str) -> Iterator[tuple[str, str]]:
    """The sentences of a summary as `_join` writes one, each with who said it."""
    role = "user"
    for text in _split(earlier):
        if label := _LABEL.match(text):
            role = "assistant" if label.group() in ("助手：", "Assistant:") else "user"
            text = text[label.end() :].strip()
        if text:
            yield role, text


def _split(text: str) -> Iterator[str]:
    for sentence in split_sentences(text, keep=find_citation_spans(text)):
        short = cut_at_sentence(sentence, _LONGEST_SENTENCE, keep=find_citation_spans(sentence))
        if sum(map(str.isalnum, short)) > 3:
            yield short


def _make_sentence(text: str, role: str, *, order: int, weight: float, earlier: bool) -> _Sentence:
    folded, cues = fold_in_place(text), load_rules("summary")
    facts = read_facts(make_own(text)) if role == "user" else []
    states = frozenset(fact.identity for fact in facts if is_single(fact.attribute))
    weight += 0.4 * bool(cues["decision"].search(folded)) + 0.4 * bool(find_citations(text))
    weight += 0.2 * any(map(str.isdigit, text)) + 0.3 * bool(states)
    return _Sentence(order, role, text, weight, earlier, frozenset(extract_keywords(folded, limit=20)), states)


def _choose(sentences: Sequence[_Sentence], *, room: int) -> list[_Sentence]:
    """The sentences that tell most, each something else, that have room together; in order."""
    counts = Counter(word for sentence in sentences for word in sentence.words)
    newest = {attribute: sentence.order for sentence in sentences for attribute in sentence.states}

    def score(sentence: _Sentence) -> float:
        telling = sum(rarity(word) * min(counts[word], 3) for word in sentence.words)
        return sentence.weight * telling / (len(sentence.words) + 4)

    left, left_earlier = float(room), room * _EARLIER_SHARE
    chosen: list[_Sentence] = []
    for sentence in sorted(sentences, key=lambda sentence: (-score(sentence), -sentence.order)):
        size = len(sentence.text) + 4  # with a share of the labels
        corrected = any(newest[attribute] > sentence.order for attribute in sentence.states)
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


def _join(sentences: Iterable[_Sentence], *, labelled: bool = False) -> str:
    text, role = "", ""
    for sentence in sentences:
        said = sentence.text
        if labelled and sentence.role != role:
            role = sentence.role
            said = _LABELS[role][detect_language(said) == "en"] + said
        text += " " if text and text[-1].isascii() and said[0].isascii() else ""
        text += said
        if text[-1].isalnum() or text[-1] in "”’》）)":
            text += "." if text[-1].isascii() else "。"
    return text


def _make_title(said: Sequence[tuple[str, str]]) -> str:
    """The first thing the person said that is no greeting and tells enough; else the first that is no greeting."""
    courtesy = load_rules("summary")["courtesy"]
    texts = [text for role, message in said if role == "user" for text in _split(take_excerpt(message))]
    telling = [text for text in texts if not courtesy.search(fold_in_place(text).strip(" \n.。!~"))]
    choices = [*filter(tells_enough, telling), *telling, *texts, *(text for _role, text in said), ""]
    first = " ".join(choices[0].split())
    title = first.rstrip(" .。!！?？,，;；") or first
    return cut_at_sentence(title, _TITLE_CHARACTERS[detect_language(title)]) or "…"
