"""Merging what is newly known into the text of a section (U3). Pure rules over lines of text: no Django, no clock.

A section that the assistant writes is a list of statements, one per line. A statement that is already present, even in
other words, is not added again. A statement that says something else about the same aspect (short or long replies,
another home) replaces the older one. Aspects are defined in data/aspects.toml.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from apps.core.text.fold import fold, normalize_value
from apps.core.text.keywords import load_stop_words
from apps.core.text.matching import match_words, stem
from apps.core.text.pronouns import NEUTRAL
from apps.core.text.segment import is_cjk

_STATEMENT_END = re.compile(r"\n+|(?<=[。！？!?；;])\s*|(?<=\.)\s+(?=[^\W\d_])")
_BULLET = re.compile(r"^\s*[-*•·]\s+")
_CLAUSE_END = re.compile(r"\s*[,，;；、]\s*|\s+and\s+|并且|而且")
_DENIAL_REACH = 24
"""Characters before a word within which a negation denies it."""


@dataclass(frozen=True, slots=True)
class _Lexicon:
    negation: re.Pattern[str]
    denial: re.Pattern[str]
    others: re.Pattern[str]
    filler: frozenset[str]
    own: Mapping[str, re.Pattern[str]]
    style: Mapping[str, Mapping[str, re.Pattern[str]]]


@cache
def _load_lexicon() -> _Lexicon:
    table = tomllib.loads(files(__package__).joinpath("data/aspects.toml").read_text("utf-8"))
    return _Lexicon(
        negation=re.compile(table["negation"]),
        denial=re.compile(table["denial"]),
        others=re.compile(table["others"]),
        filler=frozenset(stem(word) for word in table["filler"].split()) | load_stop_words() | {NEUTRAL},
        own={aspect: re.compile(pattern) for aspect, pattern in table["own"].items()},
        style={
            aspect: {said: re.compile(pattern) for said, pattern in patterns.items()}
            for aspect, patterns in table["style"].items()
        },
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a statement says: by aspect, and in the words and numbers besides."""

    normal: str
    aspects: Mapping[str, str]
    words: frozenset[str]
    numbers: tuple[str, ...]
    denied: bool

    def is_said_by(self, other: _Reading) -> bool:
        """Whether `other` says all of this."""
        if self.normal == other.normal:
            return True
        if self.numbers != other.numbers:
            return False
        if self.aspects:
            return self.aspects.items() <= other.aspects.items() and self.words <= other.words
        return bool(self.words) and not other.aspects and (self.words, self.denied) == (other.words, other.denied)

    def contradicts(self, other: _Reading) -> bool:
        """Whether only one of the two can hold now."""
        if any(other.aspects.get(aspect, said) != said for aspect, said in self.aspects.items()):
            return True
        if self.aspects or other.aspects or not self.words:
            return False
        return self.words == other.words and (self.numbers, self.denied) != (other.numbers, other.denied)


def split_statements(text: str) -> list[str]:
    """Return the statements of `text`: its lines and sentences, without list marks."""
    parts = (_BULLET.sub("", part).strip() for part in _STATEMENT_END.split(text))
    return [part for part in parts if part]


def is_said(statement: str, *, by: Iterable[str]) -> bool:
    """Whether one of the statements `by` says it already, in these or other words."""
    reading = _read(statement)
    return any(reading.is_said_by(_read(other)) for other in by)


def merge_statement(text: str, statement: str, *, replaces: bool = True) -> str:
    """Return a section's text with `statement` in it, unchanged where it says so already.

    What contradicts it goes; with `replaces` false (the statement is the older one) the statement is left out instead.
    """
    new = _read(statement)
    lines = text.splitlines()
    readings = [_read(line) for line in lines]
    if any(new.is_said_by(reading) for reading in readings):
        return text
    if not replaces and any(new.contradicts(reading) for reading in readings):
        return text
    kept = [
        line if not new.contradicts(reading) else _without_contradiction(line, new)
        for line, reading in zip(lines, readings, strict=True)
        if not reading.is_said_by(new)
    ]
    return "\n".join([*filter(None, kept), statement])


def drop_oldest(text: str, *, limit: int) -> str:
    """Return the last lines of a section's text that have at most `limit` characters together."""
    lines = text.splitlines()
    while len("\n".join(lines)) > limit:
        del lines[0]
    return "\n".join(lines)


def _without_contradiction(line: str, new: _Reading) -> str:
    """`line` without those of its clauses that contradict `new`; empty when nothing is left."""
    clauses = [clause for clause in _CLAUSE_END.split(line) if clause]
    kept = [clause for clause in clauses if not new.contradicts(_read(clause))]
    if len(kept) == len(clauses):  # only all of it together contradicts
        return ""
    return ("，" if any(map(is_cjk, line)) else ", ").join(kept)


def _read(statement: str) -> _Reading:
    lexicon = _load_lexicon()
    text = " ".join(fold(statement).split())
    aspects: dict[str, str] = {}
    spans: list[tuple[int, int]] = []
    for aspect, patterns in lexicon.style.items():
        found = [(said, match) for said, pattern in patterns.items() if (match := pattern.search(text))]
        if found:
            aspects[aspect] = " ".join(sorted(_name(said, _is_denied(text, match)) for said, match in found))
            spans += [match.span() for _said, match in found]
    if not lexicon.others.search(text):
        for aspect, pattern in lexicon.own.items():
            if match := pattern.search(text):
                aspects[aspect] = _name(normalize_value(match["value"]), _is_denied(text, match))
                spans.append(match.span())
    for start, end in spans:
        text = text[:start] + " " * (end - start) + text[end:]
    words = [stem(word) for word in match_words(lexicon.negation.sub(" ", text))]
    return _Reading(
        normal=normalize_value(statement),
        aspects=aspects,
        words=frozenset(word for word in words if word not in lexicon.filler and not word[0].isdecimal()),
        numbers=tuple(word for word in words if word[0].isdecimal()),
        denied=lexicon.negation.search(text) is not None,
    )


def _name(said: str, denied: bool) -> str:
    return f"not {said}" if denied else said


def _is_denied(text: str, found: re.Match[str]) -> bool:
    lexicon = _load_lexicon()
    clause = re.split(r"[,，.。;；]", text[: found.start()])[-1]
    return bool(lexicon.negation.search(clause[-_DENIAL_REACH:]) or lexicon.denial.search(text[found.end() :]))
