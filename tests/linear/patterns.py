"""All regular expressions that `apps` compiles, found by themselves: a new one is held to the same limit.

Two sources: what modules hold (also in tables), and what their cached functions compile at first use. What is made of
texts at run time is in test_patterns.py.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import Any

import apps
from apps.core.text.secret_forms import load_patterns


def _offline_rules() -> list[tuple[str]]:
    return [(name,) for name in ("chinese", "english", "summary", "talk", "wishes")]


def _offline_sources() -> list[tuple[str]]:
    from apps.offline.language import load_table

    emotions, values = load_table("emotions"), load_table("attributes")
    return [
        *((source,) for table in load_table("rewriting").values() for source in table),
        *((source,) for table in (emotions["negation"], emotions["intensity"]) for source in table.values()),
        *((cue,) for row in emotions["cues"].values() for cues in row.values() for cue in cues),
        *((cue,) for language in ("en", "zh") for cue in load_table("replies")[language]["cues"].values()),
        *((values["values"][name],) for name in ("noun", "before", "after", "asked", "was", "no_name")),
        (values["wide"]["parts"],),
    ]


# Of the commands: what is matched with a whole sentence.
_WHOLE = (
    "courtesy",
    "remember",
    "remember_told",
    "remember_this",
    "fragment",
    "forget",
    "everything",
    "conversation",
    "list",
)


def _commands() -> list[tuple[str]]:
    return [(name,) for name in (*_WHOLE, "hint", "about_text", "letter")]


# Of each cached function that returns patterns and has parameters, or does not say that it does: all its calls.
ARGUMENTS: Mapping[str, Callable[[], list[tuple[Any, ...]]]] = {
    "apps.offline.language.load_rules": _offline_rules,
    "apps.offline.language.compile_rule": _offline_sources,
    "apps.offline.attributes._rejects": lambda: [("name",), ("place",), ("job",), ("employer",), ("thing",), ("list",)],
    "apps.offline.statements._feelings": lambda: [("en",), ("zh",)],
    "apps.core.text.commands._patterns": _commands,
    "apps.core.text.attributes._load": lambda: [()],
    "apps.core.text.secret_shapes._compile": lambda: [
        (name,) for name, words in load_patterns()["near"].items() if isinstance(words, list)
    ],
    "apps.core.text.festivals.festival_rules": lambda: [()],
    "apps.core.text.festivals.past_festival_rules": lambda: [()],
}


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """A pattern of text. `searches`: it is looked for anywhere in a text, not only at a given place."""

    place: str
    pattern: re.Pattern[str]
    searches: bool


def list_patterns() -> list[Found]:
    """Return every pattern of text, each once."""
    found: dict[re.Pattern[str], Found] = {}
    for name, pattern in (*_in_modules(), *_in_functions()):
        if isinstance(pattern.pattern, str) and pattern not in found:
            found[pattern] = Found(name, pattern, _searches(name))
    return list(found.values())


# Functions whose patterns are matched with a whole text, or its beginning, only.
ANCHORED = (
    "apps.core.text.commands._start",
    *(f"apps.core.text.commands._patterns('{name}'" for name in _WHOLE),
    "apps.offline.attributes._patterns",
    "apps.offline.attributes._rejects",
    "apps.offline.attributes._keys",
)


def _searches(place: str) -> bool:
    """Whether the pattern of this name is used for more than `match` and `fullmatch`; True where that is not plain."""
    if place.startswith(ANCHORED):
        return False
    module, _, name = place.rpartition(".")
    used = set(re.findall(rf"(?<!\w){re.escape(name)}\.(\w+)", _read_source(module)))
    mentioned = len(re.findall(rf"(?<!\w){re.escape(name)}(?!\w)", _read_source(module)))
    calls = len(re.findall(rf"(?<!\w){re.escape(name)}\.(?:match|fullmatch)\(", _read_source(module)))
    return not (used and used <= {"match", "fullmatch"} and mentioned == calls + 1)


@cache
def _read_source(module: str) -> str:
    try:
        return inspect.getsource(importlib.import_module(module))
    except (ImportError, OSError):
        return ""


@cache
def list_modules() -> list[ModuleType]:
    """Return every module of `apps` but migrations."""
    names = [info.name for info in pkgutil.walk_packages(apps.__path__, "apps.") if ".migrations" not in info.name]
    return [importlib.import_module(name) for name in names]


def _in_modules() -> Iterator[tuple[str, re.Pattern[Any]]]:
    for module in list_modules():
        for name, value in vars(module).items():
            yield from ((f"{module.__name__}.{name}", pattern) for pattern in _walk(value, depth=4))


def _in_functions() -> Iterator[tuple[str, re.Pattern[Any]]]:
    for module in list_modules():
        for name, value in vars(module).items():
            full = f"{module.__name__}.{name}"
            if not hasattr(value, "cache_info") or (value.__module__ != module.__name__ and full not in ARGUMENTS):
                continue
            returned = inspect.get_annotations(inspect.unwrap(value)).get("return", "")
            if full not in ARGUMENTS and "Pattern" not in str(returned):
                continue
            calls = ARGUMENTS[full]() if inspect.signature(value).parameters else [()]
            for arguments in calls:
                yield from ((f"{full}{arguments}", pattern) for pattern in _walk(value(*arguments), depth=4))


def _walk(value: Any, *, depth: int) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, Mapping):
        for one in (*value.keys(), *value.values()):
            yield from _walk(one, depth=depth - 1)
    elif depth and isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from _walk(one, depth=depth - 1)
    elif depth and isinstance(value, type) and value.__module__.startswith("apps."):
        for one in list(vars(value).values()):
            yield from _walk(one, depth=0 if not isinstance(one, list | tuple | Mapping | re.Pattern) else depth - 1)
    elif depth and dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from _walk(getattr(value, field.name, None), depth=depth - 1)
