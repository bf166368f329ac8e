"""Which English sentences say something lasting about their writer. Works on `Sentence.plain`."""

from __future__ import annotations

import re
from functools import cache

from apps.offline.rules import load_rules

_FEWEST_WORDS, _MOST_WORDS = 3, 60
_CLAUSE_END = re.compile(r"[,;:—–]| (?:and|but|because|so|since|which|who|where|while|although|though|as) |[.!]\s| - ")
_PROPER = re.compile(r"(?<=[a-z,’] )(?!I\b|I’)[A-Z][\w’-]+|\b[A-Z]{2,}\b|\d")
_SUBJECT = r"(?P<lead>{lead})?(?P<who>i|we|my|our)\b(?!’)"


def is_lasting(plain: str, text: str) -> bool:
    """Whether a sentence states a fact, a preference, a habit, people, a plan or an event of the writer's life.

    It has to be understood by itself: "I love that" does not count. `text`: as it was written, with its capitals.
    """
    if not _FEWEST_WORDS <= len(plain.split()) <= _MOST_WORDS or _has("never", plain):
        return False
    if _has("relation_said", plain):
        return not _points(plain)
    found = _subject().match(plain)
    if found is None:
        return bool(_begins("events", plain)) and _says_of_me(plain, lead="", text=text)
    rest, lead = plain[found.end() :].strip(), found["lead"] or ""
    if _has("pointing_lead", lead) or rest.startswith(("all ", "both ", "each ")):
        return False
    match found["who"]:
        case "i":
            return _says_of_me(rest, lead=lead, text=text)
        case "we":
            return _says_of_us(rest, text=text)
        case _:
            return _says_of_mine(rest)


def _says_of_me(rest: str, *, lead: str, text: str) -> bool:
    """`rest`: what follows "I", contractions written out."""
    framed = f"{lead} {rest}"
    timed, named = _has("times", framed), _PROPER.search(text[2:]) is not None
    rest = _skip_adverbs(rest)
    if not rest or _points(rest):
        return False
    first, _, after = rest.partition(" ")
    after = _skip_adverbs(after)
    if intends := _begins("intends", rest):
        return _says_what_i_will(rest[intends:].strip(), rest[:intends], timed=timed)
    if first == "am":
        return not _has("being_now", after) and (_has("being", after) or _has("lasting_getting", after))
    if first == "was":
        is_state = re.match(r"(?:an?|the|in|at|on|married|living|working|studying)\b", after)
        return bool(_begins("events", rest) or (timed and is_state))
    if first == "have":
        return _says_what_i_have(after, timed=timed, named=named)
    if first == "can":
        return bool(_begins("abilities", after)) and _has_object(after, fewest=1)
    if rest.startswith(("used to ", "would rather ")):
        return len(rest.split()) > 3
    if _begins("events", rest):
        return _has_object(rest)
    if _begins("verbs_of_the_moment", rest):
        return bool(_begins("recurring", first)) and _has("habits", framed) and len(after.split()) > 1
    if _begins("liking", rest):
        return bool(after) and not _has("praise", after) and not first.endswith("d")
    if _is_past(first):
        return _has_object(rest) and (timed or named)
    return len(first) > 1 and first.isascii() and _has_object(rest, fewest=1)


def _says_what_i_will(plan: str, intends: str, *, timed: bool) -> bool:
    soon = bool(_begins("soon", intends))
    known = bool(_begins("plans", plan)) and (timed or not soon)
    return _has_object(plan) and (known or (timed and not intends.startswith("want")))


def _says_what_i_have(rest: str, *, timed: bool, named: bool) -> bool:
    if rest.startswith("been "):
        doing = _skip_adverbs(rest[5:])
        if _begins("momentary_doing", doing):
            return False
        long = timed or named or " since " in rest
        return doing.startswith("to ") or (len(doing.split()) > 1 and (_has("being", doing) or long))
    if _has("having_now", rest):
        return timed and rest.startswith(("to ", "got to ")) and len(rest.split()) > 2
    first = rest.partition(" ")[0]
    lived = first in ("lived", "worked", "known", "decided")
    if first not in ("got", "had") and _begins("verbs_of_the_moment", rest) and not lived:
        return False
    if first in ("got", "had") or not (_is_past(first) or _begins("participles", first)):
        return True
    return (bool(_begins("events", rest)) or timed or named or lived) and _has_object(rest)


def _says_of_us(rest: str, *, text: str) -> bool:
    if intends := _begins("intends", rest):
        dated = _has("times", rest) or _PROPER.search(text[2:]) is not None
        return dated and _has_object(rest[intends:]) and not _points(rest)
    rest = _skip_adverbs(rest)
    if _points(rest) or not _begins("we_do", rest) or not _has_object(rest):
        return False
    if rest.startswith("are "):
        return _has("being", rest[4:]) or _has("lasting_getting", rest[4:])
    lasts = _has("times", rest) or _has("habits", rest) or rest.startswith(("have ", "live ", "own ", "share "))
    return lasts or (bool(_begins("events", rest)) and not _begins("we_now", rest))


def _says_of_mine(rest: str) -> bool:
    """`rest`: what follows "my"."""
    found = load_rules("english")["mine"].match(rest)
    if found is None or _begins("no_matter", rest) or _has("moods", found["said"]):
        return False
    is_person = _has("relatives", found["noun"])
    return not _points(rest) and (is_person or not _begins("verbs_of_the_moment", found["said"]))


def _has(rule: str, text: str) -> bool:
    return load_rules("english")[rule].search(text) is not None


def _begins(rule: str, text: str) -> int:
    """Where the rule's match at the beginning of the text ends; 0 where there is none."""
    found = load_rules("english")[rule].match(text)
    return found.end() if found else 0


def _points(rest: str) -> bool:
    """Whether the first clause needs what was said before to be understood."""
    clause = _first_clause(rest)
    if _has("relatives", clause):
        clause = load_rules("english")["persons"].sub("", clause)  # "my sister lost her job"
    return _has("pointing", clause)


def _has_object(rest: str, *, fewest: int = 2) -> bool:
    """Whether a verb is followed by enough to say what of."""
    return len(_first_clause(rest).split()) > fewest or len(rest.split()) > fewest + 3


def _is_past(verb: str) -> bool:
    return verb.endswith("ed") or load_rules("english")["past_irregular"].fullmatch(verb) is not None


def _skip_adverbs(rest: str) -> str:
    return rest[_begins("adverb_run", rest) :]


def _first_clause(plain: str) -> str:
    return _CLAUSE_END.split(plain, maxsplit=1)[0]


@cache
def _subject() -> re.Pattern[str]:
    return re.compile(_SUBJECT.format(lead=load_rules("english")["lead"].pattern))
