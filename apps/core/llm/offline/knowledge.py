"""What is known about the user in one call, how to find the answer to a question in it, and how to say it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from apps.core.llm.offline.clauses import is_instruction
from apps.core.llm.offline.language import fold_in_place
from apps.core.llm.offline.lexicon import load_lexicon, load_lexicons
from apps.core.llm.offline.phrases import Phrases, join_list
from apps.core.llm.offline.prompt import Memory, Prompt
from apps.core.llm.offline.questions import Question
from apps.core.llm.offline.statements import Entry, read_statements
from apps.core.llm.offline.topics import drop_vague
from apps.core.text.fold import normalize_key
from apps.core.text.keywords import extract_keywords

_SHOWN_ITEMS = 6


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a memory's key stands for: a concept, with its relative or attribute, or none of ours (``concept`` "")."""

    concept: str
    about: str = ""
    attribute: str = ""


def gather_known(prompt: Prompt) -> tuple[Memory, ...]:
    """Everything the reply may draw on: recalled memories first, then forms, then what was said in this conversation.

    A memory that reads like an order to the model is left out: remembered text is data (C5).
    """
    said = [
        Memory(key=entry.key, value=entry.value)
        for message in reversed(prompt.history)
        for entry in read_statements(message)
        if entry.mode != "remove" and entry.source == "user_stated"
    ]
    filled = [Memory(key=name, value=value) for form in reversed(prompt.forms) for name, value in form.fields.items()]
    known: dict[str, Memory] = {}
    for memory in (*prompt.memories, *filled, *said):
        text = fold_in_place(" ".join((memory.key, *memory.items)))
        if memory.items and not is_instruction(text, load_lexicons()):
            known.setdefault(normalize_key(memory.key) or text, memory)
    return tuple(known.values())


def find_answers(question: Question, known: Sequence[Memory]) -> tuple[Memory, ...]:
    """The memories that answer `question`: by meaning, then by the words of their key, then by those of their value."""
    if question.concept:
        wanted = Meaning(question.concept, question.about, _in_english(question.attribute))
        answers = tuple(memory for memory in known if _same_meaning(get_meaning(memory.key), wanted))
        if answers:
            return answers
    keywords = drop_vague(question.keywords)
    by_key = [memory for memory in known if memory.key and keywords & drop_vague(extract_keywords(memory.key))]
    if by_key or question.concept:
        return tuple(by_key[:1])
    return tuple(memory for memory in known if keywords & _words_of(memory))[:1]


def find_related(message: str, known: Iterable[Memory]) -> Memory | None:
    """The first memory that shares a telling word with `message`."""
    keywords = drop_vague(extract_keywords(message))
    return next((memory for memory in known if keywords & _words_of(memory)), None)


def find_by_concept(concept: str, known: Iterable[Memory]) -> Memory | None:
    """The user's own memory of `concept`, in whichever language it was kept."""
    return next((memory for memory in known if get_meaning(memory.key) == Meaning(concept)), None)


def say_memory(memory: Memory, phrases: Phrases) -> str:
    """`memory` as a clause in the second person, without a full stop; a text of several sentences as it is."""
    if not memory.key:
        return memory.items[0].rstrip("。. ")
    meaning = get_meaning(memory.key)
    return _say(meaning, key=memory.key, items=memory.items, phrases=phrases)


def say_entry(entry: Entry, phrases: Phrases) -> str:
    """`entry` as a clause in the second person."""
    items = tuple(entry.value) if isinstance(entry.value, list) else (entry.value,)
    meaning = get_meaning(entry.key)
    if entry.mode == "remove":
        concept = load_lexicon(phrases.language).concepts[entry.concept]
        return concept.unsay.format(value=join_list(items, phrases))
    return _say(meaning, key=entry.key, items=items, phrases=phrases)


def _say(meaning: Meaning, *, key: str, items: Sequence[str], phrases: Phrases) -> str:
    value = join_list(items[:_SHOWN_ITEMS], phrases)
    concept = load_lexicon(phrases.language).concepts.get(meaning.concept)
    if concept is None or meaning.about:
        shown = re.sub(r"^(?:你的|我的|您的|my |your )", "", key.strip(), flags=re.IGNORECASE)
        name = "generic_relative" if meaning.about else "generic"
        return phrases.say(name, key=shown.replace("_", " "), value=value)
    attribute = meaning.attribute
    if phrases.language == "zh":
        attribute = {english: chinese for chinese, english in _load_attributes().items()}.get(attribute, attribute)
    # The value may contain braces: fill it in last, and only once.
    return concept.say.replace("{attribute}", attribute).replace("{value}", value)


def get_meaning(key: str) -> Meaning:
    """What `key` stands for in our tables, in either language."""
    return _find_meaning(normalize_key(key))


@lru_cache(maxsize=4096)
def _find_meaning(normalized: str) -> Meaning:
    exact, favorites = _load_keys()
    if normalized in exact:
        return exact[normalized]
    for prefix in favorites:
        if normalized.startswith(prefix) and len(normalized) > len(prefix):
            attribute = _in_english(normalized[len(prefix) :])
            return Meaning("favorite_color") if attribute == "color" else Meaning("favorite", attribute=attribute)
    return (
        Meaning("attribute", attribute=_in_english(normalized))
        if _in_english(normalized) != normalized
        else Meaning("")
    )


@lru_cache(maxsize=1)
def _load_keys() -> tuple[dict[str, Meaning], tuple[str, ...]]:
    exact: dict[str, Meaning] = {}
    for lexicon in load_lexicons():
        for name, concept in lexicon.concepts.items():
            if "{" in concept.key:
                continue
            exact.setdefault(normalize_key(concept.key), Meaning(name))
            if concept.relative:
                for relation in set(lexicon.relations.values()):
                    whose = f"{relation}的{concept.key}" if lexicon.language == "zh" else f"{relation}'s {concept.key}"
                    exact.setdefault(normalize_key(whose), Meaning(name, about=relation))
    return exact, tuple(normalize_key(prefix) for prefix in ("最喜欢的", "喜欢的", "favorite", "favourite"))


def _same_meaning(known: Meaning, wanted: Meaning) -> bool:
    if wanted.concept == "likes" and not wanted.about:
        return known.concept in ("likes", "favorite", "favorite_color") and not known.about
    if wanted.concept == "favorite" and wanted.attribute == "color":
        return known.concept == "favorite_color"
    return known == wanted


def _in_english(attribute: str) -> str:
    return _spell_attributes().get(normalize_key(attribute), attribute)


def _is_attribute(key: str) -> bool:
    return normalize_key(key) in _spell_attributes()


@lru_cache(maxsize=1)
def _spell_attributes() -> dict[str, str]:
    pairs = _load_attributes().items()
    return {normalize_key(spelling): english for chinese, english in pairs for spelling in (chinese, english)}


@lru_cache(maxsize=1)
def _load_attributes() -> dict[str, str]:
    table: dict[str, str] = tomllib.loads(files(__package__).joinpath("data/attributes.toml").read_text("utf-8"))
    return table


def _words_of(memory: Memory) -> set[str]:
    return drop_vague(extract_keywords(" ".join((memory.key, *memory.items)), limit=50))
