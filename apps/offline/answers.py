"""Which of the remembered texts answer a question: by the attribute it asks for, or by its words."""

from __future__ import annotations

from collections.abc import Sequence

from apps.core.text.fold import fold, normalize_key, normalize_value
from apps.core.text.instructions import is_instruction
from apps.core.text.keywords import extract_keywords
from apps.core.text.matching import stem
from apps.core.text.segment import is_cjk
from apps.offline.attributes import find_asked, is_single, make_own, name_attribute, read_facts
from apps.offline.prompt import Memory, Prompt
from apps.offline.rules import load_rules
from apps.offline.statements import list_statements

_MOST_ANSWERS, _MOST_KEYWORDS = 3, 12


def gather_known(prompt: Prompt) -> list[Memory]:
    """Return all the reply may draw on: what was said in this conversation, the newest first, memories, forms, profile.

    What reads like an order to the model is left out: remembered text is data (C5).
    """
    said = [Memory("", one.text) for message in reversed(prompt.history) for one in list_statements(message)]
    known: dict[str, Memory] = {}
    for memory in (*said, *prompt.memories, *prompt.filled, *prompt.profile):
        if memory.text and not is_instruction(memory.text):
            known.setdefault(normalize_value(memory.text), memory)
    return list(known.values())


def find_answers(question: str, known: Sequence[Memory]) -> list[Memory]:
    """Return the memories that state the attribute asked for, else those that hold most words of the question."""
    wanted = _content_words(question)
    for attribute in find_asked(question):
        if found := [memory for memory in known if attribute in _list_attributes(memory)]:
            keyed = [*(memory for memory in found if memory.key), *found][:1]  # else what was said last
            return keyed if is_single(attribute[0]) else _prefer_words(wanted, found, fewest=0)
    return _prefer_words(wanted, known, fewest=max(1, (len(wanted) + 1) // 2))


def find_related(message: str, known: Sequence[Memory]) -> Memory | None:
    """Return the first memory that shares a telling word with `message`."""
    wanted = {word for word in _content_words(message) if len(word) > 1}
    return next((memory for memory in known if any(_holds(memory, word) for word in wanted)), None)


def _list_attributes(memory: Memory) -> set[tuple[str, str]]:
    if memory.key and (named := name_attribute(memory.key)):
        return {(named[0], normalize_key(named[1]))}
    return {fact.identity for fact in read_facts(make_own(memory.text))}


def _prefer_words(wanted: Sequence[str], memories: Sequence[Memory], *, fewest: int) -> list[Memory]:
    """Those that hold most of the words wanted: of pets the dog, where a dog is asked for."""
    scores = [sum(_holds(memory, word) for word in wanted) for memory in memories]
    best = max([*scores, fewest])
    return [memory for memory, score in zip(memories, scores, strict=True) if score == best][:_MOST_ANSWERS]


def _content_words(text: str) -> list[str]:
    vague = load_rules("talk")["vague"]
    return [word for word in extract_keywords(text, limit=_MOST_KEYWORDS) if not vague.fullmatch(word)]


def _holds(memory: Memory, word: str) -> bool:
    text = fold(memory.text)
    if is_cjk(word):
        return word in text
    return stem(word) in {stem(one) for one in extract_keywords(text, limit=50)}
