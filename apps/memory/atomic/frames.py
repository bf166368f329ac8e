"""What a short text says, cut into clauses: of whom, which attributes with which values, ended or not. Pure; no Django.

The tables are in `data/attributes.toml`. Both languages are read alike, and a text may mix them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from apps.core.text.fold import fold
from apps.core.text.keywords import load_stop_words
from apps.core.text.matching import match_words, stem
from apps.core.text.pronouns import NEUTRAL

USER = "user"
"""The subject of what a person says of themselves."""

_ANNOTATION = re.compile(r"[(（]\d{4}(?:-\d\d){0,2}(?:[–~]\d{4}(?:-\d\d){0,2})?[)）]")
_NUMBER = r"(?:\d+(?:[.,:]\d+)*)"
_DIGITS = "零一二三四五六七八九"
_NUMERAL = re.compile(
    r"(?<![周第期拜])(?:[二两三四五六七八九]?十[一二三四五六七八九]?|[两二三四五六七八九])(?=[个只条岁点公斤杯本口次套辆家台间门天周年月号日楼块元万千度米包双瓶节遍场小分半人位,。了啦$]|$)"
)
_ENGLISH_NUMBERS = {
    name: str(value)
    for value, name in enumerate(
        ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], start=2
    )
} | {"once": "1 times", "twice": "2 times", "thirty": "30", "forty": "40", "fifty": "50"}
_SPELLINGS = [
    (re.compile(r"[’‘`]"), "'"),
    (re.compile(r"用户(?:提到|说)[,:，：]?\s*|the user (?:mentioned|says?|said)[:,]?\s*(?:that\s+)?"), ""),
    (re.compile(r"\bthe user's\b"), "my"),
    (re.compile(r"\bthe user is\b|\bi'm\b|\bim\b"), "i am"),
    (re.compile(r"\bthe user (?:has|have)\b|\bi've\b"), "i have"),
    # An object is "me": what comes before it is a verb or a preposition.
    (
        re.compile(
            r"(?<=[a-z] )(?<!\band )(?<!\bbut )(?<!\bso )(?<!\bthat )(?<!\bwhen )(?<!\bif )(?<!\bas )the user\b"
        ),
        "me",
    ),
    (re.compile(r"\bthe user\b"), "i"),
    (re.compile(r"\b(it|he|she|that|there)'s\b"), r"\1 is"),
    (re.compile(r"\b(we|they|you)'re\b"), r"\1 are"),
    (re.compile(r"\b(we|they|you)'ve\b"), r"\1 have"),
    (re.compile(r"用户的?|(?<![自敌忘])我们?的?(?=[家公])"), "我"),
    (re.compile(r"(?<=[a-z])-(?=[a-z])"), " "),
    (re.compile(r"(?<=\d),(?=\d{3})"), ""),
]
_SPELLED = r"(?! (?:with an? [a-z]\b|spelled))"
"""After the comma of "I'm John, with an h"."""

_CLAUSE = re.compile(
    rf"[。!?;…\n]+|,(?!\d{{3}}(?!\d)){_SPELLED}|(?<!\d),{_SPELLED}|:(?!\d)|\.(?=\s|$)|\s[-–—]\s|——"
    r"|\b(?:but|because|so that)\b|(?:但是|不过|可是|而且|所以)"
)
_TIME_MARK = re.compile(
    r"\d[\d.,:k%-]*|周[一二三四五六日天]|(?:星期|礼拜)[一二三四五六日天]"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|上午|下午|晚上|早上|(?<=\d)\s?[ap]m\b"
)
_PRONOUN = re.compile(r"(?:and |so |but |now )?(?:他|她|它|\b(?:he|she|his|her|its)\b)")
_NAMING = re.compile(r"(?:名|取名|起名|改名|改)?叫|(?:and )?(?:called|named)\b")
"""How a name goes on from the clause before: 我养了一只猫，叫咪咪."""

_FIRST_PERSON = re.compile(r"我|咱|俺|\b(?:i|my|we|our|me)\b")
_OWN_NAME = re.compile(rf"{_FIRST_PERSON.pattern}|[名姓]|\bname")


@dataclass(frozen=True, slots=True)
class Value:
    """The value a clause gives an attribute: its telling words and numbers; both empty where it gives none."""

    words: frozenset[str]
    numbers: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.words or self.numbers)


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause. ``attributes``: by whose they are and their name; ``cues``: names of the cues that are in it.

    ``categories``: of the things in it, several of which nobody needs; ``left``: the words of what was given up for
    something else ("from X to Y"); ``states`` and ``passed``: the numbers of the transitions whose old state it tells,
    and of those whose new one.
    """

    text: str
    subject: str
    words: frozenset[str]
    numbers: frozenset[str]
    attributes: Mapping[tuple[str, str], Value]
    cues: frozenset[str]
    categories: frozenset[str]
    left: frozenset[str]
    states: frozenset[int]
    passed: frozenset[int]


