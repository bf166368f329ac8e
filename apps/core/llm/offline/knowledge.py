"""What is known about the user in one call, and how to find the answer to a question in it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files

from apps.core.llm.offline.clauses import is_instruction
from apps.core.llm.offline.language import fold_in_place
from apps.core.llm.offline.lexicon import load_lexicons
from apps.core.llm.offline.prompt import Memory, Prompt
from apps.core.llm.offline.questions import Question
from apps.core.llm.offline.statements import name_key, read_statements
from apps.core.llm.offline.topics import drop_vague
from apps.core.text.fold import normalize_key
from apps.core.text.keywords import extract_keywords
from apps.core.text.text_cache import cache_texts

_NEXT_BEST = {
    "name": ("preferred_name",),
    "age": ("birthday",),
    "job": ("employer",),
    "employer": ("job",),
    "school": ("study_place",),
    "study_place": ("school",),
}
"""What tells something when the thing asked for is not known."""


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
    """The memories that answer `question`: by meaning, or all about the relative, or by the words of the question."""
    if question.concept:
        wanted = Meaning(question.concept, question.about, _in_english(question.attribute))
        answers = [memory for memory in known if _answers(memory, wanted)]
        for concept in () if answers else _NEXT_BEST.get(wanted.concept, ()):
            answers += [memory for memory in known if get_meaning(memory.key) == replace(wanted, concept=concept)]
        if question.concept == "name" and question.about and not answers:
            # The name of a child is kept with the children: 乐乐（儿子）.
            listed = [memory for memory in known if get_meaning(memory.key) == Meaning("children")]
            return tuple(memory for memory in _narrow(listed, question.about) if question.about in str(memory.value))
        return _narrow(answers, question.kind)
    if question.about:
        return tuple(memory for memory in known if get_meaning(memory.key).about == question.about)
    if not drop_vague(question.keywords):
        return ()
    return tuple(memory for memory in known if all(_occurs(word, memory) for word in question.keywords))[:1]


def _narrow(answers: Sequence[Memory], kind: str) -> tuple[Memory, ...]:
    """Of the pets the dogs, of what one likes what one likes to drink; everything, if none says that it is one."""
    if not kind:
        return tuple(answers)
    of_kind = [[item for item in memory.items if kind.rstrip("s") in fold_in_place(item)] for memory in answers]
    narrowed = [replace(memory, value=items) for memory, items in zip(answers, of_kind, strict=True) if items]
    return tuple(narrowed or answers)


def find_related(message: str, known: Iterable[Memory]) -> Memory | None:
    """The first memory that shares a telling word with `message`."""
    keywords = drop_vague(extract_keywords(message))
    return next((memory for memory in known if any(_occurs(word, memory) for word in keywords)), None)


def find_by_concept(concept: str, known: Iterable[Memory]) -> Memory | None:
    """The user's own memory of `concept`, in whichever language it was kept."""
    return next((memory for memory in known if get_meaning(memory.key) == Meaning(concept)), None)


def get_meaning(key: str) -> Meaning:
    """What `key` stands for in our tables, in either language."""
    return _find_meaning(normalize_key(key))


@cache_texts(4_000)
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
        # Several concepts may share a key: it stands for the one that can be asked for.
        for name, concept in sorted(lexicon.concepts.items(), key=lambda item: not item[1].ask):
            if "{" in concept.key or concept.pointing:
                continue
            keys = (concept.key, *concept.aliases)
            exact |= {normalize_key(key): Meaning(name) for key in reversed(keys) if normalize_key(key) not in exact}
            for relation in set(lexicon.relations.values()) if concept.relative else ():
                for key in {*keys, concept.relative_key}:
                    whose = normalize_key(name_key(key, about=relation, language=lexicon.language))
                    exact.setdefault(whose, Meaning(name, about=relation))
    return exact, tuple(normalize_key(prefix) for prefix in ("最喜欢的", "喜欢的", "favorite", "favourite"))


def _answers(memory: Memory, wanted: Meaning) -> bool:
    known = get_meaning(memory.key)
    if wanted == Meaning("likes"):
        return known.concept in ("likes", "favorite", "favorite_color") and not known.about
    if wanted.concept == "favorite" and wanted.attribute == "color":
        return known.concept == "favorite_color"
    if wanted.concept == "attribute":
        return normalize_key(memory.key) in (
            normalize_key(wanted.attribute),
            normalize_key(in_chinese(wanted.attribute)),
        )
    return known == wanted


def _in_english(attribute: str) -> str:
    return _spell_attributes().get(normalize_key(attribute), attribute)


def in_chinese(attribute: str) -> str:
    """The Chinese name of an `attribute` that is kept under its English one; any other as it is."""
    return {english: chinese for chinese, english in _load_attributes().items()}.get(attribute, attribute)


@lru_cache(maxsize=1)
def _spell_attributes() -> dict[str, str]:
    pairs = _load_attributes().items()
    return {normalize_key(spelling): english for chinese, english in pairs for spelling in (chinese, english)}


@lru_cache(maxsize=1)
def _load_attributes() -> dict[str, str]:
    table: dict[str, str] = tomllib.loads(files(__package__).joinpath("data/attributes.toml").read_text("utf-8"))
    return table


def _occurs(word: str, memory: Memory) -> bool:
    """Whether `word` occurs in `memory`; Chinese words in one another too, as 过生日 and 生日 do."""
    words = extract_keywords(" ".join((memory.key, *memory.items)), limit=50)
    if word.isascii():
        return word in words
    return any(word in other or (other in word and len(other) > 1) for other in words)
