"""The tables by which texts are read into frames: `data/*.toml`, compiled once per process. Pure; no Django."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from apps.core.text.keywords import load_stop_words
from apps.core.text.matching import stem

_NUMBER = r"(?:\d{1,20}(?:[.,:]\d{1,20}){0,5})"
"""Without bounds, 600 characters of "1.1:1" would take seconds: patterns join several numbers."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """How one is told of (`tell`), and what a clause that only sounds like it has (`unless`).

    The others are of measures only (`data/measures.toml`); ``is_counted``: only what has a number tells of it.
    """

    tell: tuple[re.Pattern[str], ...]
    unless: re.Pattern[str] | None
    is_topical: bool = False
    is_moved: bool = False
    is_counted: bool = False


@dataclass(frozen=True, slots=True)
class Transition:
    """A state that ends (`old`) where another begins (`new`), maybe told `of` somebody else."""

    old: re.Pattern[str]
    new: re.Pattern[str]
    of: frozenset[str]


@dataclass(frozen=True, slots=True)
class Tables:
    """What the files hold; ``measures`` are attributes whose value is a number.

    ``taking``: words of what one has to do with many things, one of which ends without the others.
    """

    attributes: Mapping[str, Attribute]
    measures: Mapping[str, Attribute]
    cues: Mapping[str, re.Pattern[str]]
    subjects: Mapping[str, re.Pattern[str]]
    subject_start: re.Pattern[str]
    possessor: re.Pattern[str]
    others: tuple[re.Pattern[str], ...]
    aliases: Mapping[str, str]
    generic: frozenset[str]
    telling: frozenset[str]
    taking: frozenset[str]
    lists: re.Pattern[str]
    transitions: tuple[Transition, ...]
    categories: Mapping[str, re.Pattern[str]]
    setting: re.Pattern[str]
    final: re.Pattern[str]


@cache
def load_tables() -> Tables:
    """Return the tables."""
    table = _load("attributes")
    names = "|".join(rf"(?P<s{index}>{pattern})(?![a-z])" for index, pattern in enumerate(table["subjects"].values()))
    return Tables(
        attributes=_compile(table["attributes"]),
        measures=_compile(_load("measures")["measures"]),
        cues={name: re.compile("|".join(patterns)) for name, patterns in table["cues"].items()},
        subjects={
            name: re.compile("|".join(rf"(?<![a-z])(?:{part})(?![a-z])" for part in [pattern]))
            for name, pattern in table["subjects"].items()
        },
        subject_start=re.compile(
            r"(?:and |so |well |oh |saw )?(?:(?:那|然后|现在|其实|最近|昨天|今天|上周|上个?月|刚才|听|把)\s*)?"
            rf"(?:(?:我|咱|俺)们?家?里?的?|(?:my|our|the|a|an) (?:\w+ )?)?(?:{names})"
        ),
        possessor=re.compile(
            rf"\b(?:my|our) (?:\w+ )?(?:{names})(?='s (?!(?:been|gone|got|had)\b)"
            r"| (?:says?|said|tells|told|thinks|has|is|was|had|does|got|went|left|moved|sold|quit|bought|lives|works"
            r"|sleeps|loves|hates|loathes|likes|switched|changed|started|stopped|gave)\b)"
        ),
        others=tuple(re.compile(pattern) for pattern in table["others"]["start"]),
        aliases=table["aliases"],
        generic=frozenset(stem(word) for word in table["words"]["generic"].split()) | load_stop_words(),
        telling=frozenset(table["words"]["telling"]),
        taking=frozenset(map(stem, table["words"]["taking"].split())),
        lists=re.compile(table["words"]["list"]),
        transitions=tuple(
            Transition(old=re.compile(row["old"]), new=re.compile(row["new"]), of=frozenset(row.get("of", ())))
            for row in _load("transitions")["transitions"]
        ),
        categories={
            name: re.compile("|".join(rf"(?<![a-z]){re.escape(word)}(?![a-z])" for word in words.split()))
            for name, words in _load("categories")["categories"].items()
        },
        setting=re.compile("|".join(table["contexts"]["setting"])),
        final=re.compile("|".join(table["contexts"]["final"])),
    )


def _compile(rows: Mapping[str, Any]) -> dict[str, Attribute]:
    return {
        name: Attribute(
            tell=tuple(re.compile(pattern.replace("{n}", _NUMBER)) for pattern in row["tell"]),
            unless=re.compile("|".join(row["not"]).replace("{n}", _NUMBER)) if "not" in row else None,
            is_topical=row.get("topical", False),
            is_moved=row.get("moved", False),
            is_counted=all("{n}" in pattern for pattern in row["tell"]),
        )
        for name, row in rows.items()
    }


def _load(name: str) -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath(f"data/{name}.toml").read_text(encoding="utf-8"))
