"""What the offline model replies: it acknowledges what it is told, answers from what was recalled, says what it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from apps.core.llm.offline.emotion import Emotion
from apps.core.llm.offline.knowledge import (
    Meaning,
    find_answers,
    find_by_concept,
    find_related,
    gather_known,
    get_meaning,
)
from apps.core.llm.offline.language import fold_in_place
from apps.core.llm.offline.phrases import Phrases
from apps.core.llm.offline.prompt import Form, Memory, Prompt
from apps.core.llm.offline.questions import Question, read_questions
from apps.core.llm.offline.statements import Entry
from apps.core.llm.offline.wording import say_entry, say_memory, say_wanted
from apps.core.text.fold import normalize_key, normalize_value

_SAID_AT_ONCE = 5
_EDGE = " \n\t,.!?~。…"
_COURTESIES = ("greeting", "wellbeing", "praise", "thanks", "farewell", "assent")
_PART = re.compile(r"[,!?;~。…\n]+|\.(?=\s|$)")
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
    folded = fold_in_place(prompt.message).strip(_EDGE)
    parts = [part.strip(_EDGE) for part in _PART.split(folded) if part.strip(_EDGE)]
    greeted = bool(parts) and phrases.hears("greeting", parts[0])
    if greeted:
        name = _find_name(entries, known)
        yield phrases.say("greeting_named", name=name) if name else texts["greeting"]
    courtesies = list(_return_courtesies(parts, phrases))
    small_talk = all(any(phrases.hears(cue, part) for cue in _COURTESIES) for part in parts)
    answered = [] if small_talk else list(_answer(prompt, folded, known, phrases, entries=entries))
    felt = phrases.emotions.get(emotion.primary) or phrases.tones.get(prompt.strategy.tone)
    if felt and not (answered or greeted or courtesies):
        yield felt
    yield from _acknowledge(entries, prompt.memories, phrases)
    yield from answered
    yield from courtesies
    if answered or courtesies:
        return
    if entries:
        if asking:
            yield texts["ask_remember"]
    elif greeted and len(parts) == 1:
        if asking:
            yield texts["ask_today"]
    else:
        if not felt and (topic or not greeted):
            yield phrases.say("heard", topic=topic) if topic else texts["heard_plain"]
        if related := find_related(prompt.message, known):
            yield _say_related(related, phrases)
        if asking:
            yield texts["ask_more"]


def _return_courtesies(parts: Sequence[str], phrases: Phrases) -> Iterator[str]:
    """Answers to thanks, to a farewell and to "how are you"; each part of a message may be one."""
    for cue in _COURTESIES[1:-1]:
        if any(phrases.hears(cue, part) for part in parts):
            yield phrases.texts[f"on_{cue}"]
    if parts and all(phrases.hears("assent", part) for part in parts):
        yield phrases.texts["on_assent"]


def _find_name(entries: Sequence[Entry], known: Sequence[Memory]) -> str:
    for concept in ("preferred_name", "name"):
        told = next((entry.value for entry in entries if get_meaning(entry.key) == Meaning(concept)), None)
        if isinstance(told, str):
            return told
        if memory := find_by_concept(concept, known):
            return memory.items[0]
    return ""


def _answer(
    prompt: Prompt, folded: str, known: Sequence[Memory], phrases: Phrases, *, entries: Sequence[Entry]
) -> Iterator[str]:
    """What is replied to questions and requests; nothing when there are none."""
    texts = phrases.texts
    questions = read_questions(prompt.message, earlier=prompt.history)
    if phrases.hears("forget", folded):
        yield texts["cannot_forget"]
    elif phrases.hears("opinion", folded):
        yield texts["no_opinion"]
    elif any(question.concept or question.about for question in questions):
        yield from _answer_all(questions, known, phrases)
    elif phrases.hears("to_remember", folded) and not entries and not prompt.message.rstrip().endswith(("?", "？")):
        yield texts["not_stored"]
    elif questions and phrases.hears("how_kept", folded):
        yield texts["how_kept"]
        yield texts["see_all"]
    elif phrases.hears("who", folded):
        yield texts["who"]
        yield texts["connect"]
    elif phrases.hears("summaries", folded):
        said = texts["clause_join"].join(prompt.session_summaries[:3])
        yield phrases.say("summaries", said=said) if said else texts["no_summaries"]
    elif phrases.hears("everything", folded):
        said = texts["clause_join"].join(say_memory(memory, phrases) for memory in known[:_SAID_AT_ONCE])
        yield phrases.say("everything", said=said) if said else texts["nothing_now"]
        yield texts["see_all"]
    elif phrases.hears("work", folded) and not entries:
        yield from _decline(prompt.message, known, phrases)
    elif phrases.hears("about_model", folded):
        yield texts["no_self"]
    elif questions:
        if phrases.hears("remembering", folded) or not entries:
            yield from _answer_all(questions, known, phrases)
    elif prompt.message.rstrip().endswith(("?", "？")):
        yield from _decline(prompt.message, known, phrases)


def _answer_all(questions: Sequence[Question], known: Sequence[Memory], phrases: Phrases) -> Iterator[str]:
    """One sentence for each thing that is known, then what is not, in one sentence, then what is near to that."""
    said: list[Memory] = []
    wanted: list[str] = []
    missed: list[Question] = []
    for question in questions:
        answers = find_answers(question, known)
        said += [memory for memory in answers if memory not in said]
        if not answers:
            missed.append(question)
            wanted += [say_wanted(question, phrases)] if question.concept else []
    yield from (_say_recalled(memory, phrases) for memory in said)
    if wanted:
        yield phrases.say("unknown", wanted=phrases.texts["unknown_join"].join(dict.fromkeys(wanted)))
    elif missed and not said:
        yield phrases.texts["unsure"]
    related = (find_related(" ".join(question.keywords), known) for question in missed)
    near = next((memory for memory in related if memory and memory not in said), None)
    if near:
        yield _say_related(near, phrases)


def _decline(message: str, known: Sequence[Memory], phrases: Phrases) -> Iterator[str]:
    yield phrases.texts["cannot"]
    if related := find_related(message, known):
        yield _say_related(related, phrases)
    yield phrases.texts["connect"]


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
