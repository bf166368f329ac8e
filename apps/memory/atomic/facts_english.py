"""The facts of an English sentence of a memory that can stand alone. Pure.

A sentence is cut into its clauses, and a clause into one fact for each of the things it names side by side.
"""

from __future__ import annotations

import re

from apps.memory.atomic import coordination_english
from apps.memory.atomic.words_english import ADVERBS, class_of, find_verb, is_verb

_MARKS = " \t\n,，;；.。!！?？"
_REPORTED = "The user mentioned: "
_CUT = re.compile(r"(?:,| -+|;)? (?:and|but|while) |[,;] ")
_BACK = re.compile(
    r"\b(?:it|its|they|them|their|there|he|him|his|she|her|this|that|these|those|one|ones|too|also|even)\b"
)
"""Words by which a clause leans on another."""
_OF_USER = re.compile(r"(?:(?:on|in|at|for) (?:[\w'-]+ ){1,3})?[Tt]he user\b")
_SHORTEST = 4
"""Words of an English fact: "The user means" is none …"""
_HABIT = re.compile(r"[Tt]he user (?!mean|think|say|know|guess|hope|feel|want|like|love|hate|i?s\b|ha|do|go)[a-z]+s")
"""… but what somebody does at all is one: "The user smokes"."""


def split(sentence: str) -> list[str]:
    """The facts of a sentence, each as a sentence of its own; the sentence itself where it holds one."""
    if '"' in sentence:
        return [sentence]
    clauses = _list_clauses(sentence.removeprefix(_REPORTED).strip(_MARKS))
    facts = [fact for clause in clauses for fact in coordination_english.split(clause)]
    if len(facts) == 1:
        return [sentence]
    opening = _REPORTED if sentence.startswith(_REPORTED) else ""
    return [_write(fact, opening=opening) for fact in facts]


def leans(sentence: str) -> bool:
    """Whether a sentence goes on about what the one before it named."""
    return "the user" not in sentence.lower() or bool(_BACK.search(sentence.lower()))


def _write(fact: str, *, opening: str) -> str:
    told = fact.strip(_MARKS)
    return f"{'' if told.lower().startswith('the user') else opening}{told[0].upper()}{told[1:]}."


def _goes_on(rest: str, *, joined: bool) -> bool:
    """Whether a text goes on with another verb of its subject; behind a comma more has to follow than a word."""
    words = rest.split()
    return bool(words) and is_verb(words[0]) and (joined or (len(words) > 2 and words[1] != "and"))


def _stands_beside(rest: str, sentence: str) -> bool:
    """Whether a text is a clause of its own: about the user, or of the same sort of subject as the first one.

    "The user quit the course, the tutor was rude" only gives a reason.
    """
    if find_verb(rest) is None:
        return False
    own, first = class_of(rest.split()), class_of(sentence.split())
    return bool(_OF_USER.match(rest)) or (own == first and own in ("the", "name") and not _OF_USER.match(sentence))


def _has_verb(clause: str) -> bool:
    return find_verb(clause) is not None or is_verb(clause.partition(" ")[0])


def _list_clauses(sentence: str) -> list[str]:
    """The clauses of a sentence that have a subject of their own, or go on about what "the user" does."""
    if not sentence or find_verb(sentence) is None:
        return [sentence]
    clauses: list[str] = []
    begin = 0
    subject = " ".join(word for word in sentence.split()[: find_verb(sentence)] if word not in ADVERBS)
    of_user = subject == "The user"
    for found in _CUT.finditer(sentence):
        rest = sentence[found.end() :]
        goes_on = _goes_on(rest, joined="and" in found.group() and of_user)
        if goes_on or (_stands_beside(rest, sentence) and _has_verb(sentence[begin : found.start()])):
            clauses.append(sentence[begin : found.start()])
            begin = found.end()
    clauses = [clause.strip(_MARKS) for clause in (*clauses, sentence[begin:])]
    told = [f"{subject} {clause}" if is_verb(clause.partition(" ")[0]) else clause for clause in clauses]
    if any(
        len(clause.split()) < _SHORTEST and not _HABIT.fullmatch(own) for clause, own in zip(told, clauses, strict=True)
    ):
        return [sentence]
    return [sentence] if any(map(_BACK.search, told[1:])) else told
