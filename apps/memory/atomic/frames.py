"""What a short text says, cut into clauses: of whom, which attributes with which values, ended or not. Pure; no Django.

The tables are in `data/attributes.toml`. Both languages are read alike, and a text may mix them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from apps.core.text.fold import fold
from apps.core.text.keywords import load_stop_words
from apps.core.text.matching import match_words, stem
from apps.core.text.pronouns import NEUTRAL
from apps.core.text.text_cache import cache_texts
from apps.memory.atomic.chinese_names import Names, read_names
from apps.memory.atomic.naming import Naming, concerns_self, find_head, find_proper, is_one_of_many, read_namings
from apps.memory.atomic.quantities import write_digits, write_plainly
from apps.memory.atomic.spelling import make_comparable
from apps.memory.atomic.tables import Tables, load_tables

USER = "user"
"""The subject of what a person says of themselves."""

LONGEST = 2_000
MOST_CLAUSES = 100
"""A text with more characters, or clauses, tells no facts but keeps something: it is read as saying nothing."""

_SPELLED = r"(?! (?:with an? [a-z]\b|spelled))"
"""After the comma of "I'm John, with an h"."""

_STOP = r"(?<!\bdr)(?<!\bmr)(?<!\bms)(?<!\bmrs)(?<!\bst)(?<!\bmt)(?<!\bprof)\.(?=\s|$)"
"""A full stop, but in "Dr. Patel"."""

_CONSEQUENCE = re.compile(
    r" so (?=(?:i|we|my|our|he|she|they|it)\b)|(?<=\w{3} \w{3}) and (?=(?:i|we) (?!\w+$))(?<!\bwife and )"
)
_SENTENCE = re.compile(rf"[。!?;…\n]+|{_STOP}")
_THESE_DAYS = re.compile(r"\b(?:now|today|these days|nowadays|currently|since then)\b|现在|如今|目前")
_CLAUSE = re.compile(
    rf"[。!?;…\n]+|,(?!\d{{3}}(?!\d)){_SPELLED}|(?<!\d),{_SPELLED}|:(?!\d)|{_STOP}|\s[-–—]\s|——"
    r"|\b(?:but|because|so that)\b|(?:但是|不过(?!敏|分|时|关|问|夜|期|年|节|生日)|可是|而且|所以)"
)
_TIME_MARK = re.compile(
    r"\d[\d.,:k%-]*|周[一二三四五六日天]|(?:星期|礼拜)[一二三四五六日天]"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|上午|下午|晚上|早上|(?<=\d)\s?[ap]m\b"
)
_PRONOUN = re.compile(r"(?:and |so |but |now )?(?:他|她|它|\b(?:he|she|his|her|its)\b)")
_NAMING = re.compile(r"(?:名|取名|起名|改名|改)?叫|(?:and )?(?:called|named)\b")
"""How a name goes on from the clause before: 我养了一只猫，叫咪咪."""

_AND_I = re.compile(r" (?:\w+ )?and (?:i|me)\b|(?:和|跟|与)我")
"""How "my wife" goes on where it is the person, too, of whom something is told."""

_DONE_TO_ME = re.compile(
    r".{0,8}?(?:让|叫|把|给|帮|派|安排|调|请|带|催|逼|录取|录用|聘|提拔|升|裁|辞|开除|接|劝|通知|教|批|送|留|赶|撵)(?:了|到)?"
    r"(?:我|咱|俺)(?!们?家?的?(?:[爸妈爹娘哥姐弟妹舅姨姑叔儿女孙侄]|老[公婆爸妈]|对象|朋友|同[事学]))|"
    r" (?:has |have |just |finally )*(?:moved|put|raised|increased|lowered|cut|made|promoted|transferred|changed"
    r"|switched|pushed|rescheduled|fired|hired|prescribed|upped|doubled|reduced|extended|bumped|postponed|lifted|discharged|cleared"
    r"|took) (?:me|us|my|our|the (?:rent|dose|appointment|price|hours|deadline|fee|date|time))\b"
)
"""How "the dentist" goes on where it is the person's own affairs that have changed."""

_ACTOR = re.compile(r"(?:\w+ly |and |so |but |now |then )*(?:i|we)\b|我")
_FIRST_PERSON = re.compile(r"我|咱|俺|\b(?:i|my|we|our|me)\b")
_OWN_NAME = re.compile(rf"{_FIRST_PERSON.pattern}|[名姓]|\bname")


