"""Who a clause is about, and where what it says of them starts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from apps.core.llm.offline.clauses import Clause
from apps.core.llm.offline.lexicon import Lexicon

_GIVEN_NAME = re.compile(r"\s*,?\s+([A-Z][\w’-]+)\s*,?(?=\s|’s)(?!\s+(?:and|or)\b)")
_POSSESSIVE_S = re.compile(r"’s\s+")


@dataclass(frozen=True, slots=True)
class Subject:
    """Who a clause is about and where its predicate starts. ``name``: the relation, or the pet's kind as written."""

    kind: Literal["user", "relative", "pet", "other", "elided"]
    start: int
    end: int
    name: str = ""
    called: str = ""
    possessed: int | None = None


def skip_opening(clause: Clause, lexicon: Lexicon) -> tuple[int, bool]:
    """Where the subject starts, after opening words and times, and whether a time that is over was among them."""
    start, past = 0, False
    while True:
        begin = start
        for opening in (lexicon.since, lexicon.prelude):
            if found := opening.match(clause.folded, start):
                start = found.end()
        if found := lexicon.past.match(clause.folded, start):
            start, past = found.end(), True
        if start == begin:
            return start, past


def read_subject(clause: Clause, lexicon: Lexicon, *, start: int) -> Subject:
    folded = clause.folded
    if folded.startswith(("“", '"', "「"), start) or lexicon.other.match(folded, start):
        return Subject(kind="other", start=start, end=start)
    user = lexicon.user.match(folded, start)
    if lexicon.language == "zh":
        if not user and (adverb := lexicon.adverb.match(folded, start)):
            user = lexicon.user.match(folded, adverb.end())
        after = user.end() if user else start
        possessive = lexicon.possessive.match(folded, after) if user else None
        owned = possessive.end() if possessive else after
        if (relation := lexicon.relation.match(folded, owned)) and not folded.startswith("们", relation.end()):
            name = lexicon.relations[relation.group()]
            return Subject(kind="relative", start=start, end=relation.end(), name=name)
        if user and (pet := lexicon.words["pet"].match(folded, owned)):
            return Subject(kind="pet", start=start, end=pet.end(), name=clause.text[slice(*pet.span())])
        return Subject(kind="user" if user else "elided", start=start, end=after)
    if owner := lexicon.possessive.match(folded, start):
        relation = re.compile(rf"(?:{lexicon.relation.pattern})(?![\w])").match(folded, owner.end())
        pet = lexicon.words["pet"].match(folded, owner.end())
        if not relation and not pet:
            return Subject(kind="user", start=start, end=len(folded), possessed=owner.end())
        thing = relation or pet
        assert thing is not None
        end = thing.end()
        called = _GIVEN_NAME.match(clause.text, end) if relation else None
        if called:
            end = called.end()
        owns = _POSSESSIVE_S.match(folded, end)
        return Subject(
            kind="relative" if relation else "pet",
            start=start,
            end=end,
            name=lexicon.relations[relation.group()] if relation else clause.text[slice(*thing.span())],
            called=called.group(1) if called else "",
            possessed=owns.end() if owns else None,
        )
    return Subject(kind="user" if user else "elided", start=start, end=user.end() if user else start)


def introduce(member: str, lexicon: Lexicon) -> Subject | None:
    """The relative of whom a Chinese sentence goes on to speak without naming them again; English names them."""
    name = lexicon.relations.get(member) if lexicon.language == "zh" else None
    return Subject(kind="relative", start=0, end=0, name=name) if name else None
