"""Which of the remembered texts answer a question: by the attribute asked for, by words, by how they were recalled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from apps.core.llm.embedding_local import compare_meaning
from apps.core.text.fold import fold, normalize_key, normalize_value
from apps.core.text.instructions import is_instruction
from apps.core.text.keywords import extract_keywords, stem
from apps.core.text.segment import is_cjk
from apps.core.text.sentences import split_sentences
from apps.offline.attributes import find_asked, is_single, make_own, name_attribute, read_facts
from apps.offline.language import fold_in_place, load_rules
from apps.offline.prompt import Memory, Prompt
from apps.offline.statements import list_statements, points_back

_MOST_ANSWERS, _MOST_KEYWORDS, _LONGEST_WHOLE = 3, 12, 160
# The share of the question's words in a text that was not recalled for it, but stood in the prompt anyway.
_FEWEST_SHARED = 0.5


def find_answers(question: str, prompt: Prompt) -> tuple[list[Memory], bool]:
    """Return the memories that answer best, at most three, and whether one has what was asked for.

    First what states the attribute asked for; then what shares words with it, and what was recalled, by its meaning.
    """
    wanted, asked = _content_words(question), find_asked(question)
    scored, stating = list[tuple[float, float, Memory]](), list[Memory]()
    known = _gather_known(prompt, wanted)
    for memory, meaning in zip(known, compare_meaning(question, [each.text for each in known]), strict=True):
        shared, near = _share(memory, wanted), 0.0 if memory.place is None else 0.01 + 2 * max(0.0, meaning)
        if any(attribute in _list_attributes(memory) for attribute in asked):
            stating.append(memory)
        if memory in stating or near or shared >= _FEWEST_SHARED:
            scored.append((2 * (memory in stating) + shared + near, shared, memory))
    if stating:
        told = [min(stating, key=_prefer)] if all(is_single(name) for name, _ in asked) else stating
        scored = [one for one in scored if one[2] in told or (one[2] not in stating and one[1])]
    # A message says what was remembered of it, and more.
    texts = [memory.text for *_, memory in scored if not memory.key]
    scored = [one for one in scored if one[2].key or not any(one[2].text in text != one[2].text for text in texts)]
    best = sorted(scored, key=lambda one: -one[0])[:_MOST_ANSWERS]
    return [memory for *_, memory in best], bool(stating or (not asked and best and best[0][1]))


def _gather_known(prompt: Prompt, wanted: Sequence[str]) -> list[Memory]:
    """All the reply may draw on: what was said in this conversation, the newest first, memories, forms, profile.

    What reads like an order to the model is left out: remembered text is data (C5).
    """
    said = (Memory("", one.text) for message in reversed(prompt.history) for one in list_statements(message))
    met = dict[str, Memory]()
    for memory in (*prompt.memories, *said, *prompt.filled, *prompt.profile):
        known = memory if memory.key else replace(memory, value=_choose_passage(memory.text, wanted))
        met.setdefault(normalize_value(known.text), known)
    return [known for normal, known in met.items() if normal and not is_instruction(known.text)]


def _choose_passage(text: str, wanted: Sequence[str]) -> str:
    """What to quote of a text: all but its questions; of a long one the sentence that shares most words, else the first
    that tells something. One that points back goes with the sentence before it."""
    asks, sentences = load_rules("summary")["question"], split_sentences(text)
    told = [one for one in sentences if not asks.search(fold_in_place(one).strip())]
    if len("".join(told)) <= _LONGEST_WHOLE:
        return "".join(told).strip()
    shared = [_share(Memory("", one), wanted) for one in told]
    kept = "\n".join(one.text for one in list_statements(text))
    first = next((at for at, one in enumerate(told) if one.strip() in kept), 0)
    best = shared.index(max(shared)) if any(shared) else first
    return "".join(told[best - (best > 0 and points_back(told[best])) : best + 1]).strip()


def _prefer(memory: Memory) -> tuple[bool, bool, int]:
    """Of what states one attribute: an entry, else what was said in this conversation, else what was said last."""
    return not memory.key, memory.place is not None, -memory.day.toordinal() if memory.day else 0


def _list_attributes(memory: Memory) -> set[tuple[str, str]]:
    if memory.key and (named := name_attribute(memory.key)):
        return {(named[0], normalize_key(named[1]))}
    return {fact.identity for fact in read_facts(make_own(memory.text)) if not fact.removes}


def _content_words(text: str) -> list[str]:
    words = extract_keywords(text, limit=_MOST_KEYWORDS)
    return [word for word in words if not load_rules("talk")["vague"].fullmatch(word)]


def _share(memory: Memory, wanted: Sequence[str]) -> float:
    """Which part of the words wanted a text holds."""
    text = fold(memory.text)
    stems = {stem(word) for word in extract_keywords(text, limit=50)}
    return sum(word in text if is_cjk(word) else stem(word) in stems for word in wanted) / max(1, len(wanted))