@dataclass(frozen=True, slots=True)
class Value:
    """The value a clause gives an attribute: its telling words and numbers; both empty where it gives none.

    Of a measure, ``about``: what else the clause speaks of; ``is_moved``: only a clause of change gives another one.
    """

    words: frozenset[str]
    numbers: frozenset[str]
    about: frozenset[str] = frozenset()
    is_moved: bool = False

    def __bool__(self) -> bool:
        return bool(self.words or self.numbers)


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause. ``attributes``: by whose they are and their name; ``cues``: names of the cues that are in it.

    ``categories``: of the things in it, several of which nobody needs; ``left``: the words of what was given up for
    something else ("from X to Y"); ``states`` and ``passed``: the numbers of the transitions whose old state it tells,
    and of those whose new one; ``namings``: what it calls things; ``final``: what it ends does not come back.
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
    namings: tuple[Naming, ...]
    final: bool


@dataclass(frozen=True, slots=True)
class Frame:
    """A whole text. ``mentioned``: the people and animals in it who could be subjects."""

    normalized: str
    clauses: tuple[Clause, ...]
    mentioned: frozenset[str]
    words: frozenset[str]
    numbers: frozenset[str]
    cues: frozenset[str]
    names: Names


@cache_texts(20_000)
def read_frame(text: str) -> Frame:
    """Return what `text`, a memory's content, says."""
    if len(text) > LONGEST:
        return _join("", text=fold(text), clauses=())
    comparable = make_comparable(text)
    clauses = tuple(islice(_read_clauses(comparable, proper=find_proper(text)), MOST_CLAUSES + 1))
    if len(clauses) > MOST_CLAUSES:
        return _join("", text=comparable, clauses=())
    return _join(comparable, text=comparable, clauses=clauses)


def _join(told: str, *, text: str, clauses: tuple[Clause, ...]) -> Frame:
    return Frame(
        normalized=re.sub(r"[\W_]+", "", text),
        clauses=clauses,
        mentioned=_find_mentioned(told, load_tables()),
        words=frozenset[str]().union(*(clause.words for clause in clauses)),
        numbers=frozenset[str]().union(*(clause.numbers for clause in clauses)),
        cues=frozenset[str]().union(*(clause.cues for clause in clauses)),
        names=read_names(told),
    )


def _read_clauses(comparable: str, *, proper: frozenset[str]) -> Iterator[Clause]:
    tables = load_tables()
    subject = USER
    latest = ""
    named = ""
    for sentence in _SENTENCE.split(_CONSEQUENCE.sub(", ", comparable)):
        unreal = once = False
        for part in _CLAUSE.split(sentence):
            part = part.strip(" ,.:、~“”\"'!")
            if not part:
                continue
            subject = _read_subject(part, before=subject, latest=latest, tables=tables)
            latest = next(_list_mentioned(part, tables), latest if subject in (USER, latest) else subject)
            unreal = (unreal or bool(tables.setting.search(part))) and not _THESE_DAYS.search(part)
            namings = read_namings(part, sentence=sentence, proper=proper, latest=named)
            named = next((naming.head for naming in namings), find_head(part) or named)
            clause = _read_clause(part, subject=subject, namings=namings, tables=tables)
            once = (once or "once" in clause.cues) and not _THESE_DAYS.search(part)
            more = ({"unreal", "unsure"} if unreal else set()) | ({"once", "momentary"} if once else set())
            yield replace(clause, cues=clause.cues | more)


def list_cues() -> tuple[str, ...]:
    """Return the names of all cues, in the order of the table."""
    return tuple(load_tables().cues)


def list_attributes() -> tuple[str, ...]:
    """Return the names of the attributes that have rules of their own, in the order of the table."""
    return tuple(load_tables().attributes)


def may_pass(number: int, *, subject: str) -> bool:
    """Whether the new state of a transition may be told of `subject` where the old one is somebody else's."""
    return subject in load_tables().transitions[number].of


def _find_mentioned(text: str, tables: Tables) -> frozenset[str]:
    return frozenset(_list_mentioned(text, tables))


def _list_mentioned(text: str, tables: Tables) -> Iterator[str]:
    return (name for name, pattern in tables.subjects.items() if pattern.search(text))


def _read_subject(part: str, *, before: str, latest: str, tables: Tables) -> str:
    if found := tables.subject_start.match(part):
        if _is_done_to_me(part, found.end()):
            return USER
        return _name_subject(found, tables)
    if found := next(filter(None, (pattern.match(part) for pattern in tables.others)), None):
        return USER if _is_done_to_me(part, found.end()) else found["who"]
    if _PRONOUN.match(part) or (latest and _NAMING.match(part)):
        return latest or before
    if (found := tables.possessor.search(part)) and not _ACTOR.match(part) and not _is_done_to_me(part, found.end()):
        return _name_subject(found, tables)
    if _FIRST_PERSON.match(part) or _FIRST_PERSON.search(part[:12]):
        return USER
    return before


