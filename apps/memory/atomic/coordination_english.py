"""Things an English clause names side by side: one clause for each of them. Pure.

"The user has a house in Bath and a flat in Hull" is two: what follows "and" tells by its first word and its
prepositions where what it stands beside begins. Where that is in doubt the clause stays whole.
"""

from __future__ import annotations

import re

from apps.memory.atomic.conjuncts_english import read_joined
from apps.memory.atomic.words_english import (
    AUXILIARIES,
    LEANING,
    MOST_WORDS,
    NUMBERS,
    PREPOSITIONS,
    class_of,
    find_verb,
    is_plural,
    is_verb,
    may_be_verb,
    to_singular,
    with_article,
)

_MOST_ITEMS = 8
_WHOLE = re.compile(
    r"n't\b|\b(?:no|never|not|used to|married|between|together|each other|one another|mix|combin\w+|either|neither|nor|"
    r"and (?:so on|more|stuff|everything|such|forth|back|then|the like|all)|rock and roll|mac and cheese|"
    r"fish and chips|sweet and sour|bed and breakfast|black and white|research and|arts and|trial and|"
    r"odds and|ups and|back and|salt and|peanut butter and|gin and|"
    r"up and|now and|friends and family|hundred and|thousand and|"
    r"(\w+) and \1)\b"
)
"""Things that are one, or of which one says nothing without the other."""
_BARE_HEAD = re.compile(
    r"\b(?:favou?rites?|preferred|hobbies|interests|passions|pastimes|loves|go-to)\b", re.IGNORECASE
)
"""Heads of which adjectives are no parts: "the user's parents are old and frail" stays whole."""
_ONE = re.compile(r"^, one (?=(?:called|named|at|for|from|in|of|on|with)\b)")
_LIST = re.compile(r"(?:,? and |, | plus | as well as | & )(?:also )?")
_PREDICATE = re.compile(
    r"(?P<head>(?:the|my) (?:user's )?[^,:]{2,60}?) (?P<verb>are(?: (?:called|named))?) (?P<items>[^:]+)", re.IGNORECASE
)
_SUBJECTS = re.compile(r"(?P<items>[^:]+?) are (?P<head>(?:the user's|the) [^,:]+)(?P<rest>,.*)?", re.IGNORECASE)
_COUNTED = re.compile(
    rf"(?P<before>(?:.{{0,80}}? )?)(?P<number>{'|'.join(NUMBERS)}) "
    r"(?P<head>[^,:;]{2,70}?)(?P<mark>[,:]) (?P<items>.+)",
    re.IGNORECASE,
)
_HEADED = re.compile(r"(?P<head>[^,:;.\d]{3,60}): (?P<items>.+)")
_WHEN = re.compile(
    r"(?P<when>(?:on|in|at|for) [^,]{2,25}?),? (?P<said>the user [a-z]+) (?P<what>[^,]+?),? (?:and )?"
    r"(?P<other>(?:on|in|at|for) [\w'-]+) (?P<rest>(?!and\b)[^,]+)",
    re.IGNORECASE,
)
_GAP = re.compile(
    r"(?P<who>(?:the user's |the |[A-Z])[\w'-]*(?: [\w'-]+){0,2}?) (?P<what>(?:[\d£$€]|in |at |on |from ).*)"
)


def split(clause: str) -> list[str]:
    """The clauses that `clause` says, one for each thing it names side by side; itself where it is in doubt."""
    if _WHOLE.search(clause) or len(clause) > 300:
        return [clause]
    for read in (_read_predicate, _read_subjects, _read_counted, _read_headed, _read_when, _read_gap, read_joined):
        if facts := read(clause):
            return facts if len(facts) <= _MOST_ITEMS else [clause]
    return [clause]


def _list_items(text: str) -> list[str]:
    """The things of an enumeration; none where one of them leans on another, or is too long to be one."""
    items = [item.strip().removeprefix("both ") for item in _LIST.split(text)]
    if len(items) < 2 or not all(items) or any(len(item.split()) > MOST_WORDS for item in items):
        return []
    return [] if any(LEANING.search(item) for item in items) else items


def _read_predicate(clause: str) -> list[str]:
    """ "The user's bands are Muse and Air" → "One of the user's bands is Muse" …"""
    found = _PREDICATE.fullmatch(clause)
    if found is None or not is_plural(found["head"]) or not (items := _list_items(found["items"])):
        return []
    named = all(item[0].isupper() or item[0].isdigit() or class_of(item.split()) != "bare" for item in items)
    if not named and not _BARE_HEAD.search(found["head"]):
        return []
    if any(item.split()[0].lower() in PREPOSITIONS for item in items):
        return []
    head = _drop_number(found["head"])
    return [f"One of {_lower_first(head)} {found['verb'].replace('are', 'is', 1)} {item}" for item in items]


