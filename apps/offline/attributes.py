"""Attributes of a person that have a name: stated ("I live in York") or asked for ("Where do I live?")."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from apps.core.text.fold import normalize_key, normalize_value
from apps.core.text.segment import holds_chinese
from apps.offline.language import (
    Language,
    compile_rule,
    detect_language,
    fill,
    fold_in_place,
    load_rules,
    load_table,
    rewrite,
)
from apps.offline.sentences import Sentence, make_sentence

CONFIDENCE = 0.95
_PROPER = ("name", "place", "employer")

_CLAUSE = re.compile(r"(?:,? and (?=(?:i|my)\b)|,? but |,? because |,? so (?=i\b)|,|;| - |–|—|[.!:])\s*")
_WORD = re.compile(r"[a-z0-9]+")
_ITEM = re.compile(r", | and |、|和|还有")
_ARTICLE = re.compile(r"^(?:the |a |an |some |my |our )", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fact:
    """What a clause says of an attribute. `name`: of "favorite colour", colour. `value`: the person's words.

    `sets`: it takes the place of another value. `whole`: the sentence says nothing else. `removes`: an item of a list.
    """

    attribute: str
    name: str
    value: str
    language: Language
    sets: bool
    whole: bool
    removes: bool = False

    @property
    def key(self) -> str:
        """The key in the person's language."""
        return str(load_table("attributes")[self.attribute][self.language]).format(name=self.name)

    @property
    def identity(self) -> tuple[str, str]:
        """By which values of the same attribute meet."""
        return self.attribute, normalize_key(self.name)

    @property
    def is_wide(self) -> bool:
        """Whether the value is a country or a part of a town: it says nothing against a home that is known."""
        table = load_table("attributes")["wide"]
        folded, parts = fold_in_place(self.value), compile_rule(table["parts"])
        return self.attribute == "home" and (folded in table["places"] or parts.search(folded) is not None)


def is_single(attribute: str) -> bool:
    """Whether an attribute has one value at a time."""
    return "mode" not in load_table("attributes")[attribute]


def read_facts(sentence: Sentence) -> list[Fact]:
    """Return what a sentence says of attributes, in order: of each clause at most one."""
    # Who leaves out "I" does it where a sentence begins; further on, it is whom the clause before is about.
    plain = rewrite(sentence.plain, "subject") if sentence.language == "en" else sentence.plain
    if fact := _read_clause(plain, sentence, whole=True):
        return [fact]
    # A Chinese clause without 我 is about whom the one before is about: 我妈妈住在苏州，今年六十八了.
    facts, own = list[Fact](), sentence.language == "en"
    for at, clause in enumerate(filter(None, _CLAUSE.split(plain))):
        fact, is_mine = _read_clause(clause, sentence, whole=False), clause[0] == "我"
        if sentence.language == "zh" and (is_mine or at == 0):
            rules = load_rules("chinese")
            own = not rules["mine"].search(clause) if is_mine else bool(fact or rules["acts"].search(clause))
        facts += [fact] if fact and (own or is_mine) else []
    return facts


def read_remembered(text: str) -> Fact | None:
    """Return the one fact that a remembered text, or a ``key: value``, is about; None where it says anything else."""
    key, colon, value = text.partition(": ")
    if colon and (found := name_attribute(key)):
        return Fact(*found, value, detect_language(text), sets=True, whole=True)
    facts = read_facts(make_own(text))
    return facts[0] if len(facts) == 1 and facts[0].whole else None


def make_own(text: str) -> Sentence:
    """Return a remembered text as its owner would say it: "The user lives in York" as "i live in york"."""
    sentence = make_sentence(text)
    return replace(sentence, plain=rewrite(sentence.plain, "own"))


def name_attribute(key: str) -> tuple[str, str] | None:
    """Return the attribute that a remembered key names, with its own name ("favorite colour": colour)."""
    folded = _spell(fold_in_place(key)).replace("_", " ")
    named = ((name, found.groupdict().get("name") or "") for name, key in _keys() if (found := key.fullmatch(folded)))
    return next(named, None)


def find_asked(question: str) -> list[tuple[str, str]]:
    """Return the attributes that a question asks for, each with its own name."""
    folded = _spell(fold_in_place(question))
    found = {name: next(filter(None, (ask.search(folded) for ask in asks)), None) for name, asks in _asks().items()}
    return [(name, normalize_key(one.groupdict().get("name") or "")) for name, one in found.items() if one]


