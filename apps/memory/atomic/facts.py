"""The facts of a memory that can stand alone, and which of them are left once something has ended one. Pure.

"The user plays the cello and lives in Leeds" holds two; that the cello was sold ends one of them. A piece that only
goes on with the one before it (离公司近, "she is three") is no fact of its own, and ends with it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from apps.core.llm.offline.language import detect_language
from apps.core.text.places import find_places
from apps.core.text.sentences import split_sentences
from apps.memory.atomic import facts_chinese, facts_english
from apps.memory.atomic.compare import Relation, compare
from apps.memory.atomic.endings import MIN_STATE, get_least, load_models, read_olds
from apps.memory.atomic.frames import read_frame
from apps.memory.atomic.siblings import list_unnamed
from apps.memory.atomic.vectors import Statement, make_statement

MOST_LEFT = 0.01
"""Probability of having ended up to which a fact beside one that has stays."""

MOST_FACTS = 20
"""A text that holds more is a document, which ends as a whole."""

_WHERE = re.compile(r"[住在租]|楼[上下]|[对隔]门|隔壁|附近|旁边|门口|房东|室友|\b(?:in|at|near) (?:the )?[A-Z]")
"""Words that say where: once somebody is elsewhere, what was told with one most likely is over, too."""
_TO_WORK = re.compile(r"上下?班|同事|单位|\b(?:to|at|from) work\b|\bcommut|\bcolleague")
"""Words of what goes with a job."""


def list_facts(content: str) -> list[str]:
    """Return the facts of a memory's content, each as a sentence of its own; the content itself where it holds one."""
    facts: list[str] = []
    for sentence in split_sentences(content):
        first, *others = _split(sentence.strip())
        if facts and _leans(first):
            facts[-1] = join_facts([facts[-1], first], like=first)
        else:
            facts.append(first)
        facts += others
    return facts if len(facts) > 1 else [content]


def join_facts(facts: Sequence[str], *, like: str) -> str:
    """Return facts as one text, with blanks between them where the language of `like` has any."""
    return ("" if detect_language(like) == "zh" else " ").join(facts)


def find_left(content: str, said: Statement, *, taken: Sequence[str]) -> list[str]:
    """Return the facts of a memory that still hold after `said` has ended one of them; none where all of it is over.

    ``taken``: the contents of the memories that come from `said`.
    """
    facts = list_facts(content)
    if not 1 < len(facts) <= MOST_FACTS:
        return []
    models = load_models()
    statements = [make_statement(fact) for fact in facts]
    ends = models.score_ends(statements, said).tolist()
    unnamed = list_unnamed(facts, said.text)
    over = [
        index not in unnamed
        and (
            ends[index] >= get_least(fact, said.text)
            or any(compare(fact, new) is Relation.CONTRADICTS for new in taken)
        )
        for index, fact in enumerate(facts)
    ]
    if not any(over):
        if not unnamed:
            return []
        likeliest = max(set(range(len(facts))) - unnamed, key=ends.__getitem__)
        over[likeliest] = True
    unemployed = any(_is_of(fact, "job") for fact, is_over in zip(facts, over, strict=True) if is_over)
    elsewhere = any(_is_of_place(fact) for fact, is_over in zip(facts, over, strict=True) if is_over)
    return [
        statement.text
        for index, statement in enumerate(statements)
        if index in unnamed
        or (
            not over[index]
            and ends[index] <= MOST_LEFT
            and not (unemployed and _TO_WORK.search(statement.text))
            and not (elsewhere and (_WHERE.search(statement.text) or _is_of_place(statement.text)))
            and models.state.score(read_olds([statement]))[0] >= MIN_STATE
        )
    ]


def _is_of_place(fact: str) -> bool:
    """Whether it tells where somebody lives, or names a place."""
    return bool(find_places(fact)) or _is_of(fact, "home")


def _is_of(fact: str, attribute: str) -> bool:
    return any(name == attribute for clause in read_frame(fact).clauses for _whose, name in clause.attributes)


def _split(sentence: str) -> list[str]:
    if detect_language(sentence) == "zh":
        return facts_chinese.split(sentence)
    return facts_english.split(sentence)


def _leans(sentence: str) -> bool:
    """Whether a sentence goes on about what the one before it named."""
    if detect_language(sentence) == "zh":
        return not facts_chinese.names_somebody(sentence)
    return facts_english.leans(sentence)
