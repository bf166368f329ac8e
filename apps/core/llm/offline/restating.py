"""Statements made in the form of something else, in the words of a statement: "Guess who quit smoking?" → "I quit …".

Questions that ask nothing and what people put around a statement would hide it from the rules that read messages. The
forms are in `data/restatements.toml`; whether what they state is worth keeping is for `telling` to decide.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_SENTENCE_START = r"(?:^|(?<=[.!?…\n。！？])|(?<=[.!?…] ))"

_WISHED = re.compile(
    r"(?<=\bI want you to )[A-Z](?=[a-z])"
    r"|(?<=\bI want )[A-Z](?=[a-z]* (?:of )?(?:\w+ )?(?:emoji|emoticon|smiley|tone\b|style\b|answers\b|replies\b))"
)
"""The capital with which a sentence began that is told as a wish."""


@dataclass(frozen=True, slots=True)
class _Restatement:
    """``said``: a form in the text as it is written, in any case. ``told``: what it states, with groups of ``said``."""

    said: re.Pattern[str]
    told: str


@cache
def _load_restatements() -> Sequence[_Restatement]:
    table = tomllib.loads(files(__package__).joinpath("data/restatements.toml").read_text(encoding="utf-8"))
    return tuple(
        _Restatement(
            said=re.compile((_SENTENCE_START if row.get("begins", True) else "") + row["said"], re.IGNORECASE),
            told=row["told"],
        )
        for row in table["restatement"]
    )


def restate(text: str) -> str:
    """`text` with each statement that has the form of something else as a plain one."""
    for restatement in _load_restatements():
        text = restatement.said.sub(restatement.told, text)
    return _WISHED.sub(lambda found: found[0].lower(), text)
