"""What a message asks about its writer: the concept, whose it is, and the attribute."""

from __future__ import annotations

import re
from dataclasses import dataclass

from apps.core.llm.offline.clauses import Clause, split_clauses
from apps.core.llm.offline.language import spell_uniformly
from apps.core.llm.offline.lexicon import Lexicon, load_lexicons
from apps.core.llm.offline.phrases import load_phrases
from apps.core.llm.offline.statements import LONGEST_CLAUSE
from apps.core.text.keywords import extract_keywords

_REQUEST = re.compile(
    r"^(?:请|你)?(?:告诉我|说说|说一?下|猜猜|还?记得)|^(?:please )?(?:tell me|remind me|guess|recall)"
)
_ENGLISH_OTHERS = (
    (r"\bdoes my (?:{relation})\b", "do i"),
    (r"\b(?:is|was) my (?:{relation})\b", "am i"),
    (r"\bmy (?:{relation})’s\b", "my"),
    (r"\bmy (?:{relation})\b", "i"),
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question about the user. ``concept``: "" when only its ``keywords`` tell what is asked.

    ``about``: the relative asked about, "" for the user. ``attribute``: the X of "my favorite X".
    """

    concept: str
    keywords: tuple[str, ...]
    about: str = ""
    attribute: str = ""


def read_question(text: str) -> Question | None:
    """The first question in `text` that is about the user or their family and pets; None if there is none."""
    clauses = [clause for sentence in split_clauses(text) for clause in sentence]
    vague = None
    for clause in clauses:
        if len(clause.folded) > LONGEST_CLAUSE or not (clause.asks or _REQUEST.search(clause.folded)):
            continue
        for lexicon in load_lexicons():
            if question := _read_clause(clause, lexicon):
                return question
            if vague is None and load_phrases(lexicon.language).hears("about_user", clause.folded):
                vague = Question("", tuple(extract_keywords(clause.text)))
    return vague


def _read_clause(clause: Clause, lexicon: Lexicon) -> Question | None:
    keywords = tuple(extract_keywords(clause.text))
    for concept in lexicon.concepts.values():
        for pattern in concept.ask:
            if found := pattern.search(clause.folded):
                attribute = found.groupdict().get("attribute") or ""
                return Question(concept.name, keywords, attribute=spell_uniformly(attribute.strip()))
    relation = lexicon.relation.search(clause.folded)
    if not relation:
        return None
    name = lexicon.relations[relation.group()]
    asked = clause.folded
    if lexicon.language == "zh":
        asked = re.sub(rf"我?(?:们|家)?的?{relation.group()}", "我", asked, count=1)
    else:
        for pattern_text, subject in _ENGLISH_OTHERS:
            asked = re.sub(pattern_text.replace("{relation}", relation.group()), subject, asked, count=1)
    for concept in lexicon.concepts.values():
        if concept.relative and any(pattern.search(asked) for pattern in concept.ask):
            return Question(concept.name, keywords, about=name)
    return None