def _read_subjects(clause: str) -> list[str]:
    """ "Tom and Jerry are the user's rats" → "Tom is one of the user's rats" …"""
    found = _SUBJECTS.fullmatch(clause)
    if found is None or not is_plural(found["head"]) or not (items := _list_items(found["items"])):
        return []
    if find_verb(found["items"]) is not None:
        return []
    return [f"{item} is one of {_drop_number(found['head'])}{found['rest'] or ''}" for item in items]


def _read_counted(clause: str) -> list[str]:
    """ "The user has two cats, Tom and Mia" → "The user has a cat, Tom" …"""
    found = _COUNTED.fullmatch(clause)
    if found is None or not (items := _list_items(found["items"])):
        return []
    if all(item.split()[0] in ("a", "an") and item.split()[-1].islower() for item in items):
        return [clause] if len(items) == NUMBERS[found["number"].lower()] else []
    if len(items) != NUMBERS[found["number"].lower()] or any(find_verb(item) is not None for item in items):
        return [clause]
    counted = f"{found['number']} {found['head']}"
    single = to_singular(found["head"])
    as_subject = not found["before"].strip() and found["mark"] == ","
    said = any(may_be_verb(word) or word in AUXILIARIES for word in found["head"].split()[1:])
    if single is None or (as_subject and said) or any(_says(item) for item in items):
        parts = [item if _says(item) else f"one of them {item.removeprefix('one ')}" for item in items]
        return [f"{found['before']}{counted}, {part}" for part in parts]
    before = re.sub(r"\b([Tt])here are $", r"\1here is ", found["before"])
    single = with_article(single.removesuffix(" at once"))
    return [before + single + _ONE.sub(" ", f"{found['mark']} {item}") for item in items]


def _says(item: str) -> bool:
    """Whether a part has a verb: "one is black"."""
    return any(word in AUXILIARIES for word in item.split())


def _read_headed(clause: str) -> list[str]:
    """ "Shoe sizes: Ava 31, Ben 33" → "Shoe sizes: Ava 31" …"""
    found = _HEADED.fullmatch(clause)
    if found is None or find_verb(found["head"]) is not None or not (items := _list_items(found["items"])):
        return []
    if not is_plural(found["head"]) and not all(item[0].isdigit() for item in items):
        return []
    return [] if any(find_verb(item) is not None for item in items) else [f"{found['head']}: {item}" for item in items]


def _read_when(clause: str) -> list[str]:
    """ "On Mondays the user has choir, on Fridays pottery": the second without a verb of its own."""
    found = _WHEN.fullmatch(clause)
    if found is None or found["when"].split()[0].lower() != found["other"].split()[0].lower():
        return []
    if any(is_verb(word) or word in AUXILIARIES or word == "the" for word in found["rest"].split()[1:]):
        return []
    return [f"{found['when']} {found['said']} {found['what']}", f"{found['other']} {found['said']} {found['rest']}"]


def _read_gap(clause: str) -> list[str]:
    """ "The rent is 900, the loan 115": the second without a verb of its own."""
    if clause.lower().startswith("the user "):
        return []
    joint = max(_LIST.finditer(clause), key=lambda found: found.start(), default=None)
    at = find_verb(clause)
    if joint is None or at is None:
        return []
    words = clause.split()
    gap = _GAP.fullmatch(clause[joint.end() :])
    left = clause[: joint.start()]
    behind = left.split()[at + 1 :]
    if gap is None or not behind or words[at].endswith("'s") or _LIST.search(left):
        return []
    if find_verb(gap.group()) is not None or class_of(words) != class_of(gap["who"].split()):
        return []
    if any(word in AUXILIARIES for word in gap.group().split()):
        return []
    verb = words[at]
    if behind[0] in PREPOSITIONS and gap["what"].split()[0] != behind[0]:
        return []
    what = gap["what"]
    if what.isascii() and re.fullmatch(r"[\d.,]+", what) and behind[0][:1].isdigit() and len(behind) > 1:
        what = " ".join((what, *behind[1:])) if verb in ("has", "have") else what
    return [left, f"{gap['who']} {verb} {what}"]


def _drop_number(head: str) -> str:
    return " ".join(word for word in head.split() if word not in NUMBERS)


def _lower_first(text: str) -> str:
    return f"{text[0].lower()}{text[1:]}" if text.startswith(("The ", "My ")) else text
