"""Find secrets that nothing names right before them, by their look and by words near to them that speak of one (D4).

"AK 7khmRFio9DCUQ0… SK rLUAvoke0oDG…", a session's cookie in a copied command, a password behind "现在是". What looks
random alone is a commit, an order or a picture as often as a key: so a word has to stand near. Pure.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from functools import cache

from apps.core.text.secret_forms import Found, ReadText, SecretKind, is_placeholder, load_patterns
from apps.core.text.secret_names import any_name, list_no_values

# How far before and behind a value a word may stand.
_BEFORE, _BEHIND = 80, 24

_RUN = re.compile(r"(?<![\w./+=~%-])[\w./+=~%|-]{14,600}(?![\w+=~%-])", re.ASCII)
_HASH = re.compile(r"(?:0x)?[0-9a-f]{7,128}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_WORDS_IN_RUN = re.compile(r"[A-Z]?[a-z]{4,}")
_CHANGE = re.compile(r"(?<=[a-z])[A-Z0-9]|(?<=[A-Z])[0-9]|(?<=[0-9])[A-Za-z]")
# Keys in groups: EA7E-944405, TQUL-AM67-9RXL, 7FFED759 334E65EB.
_GROUPS = re.compile(r"(?<![\w-])[A-Z0-9]{4,10}(?:[- ][A-Z0-9]{4,10}){1,8}(?![\w-])", re.ASCII)
_HEX_KEY = re.compile(r"(?<!\w)(?:0x)?[0-9a-f]{64}(?!\w)")
# A letter, a digit and a mark in one word: Tz9!mountVernon.
_CHOSEN = re.compile(
    r"(?<![\w!-/:-@])(?=[!-~]{0,40}[a-zA-Z])(?=[!-~]{0,40}\d)(?=\w{0,40}[!@#$%^&*?])[\w!@#$%^&*?.+-]{6,40}"
)
_OWN_NUMBER = re.compile(
    r"(?<![\w-])(?<!\d[.,])(?:[A-Z]{0,2}\d(?:[ -]?\d){6,14}[A-Z]?|[A-Z]{2}\d{6}[A-Z])(?![\w-]|[.,]\d)", re.ASCII
)
_CODE = re.compile(
    r"(?<![\w-])(?:\d{4,5}[ -]\d{4,5}|\d{8}|(?=[a-z-]{0,12}\d)[a-z0-9]{4,6}-[a-z0-9]{4,6})(?![\w-])", re.ASCII
)
_QUARTETS = re.compile(r"(?<![\w-])(?:[a-z2-7]{4}[ -]){3,15}[a-z2-7]{4}(?![\w-])", re.ASCII)
_SOCIAL_NUMBER = re.compile(r"(?<![\w-])\d{3}[ -]\d\d[ -]\d{4}(?![\w-])", re.ASCII)
# "…, its Rosebud1957", "也就是302qingshe"
_TOLD = re.compile(
    r"(?:(?<![a-z])(?:is|its|it's|was)\s|是\s?)((?=[a-zA-Z]{0,40}\d)(?=\d{0,40}[a-zA-Z])[\w!@#$%^&*-]{7,40})(?![\w-])",
    re.ASCII,
)
_WORD = re.compile(r"[a-z]{3,8}(?![a-z])")
_BETWEEN_WORDS = re.compile(r"[\s,，、]{1,3}(?:\d{1,2}[.):、]?\s{0,2})?")
_PHRASE_WORDS = 12


@cache
def _compile(name: str) -> re.Pattern[str]:
    return re.compile("|".join(load_patterns()["near"][name]))


class _Mentions:
    """Where words of a list stand in a text."""

    def __init__(self, words: re.Pattern[str], text: ReadText) -> None:
        self._spans = [found.span() for found in words.finditer(text.lowered)]

    def __bool__(self) -> bool:
        return bool(self._spans)

    def are_near(self, start: int, end: int, *, before: int = _BEFORE, behind: int = _BEHIND) -> bool:
        """Whether one of the words stands at most `before` characters before a value, or `behind` behind it."""
        for at in range(bisect_left(self._spans, (start - before, 0)), len(self._spans)):
            begun, ended = self._spans[at]
            if begun >= end + behind:
                break
            if ended <= start or begun >= end:
                return True
        return False


def looks_random(value: str) -> bool:
    """Whether a word is no word, path, name or hash: letters and digits by turns, hardly anything to pronounce."""
    if _HASH.fullmatch(value) or is_placeholder(value.lower()):
        return False
    if not re.search(r"\d", value) or not re.search(r"[A-Za-z]", value):
        return False
    pronounced = sum(len(word[0]) for word in _WORDS_IN_RUN.finditer(value))
    return len(_CHANGE.findall(value)) * 6 >= len(value) and pronounced * 3 <= len(value)


def _find_keys(text: ReadText) -> Found:
    spoken, exported = _Mentions(_compile("key"), text), _Mentions(_compile("hex"), text)
    for found in _RUN.finditer(text.plain) if spoken else ():
        start, value = found.start(), found[0].rstrip(".-|")
        if "=" in value.rstrip("="):  # name=value
            start += value.index("=") + 1
            value = found[0][start - found.start() :].rstrip(".-|")
        if len(value) >= 14 and looks_random(value) and spoken.are_near(start, start + len(value)):
            yield start, start + len(value), SecretKind.TOKEN
    for found in _HEX_KEY.finditer(text.lowered) if exported else ():
        if exported.are_near(*found.span()):
            yield *found.span(), SecretKind.PRIVATE_KEY
    for found in _QUARTETS.finditer(text.lowered) if spoken else ():
        if sum(map(str.isdigit, found[0])) >= 2 and spoken.are_near(*found.span()):
            yield *found.span(), SecretKind.TOKEN


def _find_groups(text: ReadText) -> Found:
    spoken = _Mentions(_compile("groups"), text)
    for found in _GROUPS.finditer(text.plain) if spoken else ():
        digits = sum(map(str.isdigit, found[0]))
        if len(found[0]) >= 12 and 2 <= digits < len(found[0]) - 4 and spoken.are_near(*found.span()):
            yield *found.span(), SecretKind.API_KEY


def _find_passwords(text: ReadText) -> Found:
    no_values = list_no_values()
    for name, pattern in (("login", _CHOSEN), ("password", _TOLD)):
        spoken = _Mentions(_compile(name), text)
        for found in pattern.finditer(text.plain) if spoken else ():
            start = found.start(found.lastindex or 0)
            value = text.plain[start : found.end()].rstrip(".?")
            marks = sum(not character.isalnum() for character in value)
            if marks * 3 > len(value) or is_placeholder(value.lower()) or value.lower() in no_values:
                continue
            if spoken.are_near(start, start + len(value), before=60, behind=0):
                yield start, start + len(value), SecretKind.PASSWORD


def _find_numbers(text: ReadText) -> Found:
    for words, pattern, kind, before in (
        (_compile("account"), _OWN_NUMBER, SecretKind.BANK_ACCOUNT, 32),
        (_compile_identity(), _OWN_NUMBER, SecretKind.IDENTITY, 32),
        (_compile("social"), _SOCIAL_NUMBER, SecretKind.IDENTITY, 24),
        (_compile("codes"), _CODE, SecretKind.CODE, 160),
    ):
        spoken = _Mentions(words, text)
        for found in pattern.finditer(text.plain) if spoken else ():
            if spoken.are_near(*found.span(), before=before, behind=0):
                yield *found.span(), kind


@cache
def _compile_identity() -> re.Pattern[str]:
    return re.compile(any_name("identity"))


def _find_phrases(text: ReadText) -> Found:
    """Rows of at least twelve words without one that sentences are made with: the words of a wallet."""
    spoken = _Mentions(_compile("words"), text)
    if not spoken:
        return
    common, row = _list_common(), list[tuple[int, int]]()
    for found in [*_WORD.finditer(text.lowered), None]:
        belongs = found is not None and found[0] not in common
        if found and belongs and (not row or _BETWEEN_WORDS.fullmatch(text.lowered, row[-1][1], found.start())):
            row.append(found.span())
            continue
        if len(row) >= _PHRASE_WORDS and spoken.are_near(row[0][0], row[-1][1], before=120, behind=120):
            yield row[0][0], row[-1][1], SecretKind.RECOVERY_PHRASE
        row = [found.span()] if found and belongs else []


@cache
def _list_common() -> frozenset[str]:
    return frozenset(load_patterns()["near"]["no_phrase"].split())


FIND_BY_SHAPE: tuple[Callable[[ReadText], Found], ...] = (
    _find_keys,
    _find_groups,
    _find_passwords,
    _find_numbers,
    _find_phrases,
)