def _name_subject(found: re.Match[str], tables: Tables) -> str:
    """The subject whose group, numbered in the order of the table, has matched."""
    return list(tables.subjects)[next(int(name[1:]) for name, group in found.groupdict().items() if group)]


def _is_done_to_me(part: str, end: int) -> bool:
    """Whether what somebody does, named up to `end`, is told because of what it does to the person."""
    return bool(_AND_I.match(part, end) or _DONE_TO_ME.match(part, end))


def _read_clause(part: str, *, subject: str, namings: tuple[Naming, ...], tables: Tables) -> Clause:
    attributes: dict[tuple[str, str], Value] = {}
    named_subject = tables.subject_start.match(part)
    own_name = all(map(concerns_self, namings))
    told = "" if named_subject is None else part[named_subject.end() :].lstrip("的 ")
    for name, attribute in tables.attributes.items():
        if attribute.unless and attribute.unless.search(part):
            continue
        for pattern in attribute.tell:
            if found := pattern.search(part) or (pattern.search(told) if told else None):
                groups = found.groupdict()
                whose = next(_list_mentioned(groups.get("of") or "", tables), subject)
                if subject not in (USER, whose):
                    whose = subject  # "my mother's dog is called …"
                if name == "name" and any(map(is_one_of_many, namings)):
                    break  # "my friend is called …"
                if name == "name" and whose == USER and not (own_name and _OWN_NAME.search(part)):
                    break  # 学了一道菜，叫做清蒸鲈鱼; "the museum is called …", "my boat is named …"
                attributes[whose, name] = _read_value(
                    " ".join(filter(None, (groups.get("v"), groups.get("w")))), tables
                )
                break
    for measure, value in _read_measures(part, tables):
        attributes[subject, measure] = value
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
        namings=namings,
        final=bool(tables.final.search(part)),
    )


_RISE = re.compile(r"(?:涨|加|升|降|减|多|少|长|胖|瘦|跌|掉)了$")
"""What stands before a difference: 涨了500 says nothing of how much it is now."""


def _read_measures(part: str, tables: Tables) -> Iterator[tuple[str, Value]]:
    """The measures a clause gives, by their name and what of."""
    text = write_digits(part)
    has_digit = any(map(str.isdigit, text))
    for name, measure in tables.measures.items():
        if measure.is_counted and not has_digit:
            continue
        found = next(filter(None, (pattern.search(text) for pattern in measure.tell)), None)
        if found is None or _RISE.search(text[: found.start("v")]):
            continue
        if measure.unless and measure.unless.search(text):
            continue
        of = found.groupdict().get("u") or ""
        rest = text.replace(found["v"], " ").replace(of or " ", " ")
        number = write_plainly(found["v"])
        counted = any(map(str.isdigit, number))
        yield (
            f"{name} {tables.aliases.get(of, of)}",
            Value(
                words=frozenset() if counted else frozenset({number}),
                numbers=frozenset({number}) if counted else frozenset(),
                about=_read_topic(rest) if measure.is_topical else frozenset(),
                is_moved=measure.is_moved,
            ),
        )


_PERIOD = re.compile(r"(?:每|1|一)个?(?:天|日|周|星期|礼拜|月|年|季度|晚)|[加增减升降提改控缩]\w?[到成为]")
_FILLERS = frozenset(
    "我每只才都也就了到能可以现已经改成为共的在有是用去做打练吃喝量多少大概约差不左右个起最近从又还要得着过上里"
)
"""Characters that say nothing of what a number is of."""


def _read_topic(text: str) -> frozenset[str]:
    """What the rest of a clause that gives a number speaks of: its telling words, or whatever character is left."""
    text = _PERIOD.sub(" ", text)
    return list_telling_words(text) or frozenset(character for character in text if character > "一") - _FILLERS


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
    re.compile(
        r"^(?P<value>.+?) (?:is|are|has become|have become|has overtaken .+ as|beats? .+ as|has replaced .+ as) "
        r"(?:now )?(?:my|our) (?:all time |new |absolute |current )*(?P<attribute>favou?rite [\w ]{2,24}?)"
        r"(?: now| these days| at the moment| by .+| of all time)*$"
    ),
)


def _read_named(part: str, tables: Tables) -> tuple[str, Value] | None:
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


def _read_value(text: str, tables: Tables) -> Value:
    words = list_telling_words(text)
    numbers = frozenset(_TIME_MARK.findall(text))
    if not words and not numbers and (bare := re.sub(r"[\W_了的]+", "", text)):
        words = frozenset({bare})
    return Value(words=words, numbers=numbers)


@cache_texts(20_000)
def list_telling_words(text: str) -> frozenset[str]:
    """The words of comparable `text` that say what it is about: no pronouns, numbers, nor words that fit anything."""
    tables = load_tables()
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
