"""The sentences of `data/replies.toml`, per language."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from apps.core.llm.offline.language import Language


@dataclass(frozen=True, slots=True)
class Phrases:
    """What can be said in one language: ``texts`` with {fields}, lines by emotion and by tone, cues of the user's."""

    language: Language
    texts: Mapping[str, str]
    emotions: Mapping[str, str]
    tones: Mapping[str, str]
    cues: Mapping[str, re.Pattern[str]]

    def say(self, text: str, /, **fields: str) -> str:
        """The text called `text` with its fields filled in."""
        return self.texts[text].format(**fields)

    def hears(self, cue: str, folded: str) -> bool:
        """Whether `cue` is found in the folded text."""
        return bool(self.cues[cue].search(folded))


@cache
def load_phrases(language: Language) -> Phrases:
    """The phrases of `language`."""
    table: dict[str, Any] = tomllib.loads(files(__package__).joinpath("data/replies.toml").read_text("utf-8"))[language]
    return Phrases(
        language=language,
        emotions=table.pop("emotions"),
        tones=table.pop("tones"),
        cues={name: re.compile(cue) for name, cue in table.pop("cues").items()},
        texts=table,
    )


def join_list(items: Sequence[str], phrases: Phrases) -> str:
    """`items` as one enumeration: a, b and c."""
    if len(items) < 2:
        return "".join(items)
    return phrases.texts["list_join"].join(items[:-1]) + phrases.texts["last_join"] + items[-1]