@dataclass(frozen=True, slots=True)
class Frame:
    """A whole text. ``mentioned``: the people and animals in it who could be subjects."""

    normalized: str
    clauses: tuple[Clause, ...]
    mentioned: frozenset[str]
    words: frozenset[str]
    numbers: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Attribute:
    tell: tuple[re.Pattern[str], ...]
    unless: re.Pattern[str] | None


@dataclass(frozen=True, slots=True)
class _Transition:
    old: re.Pattern[str]
    new: re.Pattern[str]
    of: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Tables:
    attributes: Mapping[str, _Attribute]
    cues: Mapping[str, re.Pattern[str]]
    subjects: Mapping[str, re.Pattern[str]]
    subject_start: re.Pattern[str]
    aliases: Mapping[str, str]
    generic: frozenset[str]
    telling: frozenset[str]
    lists: re.Pattern[str]
    transitions: tuple[_Transition, ...]
    categories: Mapping[str, re.Pattern[str]]


@cache
def _tables() -> _Tables:
    table = _load("attributes")
    names = "|".join(rf"(?P<s{index}>{pattern})(?![a-z])" for index, pattern in enumerate(table["subjects"].values()))
    return _Tables(
        attributes={
            name: _Attribute(
                tell=tuple(re.compile(pattern.replace("{n}", _NUMBER)) for pattern in row["tell"]),
                unless=re.compile("|".join(row["not"])) if "not" in row else None,
            )
            for name, row in table["attributes"].items()
        },
        cues={name: re.compile("|".join(patterns)) for name, patterns in table["cues"].items()},
        subjects={
            name: re.compile("|".join(rf"(?<![a-z])(?:{part})(?![a-z])" for part in [pattern]))
            for name, pattern in table["subjects"].items()
        },
        subject_start=re.compile(
            r"(?:and |so |well |oh |saw )?(?:(?:那|然后|现在|其实|最近|昨天|今天|上周|上个?月|刚才|听)\s*)?"
            rf"(?:(?:我|咱|俺)们?家?里?的?|(?:my|our|the|a|an) (?:\w+ )?)?(?:{names})"
        ),
        aliases=table["aliases"],
        generic=frozenset(stem(word) for word in table["words"]["generic"].split()) | load_stop_words(),
        telling=frozenset(table["words"]["telling"]),
        lists=re.compile(table["words"]["list"]),
        transitions=tuple(
            _Transition(old=re.compile(row["old"]), new=re.compile(row["new"]), of=frozenset(row.get("of", ())))
            for row in _load("transitions")["transitions"]
        ),
        categories={
            name: re.compile("|".join(rf"(?<![a-z]){re.escape(word)}(?![a-z])" for word in words.split()))
            for name, words in _load("categories")["categories"].items()
        },
    )


def _load(name: str) -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath(f"data/{name}.toml").read_text(encoding="utf-8"))


def make_comparable(text: str) -> str:
    """`text` in the form the tables are written for: folded, digits for numerals, the person as 我 or "i"."""
    text = fold(_ANNOTATION.sub("", text))
    for pattern, spelling in _SPELLINGS:
        text = pattern.sub(spelling, text)
    text = _NUMERAL.sub(lambda found: _read_numeral(found.group()), text)
    text = re.sub(r"\b[a-z]+\b", lambda found: _ENGLISH_NUMBERS.get(found.group(), found.group()), text)
    return " ".join(text.split())


