"""The facts of an English sentence of a memory that can stand alone. Pure."""

from __future__ import annotations

import re

from apps.core.llm.offline.third_person_english import is_third_person

_MARKS = " \t\n,，;；.。!！?？"
_CUT = re.compile(r"(?:,| -+|;)? (?:and|but) (?=the user\b)|[,;] (?=the user\b)|,? and (?=(?P<verb>[a-z]+s)\b)")
_SUBJECT = re.compile(r"The user(?:'s)?\b")
_BACK = re.compile(
    r"\b(?:it|its|they|them|their|there|he|him|his|she|her|this|that|these|those|one|ones|too|also|even)\b"
)
"""Words by which a clause leans on another."""
_SHORTEST = 4
"""Words of an English fact: "The user means" is none."""


def split(sentence: str) -> list[str]:
    """The facts of a sentence about the user, each as a sentence."""
    if not _SUBJECT.match(sentence) or '"' in sentence:
        return [sentence]
    facts: list[str] = []
    begin = 0
    for found in _CUT.finditer(sentence):
        if found["verb"] is None or is_third_person(found["verb"]):
            facts.append(sentence[begin : found.start()])
            begin = found.end()
    facts = [fact.strip(_MARKS) for fact in (*facts, sentence[begin:])]
    told = [fact if fact.lower().startswith("the user") else f"The user {fact}" for fact in facts]
    if any(len(fact.split()) < _SHORTEST for fact in told) or any(map(_BACK.search, told[1:])):
        return [sentence]
    return [f"{fact[0].upper()}{fact[1:]}." for fact in told]


def leans(sentence: str) -> bool:
    """Whether a sentence goes on about what the one before it named."""
    return "the user" not in sentence.lower() or bool(_BACK.search(sentence.lower()))
