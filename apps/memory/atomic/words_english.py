"""English words by what they do in a sentence: which begin a thing, which is the verb of the subject. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from apps.core.llm.offline.third_person_english import is_third_person


def _read_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PREPOSITIONS = _read_words("about as at behind by for from in into near of off on over to under with without")
PERIODS = _read_words("day night week weekend fortnight month year time lot bit couple few little")
"""What "a" stands before without naming a thing: "once a week"."""
INDEFINITE = _read_words("a an another some one")
OWNING = _read_words("her his their its")
AUXILIARIES = _read_words(
    "is are was were has have had can can't cannot will won't would could does do did doesn't don't isn't aren't "
    "hasn't haven't went left got gets used took bought adopted owed dated booked ordered signed kept wore"
)
ADVERBS = _read_words("also really still now currently mostly just usually always often never both only")
ENDS_SUBJECT = _read_words("that which who whose called named when where because if than")
NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "both": 2, "twin": 2}
_PLURALS = {"kids": "kid", "wives": "wife", "mice": "mouse", "people": "person", "men": "man"}
_PLURALS |= {"women": "woman", "knives": "knife", "wolves": "wolf", "feet": "foot", "teeth": "tooth", "lives": "life"}
_IN_IE = re.compile(r"(?:budg|mov|cook|hood|self|brown|smooth|food|hipp|husk|coll|auss|yorkie|rook|pix|zomb)ies$")
_NO_PLURAL = re.compile(r"(?:ss|us|is|'s)$")
LEANING = re.compile(r"\b(?:it|its|they|them|their|he|him|his|she|her|ones|too|even|not|no longer)\b")
"""Words by which one of the things leans on another, or is said otherwise than it."""
MOST_WORDS = 9
"""Words of one thing."""


def find_verb(text: str) -> int | None:
    """The number of the word that is the verb of the subject a text begins with; None where it begins otherwise."""
    words = text.split()
    first = _skip_opening(words)
    if first + 1 >= len(words):
        return None
    rest = [word.strip(",") for word in words[first:]]
    lower = [word.lower() for word in rest]
    if lower[:2] == ["the", "user"]:
        at = next((n for n in range(2, min(5, len(rest))) if rest[n] not in ADVERBS), 2)
        return first + at if at < len(rest) and lower[at] not in (*PREPOSITIONS, "and", "or") else None
    named = rest[0][0].isupper() or lower[0] in ("the", "a", "an", *OWNING)
    if not named or lower[0] in PREPOSITIONS:
        return None
    noun = 2 if lower[:2] == ["the", "user's"] else int(lower[0] in ("the", "a", "an", *OWNING))
    for n in range(noun, min(9, len(rest) - 1)):
        if lower[n] in ENDS_SUBJECT or lower[n] in ("and", "or"):
            return None
        if rest[n].endswith("'s") and _follows_contraction(lower[n + 1]):
            return first + n
        if n > noun and (lower[n] in AUXILIARIES or (n <= noun + 2 and _says_of(rest, n, noun=noun))):
            return first + n
        if words[first + n].endswith(","):
            return None
    return None


def _says_of(words: list[str], n: int, *, noun: int) -> bool:
    """Whether a word is the verb of a single subject: a common one, or one right behind the noun with a preposition."""
    if words[n - 1] in PREPOSITIONS or not words[n].islower():
        return False
    if words[n - 1].endswith("s") and may_be_verb(words[n]) and n + 1 < len(words):
        return True
    return is_verb(words[n]) or (n == noun + 1 and words[n].endswith("s") and words[n + 1] in PREPOSITIONS)


def is_verb(word: str) -> bool:
    """Whether a word is a verb of "the user" in the present: "lives"."""
    return word.isalpha() and word.islower() and is_third_person(word)


def _follows_contraction(word: str) -> bool:
    return word in PREPOSITIONS or word in ("a", "an", "the", "not") or word.endswith("ing") or word[0].isdigit()


def _skip_opening(words: Sequence[str]) -> int:
    """Where the subject begins: behind "On Mondays", "for cholesterol"."""
    if words and words[0].lower() in PREPOSITIONS:
        for n in range(2, min(5, len(words) - 1)):
            if words[n].lower() == "the" and words[n + 1] == "user":
                return n
    return 0


def may_be_verb(word: str) -> bool:
    """Whether a word is a verb in its bare form or in the third person: "keep", "keeps"."""
    return is_verb(word) or (word.isalpha() and word.islower() and is_third_person(_add_s(word)))


def class_of(words: Sequence[str]) -> str:
    """What sort of thing begins: the preposition, "an", "the", "name", "number" or "bare"."""
    if words[0] == "a" and words[2:3] == ["of"] and words[3:] and words[1] in PERIODS:
        return class_of(words[3:])
    first = words[0].strip(",")
    if first in PREPOSITIONS:
        return first
    if first in INDEFINITE or (first in NUMBERS and first != "both"):
        return "an"
    if first in ("the", "The") or first in OWNING:
        return "owned" if words[1:2] == ["user's"] else "the"
    if first[0].isdigit() or first[0] in "£$€":
        return "number"
    return "name" if first[0].isupper() else "bare"


def list_prepositions(words: Sequence[str]) -> list[str]:
    """The prepositions of a thing, but for one it begins with, and the "of" of "a bit of"."""
    begin = 3 if words[2:3] == ["of"] and words[1] in PERIODS else 1
    return [word for word in words[begin:] if word in PREPOSITIONS]


def is_plural(head: str) -> bool:
    """Whether a head names several: one of its words up to the first preposition is in the plural."""
    return to_singular(head) is not None


def to_singular(head: str) -> str | None:
    """A head with its noun in the singular: "phones on contract" → "phone on contract"; None where it has none."""
    words = head.split()
    for n, word in enumerate(words):
        if n and word in PREPOSITIONS:
            return None
        if word.endswith("children"):
            return " ".join((*words[:n], word[:-3], *words[n + 1 :]))
        if word in _PLURALS:
            return " ".join((*words[:n], _PLURALS[word], *words[n + 1 :]))
        if len(word) > 3 and word.endswith("s") and word.islower() and not _NO_PLURAL.search(word):
            if word.endswith("ies") and not _IN_IE.search(word):
                single = f"{word[:-3]}y"
            else:
                single = word[:-2] if word.endswith(("sses", "shes", "ches", "xes", "uses")) else word[:-1]
            return " ".join((*words[:n], single, *words[n + 1 :]))
    return None


def with_article(text: str) -> str:
    """`text` behind "a" or "an"."""
    return f"{'an' if text[0] in 'aeiou' else 'a'} {text}"


def _add_s(word: str) -> str:
    if word.endswith(("s", "x", "sh", "ch", "o")):
        return f"{word}es"
    return f"{word[:-1]}ies" if re.search(r"[^aeiou]y$", word) else f"{word}s"