def _read_numeral(text: str) -> str:
    """The digits of a Chinese numeral up to 99."""
    tens, ten, ones = text.replace("两", "二").rpartition("十")
    if not ten:
        return str(_DIGITS.index(ones))
    return str((_DIGITS.index(tens) if tens else 1) * 10 + (_DIGITS.index(ones) if ones else 0))


@lru_cache(maxsize=20_000)
def read_frame(text: str) -> Frame:
    """Return what `text`, a memory's content, says."""
    comparable = make_comparable(text)
    tables = _tables()
    clauses: list[Clause] = []
    subject = USER
    latest = ""
    for part in _CLAUSE.split(comparable):
        part = part.strip(" ,.:、~“”\"'!")
        if not part:
            continue
        subject = _read_subject(part, before=subject, latest=latest, tables=tables)
        latest = next(iter(_find_mentioned(part, tables)), latest)
        clauses.append(_read_clause(part, subject=subject, tables=tables))
    return Frame(
        normalized=re.sub(r"[\W_]+", "", comparable),
        clauses=tuple(clauses),
        mentioned=_find_mentioned(comparable, tables),
        words=frozenset[str]().union(*(clause.words for clause in clauses)),
        numbers=frozenset[str]().union(*(clause.numbers for clause in clauses)),
    )


def list_cues() -> tuple[str, ...]:
    """Return the names of all cues, in the order of the table."""
    return tuple(_tables().cues)


def list_attributes() -> tuple[str, ...]:
    """Return the names of the attributes that have rules of their own, in the order of the table."""
    return tuple(_tables().attributes)


def may_pass(number: int, *, subject: str) -> bool:
    """Whether the new state of a transition may be told of `subject` where the old one is somebody else's."""
    return subject in _tables().transitions[number].of


def _find_mentioned(text: str, tables: _Tables) -> frozenset[str]:
    return frozenset(name for name, pattern in tables.subjects.items() if pattern.search(text))


def _read_subject(part: str, *, before: str, latest: str, tables: _Tables) -> str:
    if found := tables.subject_start.match(part):
        index = next(int(name[1:]) for name, group in found.groupdict().items() if group)
        return list(tables.subjects)[index]
    if _PRONOUN.match(part) or (latest and _NAMING.match(part)):
        return latest or before
    if _FIRST_PERSON.match(part) or _FIRST_PERSON.search(part[:12]):
        return USER
    return before


def _read_clause(part: str, *, subject: str, tables: _Tables) -> Clause:
    attributes: dict[tuple[str, str], Value] = {}
    named_subject = tables.subject_start.match(part)
    told = "" if named_subject is None else part[named_subject.end() :].lstrip("的 ")
    for name, attribute in tables.attributes.items():
        if attribute.unless and attribute.unless.search(part):
            continue
        for pattern in attribute.tell:
            if found := pattern.search(part) or (pattern.search(told) if told else None):
                groups = found.groupdict()
                whose = next(iter(_find_mentioned(groups.get("of") or "", tables)), subject)
                if subject not in (USER, whose):
                    whose = subject  # "my mother's dog is called …"
                if name == "name" and whose == USER and not _OWN_NAME.search(part):
                    break  # 学了一道菜，叫做清蒸鲈鱼; "the museum is called …"
                attributes[whose, name] = _read_value(
                    " ".join(filter(None, (groups.get("v"), groups.get("w")))), tables
                )
                break
    if named := _read_named(part, tables):
        attributes[subject, named[0]] = named[1]
    return Clause(
        text=part,
        subject=subject,
        words=list_telling_words(part),
        numbers=frozenset(_TIME_MARK.findall(part)),
        attributes=attributes,
        cues=frozenset(name for name, pattern in tables.cues.items() if pattern.search(part)),
        categories=frozenset(name for name, pattern in tables.categories.items() if pattern.search(part)),
        left=frozenset[str]().union(
            *(list_telling_words(found["x"]) for pattern in _EXCHANGES if (found := pattern.search(part)))
        ),
        states=frozenset(number for number, row in enumerate(tables.transitions) if row.old.search(part)),
        passed=frozenset(number for number, row in enumerate(tables.transitions) if row.new.search(part)),
    )


