"""The tables of `data/zh.toml` and `data/en.toml`, compiled: how people tell and ask about themselves."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Literal

from apps.core.llm.offline.language import LANGUAGES, Language

Category = Literal["preference", "fact", "pattern"]
Mode = Literal["replace", "add", "remove"]
_GROUP = re.compile(r"\(\?P<\w+>")
_MACRO = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Concept:
    """One thing a person may tell about themselves, in one language.

    ``key``: the memory's key, ``{attribute}`` filled in from the sentence. ``value``: the kind of value, which decides
    how it is checked. ``also``: the concept of a second value in the same pattern. ``aliases``: keys under
    which others keep the same. ``relative_key``: the key after the name of a relative. ``stored``: what is kept, with
    ``{value}`` in it. ``say``: how it is said to the user, and ``forms`` of values that are said in a way of their own.
    ``wanted``: what one asks for ("where you live"), and ``wanted_kind`` where the question
    names a ``{kind}`` ("your {kind}'s name"). ``tell``, ``my``, ``whole``,
    ``untell``: patterns by the place where they start. ``request``: counts in a question too ("could you be brief?").
    ``explicit``: only when the user asks to remember. ``relative``: may be told of a family member. ``pointing``: said
    of the relative or pet mentioned just before ("we have a dog, his name is Rex").
    """

    name: str
    language: Language
    key: str
    category: Category
    mode: Mode
    value: str
    also: str
    aliases: tuple[str, ...]
    relative_key: str
    stored: str
    say: str
    forms: tuple[tuple[re.Pattern[str], str], ...]
    wanted: str
    wanted_kind: str
    unsay: str
    tell: tuple[re.Pattern[str], ...]
    my: tuple[re.Pattern[str], ...]
    whole: tuple[re.Pattern[str], ...]
    untell: tuple[re.Pattern[str], ...]
    ask: tuple[re.Pattern[str], ...]
    request: bool
    explicit: bool
    relative: bool
    pointing: bool


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All tables of one language.

    ``correction``: a clause that takes back what was just said, and ``corrected`` the one after it, with the right
    value. ``follow_up``: a question that repeats the one before about somebody else, ``who``. ``pointing``: words that
    mean nothing outside the conversation (it, you, 这个). ``at_hand``: how a thing begins that is liked only as it lies
    before one's eyes ("I love the colors"). ``past``: a time that is over, before or after the subject; then only what
    ``happens`` (moving, not living) is still true. ``since``: a time from which on something is true. ``goes_on``: how
    a clause without a subject begins that goes on about the one of the clause before. ``relations``: from each word for
    a relative to the one used in keys.
    ``tells`` matches where any pattern of any concept does: most clauses tell nothing, and one attempt is ten times
    quicker than two hundred.
    """

    language: Language
    script: re.Pattern[str]
    prelude: re.Pattern[str]
    hedge: re.Pattern[str]
    adverb: re.Pattern[str]
    past: re.Pattern[str]
    since: re.Pattern[str]
    happens: re.Pattern[str]
    goes_on: re.Pattern[str]
    user: re.Pattern[str]
    possessive: re.Pattern[str]
    other: re.Pattern[str]
    hypothetical: re.Pattern[str]
    question: re.Pattern[str]
    tag: re.Pattern[str]
    correction: re.Pattern[str]
    corrected: re.Pattern[str]
    follow_up: re.Pattern[str]
    instruction: re.Pattern[str]
    vague: re.Pattern[str]
    pointing: re.Pattern[str]
    at_hand: re.Pattern[str]
    empty_value: re.Pattern[str]
    leading: re.Pattern[str]
    trailing: re.Pattern[str]
    list_separator: re.Pattern[str]
    words: Mapping[str, re.Pattern[str]]
    relation: re.Pattern[str]
    relations: Mapping[str, str]
    concepts: Mapping[str, Concept]
    tells: re.Pattern[str]
    variables: Mapping[str, re.Pattern[str]]


@lru_cache(maxsize=1)
def load_lexicons() -> tuple[Lexicon, ...]:
    """The lexicons of all languages; compiled once per process."""
    return tuple(map(load_lexicon, LANGUAGES))


