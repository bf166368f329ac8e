"""Saying what is known in the second person: memories, new entries, and what is not known yet."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from apps.core.llm.offline.knowledge import Meaning, get_meaning, in_chinese
from apps.core.llm.offline.language import fold_in_place
from apps.core.llm.offline.lexicon import Concept, load_lexicon
from apps.core.llm.offline.phrases import Phrases, join_list
from apps.core.llm.offline.prompt import Memory
from apps.core.llm.offline.questions import Question
from apps.core.llm.offline.statements import Entry

_SHOWN_ITEMS = 6
_FIELD = re.compile(r"\{(\w+)\}")
_OWNER = re.compile(r"^(?:你的|我的|您的|my |your )", re.IGNORECASE)
_YOU_ARE = re.compile(r"\byou are\b")
_YOUR = re.compile(r"\byour\b")
_YOU_DO = re.compile(r"\byou (\w+)")


def say_memory(memory: Memory, phrases: Phrases) -> str:
    """`memory` as a clause in the second person, without a full stop; a text of several sentences as it is."""
    if not memory.key:
        return memory.items[0].rstrip("。. ")
    return _say(get_meaning(memory.key), key=memory.key, items=memory.items, phrases=phrases)


def say_entry(entry: Entry, phrases: Phrases) -> str:
    """`entry` as a clause in the second person."""
    items = tuple(entry.value) if isinstance(entry.value, list) else (entry.value,)
    if entry.mode == "remove":
        concept = load_lexicon(phrases.language).concepts[entry.concept]
        return _fill(concept.unsay, {"value": join_list(items, phrases)})
    return _say(get_meaning(entry.key), key=entry.key, items=items, phrases=phrases)


def say_wanted(question: Question, phrases: Phrases) -> str:
    """What `question` asks for, as the object of "I don't know": 你住在哪里, "your mother's job"."""
    concept = load_lexicon(phrases.language).concepts[question.concept]
    text = concept.wanted_kind if question.kind else concept.wanted
    fields = {"attribute": _translate(question.attribute, phrases), "kind": question.kind}
    return _tell_of(question.about, _fill(text, fields), phrases)


def _say(meaning: Meaning, *, key: str, items: Sequence[str], phrases: Phrases) -> str:
    lexicon = load_lexicon(phrases.language)
    concept = lexicon.concepts.get(meaning.concept)
    if concept is None or (meaning.about and meaning.about not in lexicon.relations.values()):
        shown = _OWNER.sub("", key.strip()).replace("_", " ")
        name = "generic_relative" if meaning.about else "generic"
        return _fill(phrases.texts[name], {"key": shown, "value": join_list(items[:_SHOWN_ITEMS], phrases)})
    attribute = _translate(meaning.attribute, phrases)
    clauses, plain = [], []
    for item in items[:_SHOWN_ITEMS]:
        special = _say_specially(item, concept)
        if special:
            clauses.append(special)
        else:
            plain.append(item)
    if plain:
        clauses.append(_fill(concept.say, {"attribute": attribute, "value": join_list(plain, phrases)}))
    return phrases.texts["clause_join"].join(_tell_of(meaning.about, clause, phrases) for clause in clauses)


def _say_specially(item: str, concept: Concept) -> str:
    """`item` by the first of the concept's forms that fits it; "" when none does."""
    for pattern, text in concept.forms:
        if found := pattern.fullmatch(fold_in_place(item)):
            groups = {name: item[slice(*found.span(name))] for name, part in found.groupdict().items() if part}
            article = "an" if item[:1].lower() in "aeiou" else "a"
            return _fill(text, {"value": item, "article": article, **groups})
    return ""


def _tell_of(about: str, clause: str, phrases: Phrases) -> str:
    """`clause`, which says something of "you", about the user's relative instead: 你住在 → 你妈妈住在."""
    if not about:
        return clause
    if phrases.language == "zh":
        return clause.replace("你", f"你{about}", 1)
    for pattern, whose in ((_YOU_ARE, f"your {about} is"), (_YOUR, f"your {about}'s")):
        if pattern.search(clause):
            return pattern.sub(whose, clause, count=1)
    return _YOU_DO.sub(lambda found: f"your {about} {_inflect(found.group(1))}", clause, count=1)


def _inflect(verb: str) -> str:
    """The third person of `verb`: study → studies."""
    return f"{verb[:-1]}ies" if re.search(r"[^aeiou]y$", verb) else f"{verb}s"


def _translate(attribute: str, phrases: Phrases) -> str:
    return in_chinese(attribute) if phrases.language == "zh" else attribute


def _fill(text: str, fields: Mapping[str, str]) -> str:
    # In one pass: a value may contain braces itself.
    return _FIELD.sub(lambda found: fields[found.group(1)], text)