_EXCHANGES = (
    re.compile(r"从(?P<x>.{1,12}?)(?:换|改|转|跳|调|搬|升)(?:槽|行|岗)?(?:到|成|为|去|用|了)"),
    re.compile(r"把(?P<x>.{1,12}?)(?:换|改|升级)(?:成|为|作|到)"),
    re.compile(r"(?:取代|代替|替换)了?(?P<x>.{1,12})"),
    re.compile(r"(?:不是|不叫|而非|不再是)(?P<x>.{1,10}?)(?:$|而是|,|是)"),
    re.compile(
        r"\b(?:moved|switched|went|gone|changed|transferred|jumped|converted|migrated|relocated|upgraded|downgraded) "
        r"(?:\w+ ){0,4}?from (?P<x>.{1,40}?) (?:to|into) "
    ),
    re.compile(
        r"\b(?:swapped|traded|exchanged|left|leaving|ditched|dropped|quit|replaced|packed in) (?:in )?(?P<x>.{1,40}?)"
        r" (?:in )?(?:for|with|in favou?r of) "
    ),
    re.compile(r"\b(?:instead of|rather than|in place of) (?P<x>.{1,40})"),
)
"""How a clause says that one thing (x) has given way to another."""


_PASSING = frozenset(
    {"现在", "目前", "如今", "最", "新", "的", "new", "current", "now", "old", "these", "day", "nowadays"}
)
"""Words in the name of an attribute that are no part of it."""

_SUPERLATIVES = (
    re.compile(
        r"最(?P<attribute>(?:喜欢|爱|讨厌|常用|擅长|想去)[^,是变]{1,10}?)(?:是|变成|改成|换成|变为|成了)(?P<value>.+)"
    ),
    re.compile(r"最(?P<attribute>(?:喜欢|爱|常)(?:吃|喝|看|听|玩|去|用|穿|逛))(?P<value>[^的是]+)$"),
)
_NAMED = (
    *_SUPERLATIVES,
    re.compile(
        r"(?:我|他|她|它)(?:现在|如今|目前)?(?:的|最)?(?P<attribute>[^,是变]{2,12}?)(?:是|变成|改成|换成|变为|成了)(?P<value>.+)"
    ),
    re.compile(r"\b(?:my|our) (?P<attribute>[\w ]{2,30}?) (?:is|are) (?:now )?(?P<value>.+)"),
)


def _read_named(part: str, tables: _Tables) -> tuple[str, Value] | None:
    """The attribute a clause calls by its own name: "my shoe size is 9", 我的工号是1234."""
    for pattern in _NAMED:
        found = pattern.search(part)
        if found is None or tables.lists.search(found["attribute"]):
            continue
        named = found["attribute"]
        if (pattern in _SUPERLATIVES or list_telling_words(named)) and not _find_mentioned(named, tables):
            words = {stem(tables.aliases.get(word, word)) for word in match_words(named)} - load_stop_words() - _PASSING
            return " ".join(sorted(words)), _read_value(found["value"], tables)
    return None


def _read_value(text: str, tables: _Tables) -> Value:
    words = list_telling_words(text)
    numbers = frozenset(_TIME_MARK.findall(text))
    if not words and not numbers and (bare := re.sub(r"[\W_了的]+", "", text)):
        words = frozenset({bare})
    return Value(words=words, numbers=numbers)


@lru_cache(maxsize=20_000)
def list_telling_words(text: str) -> frozenset[str]:
    """The words of comparable `text` that say what it is about: no pronouns, numbers, nor words that fit anything."""
    tables = _tables()
    found: set[str] = set()
    for word in match_words(text):
        named = tables.aliases.get(word, word)
        root = stem(named)
        found |= tables.telling & set(named)
        if word == NEUTRAL or any(map(str.isdigit, root)) or root in tables.generic or named in tables.generic:
            continue
        if len(root) > 1:
            found.add(root)
    return frozenset(found)