@cache
def load_lexicon(language: Language) -> Lexicon:
    """The lexicon of `language`."""
    table = tomllib.loads(files(__package__).joinpath(f"data/{language}.toml").read_text(encoding="utf-8"))
    words: dict[str, str] = table.pop("words")
    relations = {word: name for name, spellings in table.pop("relations").items() for word in spellings}
    variables: dict[str, str] = table.pop("variables")
    # Requests first: "I prefer short answers" is one, and no more than that.
    names = [name for name, row in table.items() if isinstance(row, dict)]
    names.sort(key=lambda name: not table[name].get("request", False))
    concepts = {name: table.pop(name) for name in names}
    adverb: str = table["adverb"] if language == "en" else rf"(?:(?:{table['adverb']})\s*){{0,4}}"
    macros = {
        **words,
        "v": r"\s*[:是]?\s*(?P<value>.+?)" if language == "zh" else r"(?:\s+|(?<=\s))(?P<value>.+?)",
        "w": r"[\w]{1,2}",
        "adverb": adverb,
        "am": table.get("am", "") + adverb,
        "have": table.get("have", "") + adverb,
    }
    compiled = {name: _compile(name, row, macros=macros, language=language) for name, row in concepts.items()}
    spelled = "|".join(sorted(relations, key=len, reverse=True))
    return Lexicon(
        language=language,
        script=re.compile(r"[\u3400-\u9fff]" if language == "zh" else r"[a-z]"),
        prelude=re.compile(rf"(?:{table['prelude']}){{0,5}}"),
        hedge=re.compile(table["hedge"]),
        adverb=re.compile(adverb),
        past=re.compile(_expand(table["past"], macros, verb=False)),
        since=re.compile(_expand(table["since"], {**macros, "past": table["past"]}, verb=False)),
        happens=re.compile(_expand(table["happens"], macros, verb=False)),
        goes_on=re.compile(table["goes_on"]),
        user=re.compile(table["user"]),
        possessive=re.compile(table["possessive"]),
        other=re.compile(table["other"]),
        hypothetical=re.compile(table["hypothetical"]),
        question=re.compile(table["question"]),
        tag=re.compile(table["tag"]),
        correction=re.compile(table["correction"]),
        corrected=re.compile(table["corrected"]),
        follow_up=re.compile(table["follow_up"]),
        instruction=re.compile(table["instruction"]),
        vague=re.compile(table["vague"]),
        pointing=re.compile(table["pointing"]),
        at_hand=re.compile(table["at_hand"]),
        empty_value=re.compile(table["empty_value"]),
        leading=re.compile(table["leading"]),
        trailing=re.compile(table["trailing"]),
        list_separator=re.compile(table["list_separator"]),
        words={name: re.compile(rf"(?:{pattern})") for name, pattern in words.items()},
        relation=re.compile(spelled),
        relations=relations,
        concepts=compiled,
        tells=_join(
            pattern
            for concept in compiled.values()
            for pattern in (*concept.tell, *concept.my, *concept.whole, *concept.untell)
        ),
        variables={
            name: re.compile(_expand(pattern, macros, verb=False), re.IGNORECASE) for name, pattern in variables.items()
        },
    )


def _join(patterns: Iterable[re.Pattern[str]]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{_GROUP.sub('(?:', pattern.pattern)})" for pattern in patterns))


def _compile(name: str, row: Mapping[str, Any], *, macros: Mapping[str, str], language: Language) -> Concept:
    end: str = row.get("end", "")

    def compile_all(patterns: Sequence[str], *, verb: bool = False) -> tuple[re.Pattern[str], ...]:
        return tuple(re.compile(_expand(pattern, macros, verb=verb and language == "en") + end) for pattern in patterns)

    return Concept(
        name=name,
        language=language,
        key=row["key"],
        category=row["category"],
        mode=row.get("mode", "replace"),
        value=row.get("value", "text"),
        also=row.get("also", ""),
        aliases=tuple(row.get("aliases", ())),
        relative_key=row.get("relative_key", row["key"]),
        stored=row.get("stored", "{value}"),
        say=row["say"],
        forms=tuple(
            (re.compile(_MACRO.sub(lambda found: macros[found.group(1)], pattern)), text)
            for pattern, text in row.get("forms", ())
        ),
        wanted=row.get("wanted", ""),
        wanted_kind=row.get("wanted_kind", row.get("wanted", "")),
        unsay=row.get("unsay", ""),
        tell=compile_all(row.get("tell", ()), verb=True),
        my=compile_all(row.get("my", ())),
        whole=compile_all(row.get("whole", ())),
        untell=compile_all(row.get("untell", ()), verb=True),
        ask=compile_all(row.get("ask", ())),
        request=row.get("request", False),
        explicit=row.get("explicit", False),
        relative=row.get("relative", False),
        pointing=row.get("pointing", False),
    )


def _expand(pattern: str, macros: Mapping[str, str], *, verb: bool) -> str:
    if verb and not pattern.startswith(("{am}", "{have}", "(?:{am}", "(?:{have}")):
        pattern = r"\s*{adverb}" + pattern
    if pattern.endswith("{v}"):
        pattern += "$"
    return _MACRO.sub(lambda found: macros[found.group(1)], pattern)
