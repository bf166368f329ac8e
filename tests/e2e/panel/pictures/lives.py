"""The two people in the pictures, as `lives.toml` tells of them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Category, key, value; a confidence makes it a conclusion of the model instead of something stated.
Remembered = tuple[str, str, Any] | tuple[str, str, Any, float]


@dataclass(frozen=True, slots=True)
class Round:
    """A message and the reply to it, with what the model read from the message."""

    said: str
    reply: str
    emotion: str = "neutral"
    remembered: tuple[Remembered, ...] = ()
    topic: str | None = None
    variables: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation, held so many days ago."""

    title: str
    days_ago: int
    rounds: tuple[Round, ...]
    form: tuple[str, dict[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class Life:
    """Somebody, oldest conversation first. `context`: title, content, then entries with their author."""

    name: str
    timezone: str
    talks: tuple[Talk, ...]
    by_hand: dict[str, Any]
    proposal: tuple[str, str]
    context: tuple[str, str, tuple[tuple[str, str], ...]]
    edited: tuple[str, Any, Any]
    given_up: tuple[str, str]
    token: str


def _read(given: dict[str, Any]) -> Life:
    talks = [{**talk, "rounds": tuple(Round(**each) for each in talk["rounds"])} for talk in given["talks"]]
    return Life(**{**given, "talks": tuple(Talk(**talk) for talk in talks)})


_LIVES = tomllib.loads(Path(__file__).with_name("lives.toml").read_text("utf-8"))
MEL, LIN = _read(_LIVES["mel"]), _read(_LIVES["lin"])
OTHERS = _LIVES["others"]
