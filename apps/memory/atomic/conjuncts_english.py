"""Things named side by side behind an English verb: the words around them, repeated with each. Pure."""

from __future__ import annotations

import re

from apps.memory.atomic.words_english import (
    ADVERBS,
    AUXILIARIES,
    LEANING,
    MOST_WORDS,
    PERIODS,
    PREPOSITIONS,
    class_of,
    find_verb,
    is_verb,
    list_prepositions,
    may_be_verb,
    with_article,
)

_JOINT = re.compile(r",? (?:and|plus|as well as|&)(?: also| then)? |, (?:also|then) ")
_PUT_IN = re.compile(r" and,? (?P<put>(?:in|for|on|at) [^,]{2,30}), (?P<item>[^,]+)$")
_OF_ALL = frozenset({"at", "every", "in", "on", "this"})
"""What begins words at the end of an enumeration that go for all of it: "WhatsApp and Signal on the phone"."""


def read_joined(clause: str) -> list[str]:
    """What stands beside each other behind the verb, with the words around it repeated."""
    put_in = _PUT_IN.search(clause)
    clause = _PUT_IN.sub(r" and \g<item> \g<put>", clause)
    joint = max(_JOINT.finditer(clause), key=lambda found: found.start(), default=None)
    if joint is None:
        joint = max(re.finditer(r", (?=the user's )", clause), key=lambda found: found.start(), default=None)
    if joint is None:
        return []
    left, right = clause[: joint.start()].split(), clause[joint.end() :].split()
    if not right or len(right) > MOST_WORDS or LEANING.search(" ".join(right)):
        return []
    bare_verb = may_be_verb(right[0])
    verb = find_verb(clause)
    if bare_verb and verb is not None and left[verb:][:1] in (["have"], ["are"], ["do"]):
        return [" ".join(left), " ".join((*left[:verb], *right))]
    if verb is None and (left[0] == "The" or any(map(may_be_verb, right[1:]))):
        return []
    if (
        ", " in " ".join(right)
        or right[0] in AUXILIARIES
        or (is_verb(right[0]) and len(right) > 1)
        or (right[0].endswith("ed") and len(right) > 1)
    ):
        return []
    behind = 1 if verb is None else verb + 1
    while behind < len(left) and left[behind] in ADVERBS:
        behind += 1
    if behind < len(left) and left[behind] in PREPOSITIONS and right[0] != left[behind]:
        behind += 1
    start = _find_start(left, right, behind=behind)
    if start is None:
        return []
    tail = None if put_in else _find_tail(right)
    shared: list[str] = []
    if tail is not None and not list_prepositions(left[start:]) and right[0] not in PREPOSITIONS:
        right, shared = right[:tail], right[tail:]
    first, *others = [part.split() for part in re.split(r", (?:also )?", " ".join(left[start:]))]
    items = [first, *others, right]
    if not all(items) or any(class_of(item) != class_of(right) for item in others):
        return []
    if any(find_verb(" ".join(item)) is not None for item in items):
        return []
    return _write(frame=left[:start], items=items, shared=shared)


def _find_start(left: list[str], right: list[str], *, behind: int) -> int | None:
    """Where in `left` the first of the things begins that `right` stands beside; None where that is in doubt."""
    wanted, prepositions = class_of(right), list_prepositions(right)
    tail = _find_tail(right)
    perfect: list[int] = []
    tight: list[int] = []
    loose: list[int] = []
    for start in range(behind, len(left)):
        if start != behind and not _may_begin(left, start, wanted=wanted):
            continue
        item = left[start:]
        free = left[start - 1] not in PREPOSITIONS
        own = list_prepositions(item)
        matching = own == prepositions or (not own and tail is not None)
        alike = class_of(item) == wanted
        fitting = alike or (start == behind and wanted != "owned" and wanted not in PREPOSITIONS)
        if matching and free and fitting:
            perfect.append(start)
        elif matching and fitting:
            tight.append(start)
        elif alike and free:
            loose.append(start)
    if perfect:
        return perfect[-1]
    if loose and tight:
        return tight[-1] if left[behind - 1] in ("is", "was", "are") and loose == [behind] else None
    return next(iter((tight or loose)[-1:]), None)


def _may_begin(left: list[str], n: int, *, wanted: str) -> bool:
    """Whether one of the things may begin at a word: not within a name, nor behind a comma."""
    if left[n - 1].endswith(",") or class_of(left[n:]) != wanted:
        return False
    if wanted == "an" and left[n + 1 : n + 2] and left[n + 1] in PERIODS:
        return False
    if wanted == "name":
        return not (left[n - 1][0].isupper() and n > 1)
    if wanted == "bare":
        return left[n - 1] in PREPOSITIONS
    return True


def _find_tail(right: list[str]) -> int | None:
    """Where in the last of the things begins what goes for all of them: "on the user's phone", "this month"."""
    if len(list_prepositions(right)) > 1:
        return None
    return next((n for n, word in enumerate(right) if n and word in _OF_ALL), None)


def _write(*, frame: list[str], items: list[list[str]], shared: list[str]) -> list[str]:
    first, last = items[0], items[-1]
    article = first[0] if first[0] in ("a", "an") else ""
    if article and class_of(last) == "bare":
        if len(first) == 2 and len(last) > 1:
            return []
        if len(last) == 1 and not last[0].endswith("s"):
            items = [first, *items[1:-1], [*with_article(" ".join(last)).split()]]
    if class_of(first) == "owned" and class_of(last) == "bare":
        items = [first, *items[1:-1], ["the", "user's", *last]]
    if last[-1] == "one" and len(last) > 2:
        items = [*items[:-1], [*last[:-1], first[-1]]]
    elif "one" in last and class_of(first) != "an":
        return []
    if len(first) == 1 and len(last) == 2 and last[1].isalpha() and last[1].islower() and _shares_head(first[0], last):
        items = [[*item, last[1]] if len(item) == 1 else item for item in items]
    if class_of(first) == class_of(last) == "number" and len(first) > 2 and first[1] not in PREPOSITIONS:
        items = [*items[:-1], [last[0], first[1], *last[1:]]] if last[1:] and last[1] in PREPOSITIONS else items
    if len(first) == 1 and len(last) == 2 and first[0].islower() and first[0].endswith("y"):
        return []
    opening = [word for word in frame if word != "both"]
    if opening[:2] in (["There", "are"], ["there", "are"]):
        opening[1] = "is"
    told = [[word for word in item if word != "both"] for item in items]
    return [" ".join((*opening, *item, *shared)) for item in told]


def _shares_head(first: str, last: list[str]) -> bool:
    """Whether "Indian and Thai food" is meant, and not "olives and blue cheese"."""
    if first[0].isupper() and last[0][0].isupper():
        return True
    return first.endswith(("ous", "ful", "ish", "ical", "ive", "able")) and last[0].islower()