def make_entry(fact: Fact, *, key: str = "") -> dict[str, Any]:
    """Return the entry of a fact (E5). `key`: by which the attribute is remembered already."""
    row = load_table("attributes")[fact.attribute]
    return {
        "category": row["category"],
        "key": key or fact.key,
        "value": _split_items(fact.value) if "mode" in row else fact.value,
        "source": "user_stated",
        "confidence": CONFIDENCE,
        "mode": "remove" if fact.removes else row.get("mode", "replace"),
    }


def _split_items(value: str) -> list[str]:
    """The items of an enumeration without articles; what is one phrase ("reading in bed and in the bath") stays one."""
    items = [_ARTICLE.sub("", part.strip()) for part in _ITEM.split(value)]
    noun = compile_rule(load_table("attributes")["values"]["noun"])
    return items if all(map(noun.fullmatch, items)) else [value]


def is_same_value(one: str, other: str) -> bool:
    """Whether two values are, or may be, the same, or one only says more ("York" and "York, England")."""
    if holds_chinese(one) != holds_chinese(other):
        return True  # York and 约克: who knows?
    left, right = (set(_WORD.findall(fold_in_place(text))) for text in (one, other))
    if left and right:
        return left <= right or right <= left
    return normalize_value(one) in normalize_value(other) or normalize_value(other) in normalize_value(one)


def _read_clause(clause: str, sentence: Sentence, *, whole: bool) -> Fact | None:
    table, clause = load_table("attributes"), clause.strip()
    values = table["values"]
    for attribute, pattern, group in _patterns():
        found = pattern.fullmatch(clause)
        if found is None:
            continue
        value = compile_rule(values["after"]).sub("", compile_rule(values["before"]).sub("", found["value"].strip()))
        said, rest = _as_written(value, sentence.text), clause.replace(found["value"], "")
        kind = table[attribute]["value"]
        if not value or compile_rule(values["asked"]).search(value) or _rejects(kind).fullmatch(value):
            continue
        if group == "introduces" and said.isascii():  # "I'm Irish", "I'm learning Welsh", 我是ai
            named = all(word[0].isupper() for word in said.split())
            proper = named and compile_rule(values["no_name"]).match(said) is None
        else:  # "My wife is pregnant", "I live in fear"
            small = said.islower() and sentence.text[:1].isupper()
            proper = not small or kind not in _PROPER
        if not proper or (group != "removes" and compile_rule(values["was"]).search(rest)):
            continue
        name = _spell(found.groupdict().get("name") or "")
        language: Language = "zh" if holds_chinese(rest) else "en"
        alone = whole and not found.groupdict().get("more")
        return Fact(attribute, name, said, language, group == "sets", whole=alone, removes=group == "removes")
    return None


def _spell(folded: str) -> str:
    """The text with one spelling where English has two."""
    return folded.replace("colour", "color").replace("favourite", "favorite")


def _as_written(value: str, text: str) -> str:
    """The value as it stands in the sentence, with its capitals."""
    at = fold_in_place(text).find(value)
    return text[at : at + len(value)] if at >= 0 else value


@cache
def _patterns() -> list[tuple[str, re.Pattern[str], str]]:
    # First what ends: what is no longer liked is not what is disliked. Last the bare "I am …", which may be a job.
    return [
        (attribute, _compile(pattern, row["value"]), group)
        for group in ("removes", "sets", "states", "introduces")
        for attribute, row in _rows().items()
        for pattern in row.get(group, [])
    ]


@cache
def _asks() -> Mapping[str, list[re.Pattern[str]]]:
    return {name: [_compile(ask, "thing") for ask in row["asks"]] for name, row in _rows().items()}


@cache
def _rejects(kind: str) -> re.Pattern[str]:
    return re.compile(load_table("attributes")["not"].get(kind, "^$"))


@cache
def _keys() -> list[tuple[str, re.Pattern[str]]]:
    return [
        (name, re.compile(_spell(key).replace("{name}", "(?P<name>.+)")))
        for name, row in _rows().items()
        for key in (row["en"], row["zh"], *row.get("keys", []))
    ]


def _rows() -> Mapping[str, Any]:
    return {name: row for name, row in load_table("attributes").items() if "asks" in row}


def _compile(pattern: str, kind: str) -> re.Pattern[str]:
    table = load_table("attributes")
    values = {"v": f"(?P<value>{table['values'][kind]})", "p": f"(?P<value>{table['values']['person']})"}
    return re.compile(fill(pattern, {**table["patterns"], **values}))
