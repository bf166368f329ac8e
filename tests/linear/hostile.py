"""Texts that take a pattern long: generic ones, and such as its own repetitions ask for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from re import _constants as sre
from re import _parser as parser
from typing import Any

# As long as a message may be (C1).
LENGTH = 32_000

UNITS = (
    *"1aA中我和 \n\t,.。，-_'\"“「([{《`>*#:!?\\/@&%\u3000\u200béİﬃ😀一不好嗯说”（",
    *("a ", "1 ", "1,", "1.", "ab1 ", "a@", "a.", "a-", "a'", "a’", "A. ", "A ", "a: ", "中 ", "中a", "中1", "中，"),
    *("\n\n", "\r\n", " \n", "\n ", "> ", "```", "“a", "[a](", '{"a":', "[[", "<a ", "</", "http://", "http://a.b/ "),
    *("ok ", "no, ", "i ", "my ", "you ", "not ", "and ", "the ", "in ", "of ", "at ", "see ", "the of "),
    *("last ", "1 day "),
    *("十月", "12月3日", "第一条", "《法》", "Article 1 ", "§ 1 ", "Art. 6(1) ", "A v. "),
    *("remember ", ", remember ", "记住", "，记住", "忘了", "问：", "翻译"),
)


def list_generic(length: int = LENGTH) -> list[str]:
    """Return texts of one thing again and again, and of it after a beginning and before an end of another kind."""
    return [repeat(unit, length) for unit in UNITS]


def repeat(unit: str, length: int = LENGTH) -> str:
    """Return `unit` so often that it has `length` characters."""
    return (unit * (length // len(unit) + 1))[:length]


PROBES = "a1A_ \n\t中我一和,.。，-'’\"“”:!?()[]{}《》>*#`@/+&\x01"


def list_pumped(pattern: re.Pattern[str], length: int = LENGTH) -> Iterator[str]:
    """Yield for each repetition in a pattern what leads to it, then what it repeats, then an end that does not fit.

    That is what makes a repetition that is not bounded, or another one beside it, try all ways to share the text.
    """
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    seen: set[tuple[str, str]] = set()
    for before, body in _repetitions(tree, pattern.flags, ""):
        bodies = {_example(body, pattern.flags)}
        if len(body) == 1:
            bodies |= {probe for probe in PROBES if _accepts(body, probe, pattern.flags)}
        for unit in bodies:
            if unit and (before, unit) not in seen:
                seen.add((before, unit))
                yield before + repeat(unit, length - len(before)) + "\x01"


def _repetitions(tree: Any, flags: int, before: str) -> Iterator[tuple[str, Any]]:
    for op, argument in tree:
        match op:
            case sre.MAX_REPEAT | sre.MIN_REPEAT | sre.POSSESSIVE_REPEAT:
                low, high, body = argument
                if high > 8:
                    yield before, body
                yield from _repetitions(body, flags, before)
                before += _example(body, flags) * max(low, 1 if high > 8 else 0)
                continue
            case sre.SUBPATTERN:
                yield from _repetitions(argument[3], flags, before)
            case sre.ATOMIC_GROUP:
                yield from _repetitions(argument, flags, before)
            case sre.BRANCH:
                for branch in argument[1]:
                    yield from _repetitions(branch, flags, before)
            case sre.ASSERT | sre.ASSERT_NOT:
                yield from _repetitions(argument[1], flags, before)
                continue
        before += _example([(op, argument)], flags)


def _example(tree: Any, flags: int) -> str:
    """A short text that the tree matches, as far as that can be told without lookarounds."""
    text = ""
    for op, argument in tree:
        match op:
            case sre.LITERAL:
                text += chr(argument)
            case sre.NOT_LITERAL | sre.ANY | sre.IN | sre.CATEGORY:
                text += next((probe for probe in PROBES if _accepts([(op, argument)], probe, flags)), _first(argument))
            case sre.MAX_REPEAT | sre.MIN_REPEAT | sre.POSSESSIVE_REPEAT:
                text += _example(argument[2], flags) * argument[0]
            case sre.SUBPATTERN:
                text += _example(argument[3], flags)
            case sre.ATOMIC_GROUP:
                text += _example(argument, flags)
            case sre.BRANCH:
                text += min((_example(branch, flags) for branch in argument[1]), key=len)
    return text


def _first(argument: Any) -> str:
    """A character of a set that has none of the probes."""
    for op, value in argument if isinstance(argument, list) else []:
        if op == sre.LITERAL:
            return chr(value)
        if op == sre.RANGE:
            return chr(value[0])
    return "a"


def _accepts(tree: Any, probe: str, flags: int) -> bool:
    op, argument = tree[0]
    match op:
        case sre.LITERAL:
            return chr(argument) == probe
        case sre.NOT_LITERAL:
            return chr(argument) != probe
        case sre.ANY:
            return probe != "\n" or bool(flags & re.DOTALL)
        case sre.IN:
            negated = argument[0][0] == sre.NEGATE
            return any(_is_in(item, probe) for item in argument[negated:]) != negated
        case sre.SUBPATTERN if len(argument[3]) == 1:
            return _accepts(argument[3], probe, flags)
        case sre.BRANCH:
            return any(len(branch) == 1 and _accepts(branch, probe, flags) for branch in argument[1])
    return False


_CATEGORIES = {
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
}


def _is_in(item: Any, probe: str) -> bool:
    op, value = item
    match op:
        case sre.LITERAL:
            return chr(value) == probe
        case sre.RANGE:
            return bool(value[0] <= ord(probe) <= value[1])
        case sre.CATEGORY:
            return re.fullmatch(_CATEGORIES[value], probe) is not None
    return False
