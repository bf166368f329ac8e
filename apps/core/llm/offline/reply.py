"""What the offline model replies: it acknowledges what it is told, answers from what was recalled, says what it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apps.core.llm.offline.emotion import Emotion
from apps.core.llm.offline.knowledge import (
    Meaning,
    find_answers,
    find_by_concept,
    find_related,
    gather_known,
    get_meaning,
    say_entry,
    say_memory,
)
from apps.core.llm.offline.language import fold_in_place
from apps.core.llm.offline.phrases import Phrases
from apps.core.llm.offline.prompt import Form, Memory, Prompt
from apps.core.llm.offline.questions import Question, read_question
from apps.core.llm.offline.statements import Entry
from apps.core.text.fold import normalize_key, normalize_value

_SAID_AT_ONCE = 5
_GLAD = {"happy", "excited", "grateful"}


def compose_reply(
    prompt: Prompt, *, entries: Sequence[Entry], emotion: Emotion, topic: str | None, phrases: Phrases
) -> str:
    """The reply to `prompt` in the language of `phrases`, within the strategy's ``max_length`` characters if it can.

    The first sentence is always said in full; what no longer fits after it is left out.
    """
    sentences: list[str] = []
    length = 0
    for sentence in _say_all(prompt, entries=entries, emotion=emotion, topic=topic, phrases=phrases):
        gap = 1 if phrases.language == "en" and sentences else 0
        if sentences and length + gap + len(sentence) > prompt.strategy.max_length:
            continue
        sentences.append(sentence)
        length += gap + len(sentence)
    reply = (" " if phrases.language == "en" else "").join(sentences)
    if prompt.strategy.emoji_allowed and emotion.primary in _GLAD and length + 2 <= prompt.strategy.max_length:
        reply += " 😊"
    return reply


def _say_all(
    prompt: Prompt, *, entries: Sequence[Entry], emotion: Emotion, topic: str | None, phrases: Phrases
) -> Iterator[str]:
    texts = phrases.texts
    asking = prompt.strategy.proactive_question
    if prompt.submitted is not None:
        yield from _say_form(prompt.submitted, phrases, asking=asking)
        return
    known = gather_known(prompt)
    folded = fold_in_place(prompt.message).strip(" \n\t,.!?~。…")
    opening = folded.replace("!", ",").replace("。", ",").split(",")[0].strip()
    greeted = phrases.hears("greeting", opening)
    if greeted:
        name = _find_name(entries, known)
        yield phrases.say("greeting_named", name=name) if name else texts["greeting"]
    question = read_question(prompt.message)
    answered = list(_answer(prompt, question, folded, known, phrases, entries=entries))
    felt = phrases.emotions.get(emotion.primary) or phrases.tones.get(prompt.strategy.tone)
    if felt and not answered and not greeted and not _is_courtesy(folded, phrases):
        yield felt
    yield from _acknowledge(entries, prompt.memories, phrases)
    yield from answered
    if answered:
        return
    if entries:
        if asking:
            yield texts["ask_remember"]
    elif phrases.hears("thanks", folded):
        yield texts["thanked"]
    elif phrases.hears("farewell", folded):
        yield texts["farewell"]
    elif greeted and phrases.hears("greeting", folded):
        if asking:
            yield texts["ask_today"]
    else:
        if not felt and (topic or not greeted):
            yield phrases.say("heard", topic=topic) if topic else texts["heard_plain"]
        if related := find_related(prompt.message, known):
            yield _say_related(related, phrases)
        if asking:
            yield texts["ask_more"]


def _find_name(entries: Sequence[Entry], known: Sequence[Memory]) -> str:
    for concept in ("preferred_name", "name"):
        told = next((entry.value for entry in entries if get_meaning(entry.key) == Meaning(concept)), None)
        if isinstance(told, str):
            return told
        if memory := find_by_concept(concept, known):
            return memory.items[0]
    return ""


def _is_courtesy(folded: str, phrases: Phrases) -> bool:
    return any(phrases.hears(cue, folded) for cue in ("greeting", "thanks", "farewell"))


def _answer(
    prompt: Prompt,
    question: Question | None,
    folded: str,
    known: Sequence[Memory],
    phrases: Phrases,
    *,
    entries: Sequence[Entry],
) -> Iterator[str]:
    texts = phrases.texts
    if phrases.hears("who", folded):
        yield texts["who"]
        yield texts["connect"]
    elif phrases.hears("summaries", folded):
        said = phrases.texts["clause_join"].join(prompt.session_summaries[:3])
        yield phrases.say("summaries", said=said) if said else texts["no_summaries"]
    elif phrases.hears("everything", folded):
        said = texts["clause_join"].join(say_memory(memory, phrases) for memory in known[:_SAID_AT_ONCE])
        yield phrases.say("everything", said=said) if said else texts["nothing_yet"]
    elif question is not None and question.concept:
        answers = find_answers(question, known)
        yield from (_say_recalled(memory, phrases) for memory in answers)
        if not answers and question.attribute:
            yield phrases.say(f"unknown_{question.concept}", attribute=question.attribute)
        elif not answers:
            yield texts["unknown"]
    elif phrases.hears("work", folded) and not entries:
        yield texts["cannot"]
        if related := find_related(prompt.message, known):
            yield _say_related(related, phrases)
        yield texts["connect"]
    elif question is not None:
        answers = find_answers(question, known)
        yield from (_say_recalled(memory, phrases) for memory in answers)
        if not answers:
            yield texts["unknown"] if phrases.hears("remembering", folded) or not entries else texts["heard_plain"]
    elif prompt.message.rstrip().endswith(("?", "？")):
        yield texts["cannot"]
        if related := find_related(prompt.message, known):
            yield _say_related(related, phrases)
        yield texts["connect"]


def _say_recalled(memory: Memory, phrases: Phrases) -> str:
    said = say_memory(memory, phrases)
    if not memory.key:
        return phrases.say("recalled_text", text=said + phrases.texts["full_stop"])
    return _capitalise(phrases.say("recalled", said=said))


def _say_related(memory: Memory, phrases: Phrases) -> str:
    if not memory.key:
        return _say_recalled(memory, phrases)
    return phrases.say("related", said=say_memory(memory, phrases))


def _acknowledge(entries: Sequence[Entry], memories: Sequence[Memory], phrases: Phrases) -> Iterator[str]:
    noted, confirmed, tentative = [], [], []
    for entry in entries[:_SAID_AT_ONCE]:
        said = say_entry(entry, phrases)
        old = _find_same_key(entry, memories)
        if entry.source == "inferred":
            tentative.append(said)
        elif old is None or entry.mode != "replace":
            noted.append(said)
        elif normalize_value(old.value) == normalize_value(entry.value):
            confirmed.append(said)
        else:
            yield phrases.say("changed", said=said, old=phrases.texts["list_join"].join(old.items))
    for name, group in (("noted", noted), ("confirmed", confirmed), ("tentative", tentative)):
        if group:
            yield phrases.say(name, said=phrases.texts["clause_join"].join(group))


def _find_same_key(entry: Entry, memories: Sequence[Memory]) -> Memory | None:
    meaning = get_meaning(entry.key)
    return next(
        (
            memory
            for memory in memories
            if normalize_key(memory.key) == normalize_key(entry.key)
            or (meaning.concept and get_meaning(memory.key) == meaning)
        ),
        None,
    )


def _say_form(form: Form, phrases: Phrases, *, asking: bool) -> Iterator[str]:
    fields = phrases.texts["list_join"].join(
        phrases.say("form_field", name=name, value=value if isinstance(value, str) else str(value))
        for name, value in form.fields.items()
    )
    yield phrases.say("form", title=form.title, fields=fields)
    if asking:
        yield phrases.texts["ask_form"]


def _capitalise(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
