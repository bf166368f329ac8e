"""Which Chinese sentences say something lasting about their writer. Works on `Sentence.plain`."""

from __future__ import annotations

import re
from functools import cache

from apps.offline.rules import load_rules

_FEWEST, _MOST = 3, 160
_CLAUSE_END = re.compile(r"[,、;:]|但是|不过|因为|所以|而且|然后")


def is_lasting(plain: str) -> bool:
    """Whether a sentence states a fact, a preference, a habit, people, a plan or an event of the writer's life.

    It has to be understood by itself: one that points back (我很喜欢这个) does not count.
    """
    rules = load_rules("chinese")
    if not _FEWEST <= len(plain) <= _MOST or rules["never"].search(plain) or rules["no_matter"].search(plain):
        return False
    found = _person().match(plain)
    if found is None or rules["lead_not"].search(found["lead"]):
        return bool(rules["bare"].search(plain)) and _holds(plain, plain)
    rest = plain[found.end() :]
    if rules["mine"].search(plain[found.start("who") :]):
        return not rules["pointing"].search(_first_clause(rest)) and not rules["moods"].search(plain) and len(rest) > 3
    return (
        not rules["of_the_moment"].search(rest)
        and not rules["others"].search(_first_clause(rest))
        and _holds(rest, plain)
    )


def _holds(rest: str, plain: str) -> bool:
    """`rest`: what is said of the person."""
    rules = load_rules("chinese")
    clauses = [clause for clause in _CLAUSE_END.split(rest) if clause]
    if not clauses or rules["pointing"].search(_first_clause(plain)) or rules["moods"].search(clauses[0]):
        return False
    if rules["today"].search(plain) and not rules["of_a_life"].search(clauses[0]):
        return False
    said = clauses[0] if len(clauses[0]) > 3 else "".join(clauses[:2])
    return bool(rules["lasting"].search(said)) or (len(rest) > 3 and not rules["felt"].search(plain))


def _first_clause(plain: str) -> str:
    return _CLAUSE_END.split(plain, maxsplit=1)[0]


@cache
def _person() -> re.Pattern[str]:
    rules = load_rules("chinese")
    return re.compile(rf"(?P<lead>{rules['lead'].pattern})(?P<who>{rules['person'].pattern})")
