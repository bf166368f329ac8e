"""What a clause calls somebody or something: "our quiz team is called …", "I report to …", "call me …". English; pure.

A name is told by its capitals, which comparable text has lost: `find_proper` reads them from the text as it is written.
The words are in `data/naming.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from importlib.resources import files

from apps.core.text.matching import stem

OWN = "own name"
CALLED = "called"
SURNAME = "surname"
"""Heads of what the person is called: their name, what they want to be called, their last name."""

UNKNOWN = "?"
"""The head of "she is … now" where nobody was spoken of."""

_MISSPELT = 0.7
"""How much alike two spellings of one name are at least."""

_CAPITALISED = re.compile(r"(?<![A-Za-z])[A-Z][\w-]*")
_LINKS = frozenset({"of", "the", "and", "&", "von", "van", "de", "la", "bin", "al"})
_TITLES = ("dr", "mr", "mrs", "ms", "miss", "prof", "professor", "sir", "brother", "father", "st")
_TITLED = re.compile(rf"(?:{'|'.join(_TITLES)})\b")
_ADJECTIVE = re.compile(
    r"\w{2,}(?:ish|ese|ian|ean|can)$|(?:german|indian|greek|dutch|french|swiss|thai|czech|muslim|catholic|welsh|hindu)$"
)
"""Where somebody is from, or what they believe, has a capital too."""

_OF = r"(?P<of>[a-z][\w' -]*?)"
_NAMINGS = (
    re.compile(rf"{_OF}'s (?:new |full |real |actual |proper |official )*(?:name|title)(?: is| reads) (?P<v>.+)"),
    re.compile(rf"new name (?:of|for) (?:the|my|our) {_OF} is (?P<v>.+)"),
    re.compile(
        rf"{_OF} (?:(?:is|are|was|will be) )?(?:now |officially |actually ){{0,3}}"
        r"(?:called|named|titled|renamed)(?: to)? (?P<v>.+)"
    ),
    re.compile(r"(?P<of>(?:my|our|the|\w+'s) [a-z][\w ]{1,24}?) is (?:now |actually |officially |called )*(?P<v>.+)"),
    re.compile(r"^(?P<v>.+?) is (?P<of>(?:my|our) (?:new )?[\w ]{2,24})$"),
    re.compile(r"\b(?P<of>report)(?:s|ing)? to (?P<v>.+)"),
    re.compile(r"\bsettled on (?P<v>.+?) for (?P<of>(?:the|my|our) [\w ]+?)(?: in the end)?$"),
    re.compile(r"^(?P<of>(?:my|our) [\w ]+?) (?:goes by|go by|wants to be|prefers|answers to) (?P<v>.+)"),
)
_CHANGED = re.compile(r"\bchanged (?P<of>(?:my|our|the) [\w ]+?)(?:'s)?(?: name)? to (?P<v>\w+)")
"""Of these even a name without a capital is one: "changed my username to …"."""

_GIVEN = re.compile(
    r"\b(?:re)?(?:named|christened|nicknamed|name|naming|calling|call|calls) (?P<rest>(?:my|our|the|his|her|him|it) .+)"
)
_GIVEN_TO = re.compile(r"\b(?:re)?(?:named|christened|baptised|branded) (?P<of>(?:my|our|the|his|her) [\w ]+)$")
_PRONOUN = re.compile(
    r"(?:^|\b(?:says?|said|insists|so|and|that|but) )(?:he|she|it|we named (?:him|her|it)|named (?:him|her|it))"
    r"(?: is|'s| goes by| answers to|(?<=him)|(?<=her)|(?<=it)) (?:called |named |actually |now )*(?P<v>.+)"
)
_WE = re.compile(r"(?:^|\bso )(?:we|i) (?:are|am) (?:called |now )*(?P<v>.+)")
_OWN = (
    (
        re.compile(
            r"\b(?:calling|called) me (?P<v>.+)|^i am called (?P<v3>.+)"
            r"|\b(?:wants?|like|prefer) to be called (?P<v2>.+)"
        ),
        (CALLED,),
    ),
    (re.compile(r"(?:^|^please |\b(?:you|everyone|everybody|people|they|can|just|to) )calls? me (?P<v>.+)"), (CALLED,)),
    (re.compile(r"\bi (?:am )?(?:go|goes|going|went) by (?P<v>.+)|\bput me down as (?P<v2>.+)"), (CALLED, OWN)),
    (re.compile(r"^i (?:\w+ )?(?:rather|want to|prefer) (?:be )?(?P<v>.+)"), (CALLED,)),
    (re.compile(r"\bi am (?P<v>(?:mrs?|ms|miss|dr)\b.+)"), (CALLED, OWN)),
    (
        re.compile(r"^it is (?:now |spelled |spelt )?(?P<v>.+ (?:from (?:now|here) on|going forward|with an? \w)\b.*)"),
        (CALLED, OWN),
    ),
    (re.compile(r"\bmy (?:full |real |legal |own |first )?name is (?P<v>.+)"), (OWN,)),
    (re.compile(r"^(?:hi |hello |hey )?i am (?P<v>.+)"), (OWN,)),
)
_CALLER = re.compile(r"^(?:my|our|the) (?P<who>[\w ]+?) calls? me (?P<v>.+)")
_SPELLING = re.compile(
    r"\bi spells? (?:it|my name)\b|\bspell\w* (?:me|my name)\b|\bmy name (?:is )?(?:wrong|misspel\w+)"
    r"|^it is spel[lt]\w* "
)
_NEW_SURNAME = re.compile(
    r"\b(?:maiden|married) name\b|\b(?:husband|wife|partner)'s (?:surname|(?:last|family) name)\b"
)
_EXPLICIT = re.compile(
    r"\b(?:names?|title|called|named|titled|renamed|christened|rechristened|call me|report|reports|reporting|surname)\b"
)
_RELATIVE = re.compile(r" (?:that |which )?(?:i|we) (?:am|are|have|be) .*$|^(?:i|we) .*?\b(?:an?|the|my|our) ")
_INDEFINITE = re.compile(
    r"\ban? (?:\w+ )*\w+$|\b(?:other|another|first|2nd|second|third|old|ex|previous|late|former) \w+$"
)
_ADVERBS = re.compile(r"(?: (?:now|these days|again|instead|any ?more|today|currently))+$")


@dataclass(frozen=True, slots=True)
class Naming:
    """`head`: what is called so, in one word; `words`: of the name, empty where it is only told that there is another.

    ``definite``: it is one that is known ("my boat", not "a boat"); ``certain``: it is a name for sure ("is called");
    ``marked``: it is told as another than before.
    """

    head: str
    words: frozenset[str]
    definite: bool
    certain: bool
    marked: bool


@dataclass(frozen=True, slots=True)
class _Words:
    no_names: frozenset[str]
    many: frozenset[str]
    roles: frozenset[str]
    groups: frozenset[str]
    heads: Mapping[str, str]
    head: re.Pattern[str]
    marks: re.Pattern[str]


@cache
def _load_words() -> _Words:
    table = tomllib.loads(files(__package__).joinpath("data/naming.toml").read_text(encoding="utf-8"))
    heads = {word: stem(word) for word in (table["others"] + " " + table["roles"] + " " + table["groups"]).split()}
    heads |= {word: row.split()[0] for row in table["kinds"] for word in row.split()}
    return _Words(
        no_names=frozenset(table["no_names"].split()),
        many=frozenset(stem(word) for word in table["many"].split()),
        roles=frozenset(stem(word) for word in table["roles"].split()),
        groups=frozenset(stem(word) for word in table["groups"].split()),
        heads=heads,
        head=re.compile(rf"\b(?:{'|'.join(heads)})\b"),
        marks=re.compile(table["marks"]),
    )


def find_proper(text: str) -> frozenset[str]:
    """Return the capitalised words of `text`, folded."""
    return frozenset(word.lower() for word in _CAPITALISED.findall(text)) - _load_words().no_names


def read_namings(part: str, *, sentence: str, proper: frozenset[str], latest: str) -> tuple[Naming, ...]:
    """Return what a clause of a sentence of comparable text calls things.

    `latest`: the head of what was spoken of before (`find_head`), to which "it" and a bare name belong.
    """
    explicit = bool(_EXPLICIT.search(part))
    if not part.isascii() or not (proper or explicit or _CHANGED.search(part)):
        return ()
    if _NEW_SURNAME.search(part) and re.search(r"\bmy\b", part):
        return (Naming(head=SURNAME, words=frozenset(), definite=True, certain=True, marked=True),)
    marked = bool(_load_words().marks.search(sentence))
    points = (latest not in ("", OWN) and part.startswith("it is")) or (
        latest in _load_words().groups and marked and _WE.search(part)
    )
    if not points and (own := _read_own(part, proper=proper, explicit=explicit, marked=marked)):
        return own
    found = _read_naming(part, proper=proper, explicit=explicit, marked=marked) or _read_pronoun(
        part, proper=proper, latest=latest, marked=marked
    )
    return (found,) if found else ()


def find_head(part: str) -> str:
    """Return what a clause speaks of that may be called something: the last person, animal or thing of a known kind."""
    if _SPELLING.search(part):
        return OWN
    if given := _GIVEN_TO.search(part):
        return _read_head(given["of"])
    words = _load_words()
    return words.heads[found[-1]] if (found := words.head.findall(part)) else ""


def _read_naming(part: str, *, proper: frozenset[str], explicit: bool, marked: bool) -> Naming | None:
    if given := _GIVEN.search(part):
        tokens = given["rest"].split()
        begin = next((index for index, token in enumerate(tokens) if token.strip(".,!'") in proper), 0)
        words = _read_name(" ".join(tokens[begin:]), proper=proper, explicit=False)
        head = _read_head(" ".join(token for token in tokens[:begin] if token not in ("to", "as")))
        if begin and head and words:
            return Naming(head=head, words=words, definite=True, certain=True, marked=marked)
    if (changed := _CHANGED.search(part)) and (head := _read_head(changed["of"])):
        return Naming(head=head, words=frozenset({changed["v"]}), definite=True, certain=False, marked=True)
    known = _load_words()
    for pattern in _NAMINGS:
        for found in pattern.finditer(part):
            named = _ADVERBS.sub("", _RELATIVE.sub("", found["of"]).strip())
            head = "boss" if named == "report" else _read_head(named)
            words = _read_name(found["v"], proper=proper, explicit=explicit or head in ("usernam", "handl"))
            if head and words:
                return Naming(
                    head=head,
                    words=words,
                    definite=not _INDEFINITE.search(found["of"]),
                    certain=explicit or head in known.heads.values() or head == SURNAME,
                    marked=marked or (" new " in f" {named} " and head in known.roles),
                )
    return None


def _read_pronoun(part: str, *, proper: frozenset[str], latest: str, marked: bool) -> Naming | None:
    """The naming in "it's Katya" or a bare "Katya" of what was spoken of before."""
    found = _PRONOUN.search(part) or (_WE.search(part) if latest in _load_words().groups and marked else None)
    words = _read_name(found["v"] if found else part, proper=proper, explicit=False)
    head = latest or (find_head(part[: found.start()]) if found else "") or (UNKNOWN if found and marked else "")
    if not words or not head or (not found and (not marked or words != frozenset(part.split()))):
        return None
    return Naming(head=head, words=words, definite=True, certain=False, marked=marked)


def _read_own(part: str, *, proper: frozenset[str], explicit: bool, marked: bool) -> tuple[Naming, ...]:
    if (caller := _CALLER.search(part)) and (words := _read_name(caller["v"], proper=proper, explicit=explicit)):
        called = Naming(head=f"called by {caller['who']}", words=words, definite=True, certain=True, marked=marked)
        titled = bool(_TITLED.match(caller["v"]))
        return (called, *((_name_last(caller["v"], words, certain=True, marked=marked),) if titled else ()))
    for pattern, heads in _OWN:
        if found := pattern.search(part):
            told = next(filter(None, found.groups()))
            words = _read_name(told, proper=proper, explicit=explicit)
            if not words:
                continue
            certain = explicit or CALLED in heads
            whole = [Naming(head=head, words=words, definite=True, certain=certain, marked=marked) for head in heads]
            if len(words) > 1 or _TITLED.match(told):
                whole.append(_name_last(told, words, certain=certain, marked=marked))
            return tuple(whole)
    return ()


def _name_last(told: str, words: frozenset[str], *, certain: bool, marked: bool) -> Naming:
    """The last name in a whole one."""
    last = next(token for token in reversed(re.findall(r"[\w-]+", told)) if token in words)
    return Naming(head=SURNAME, words=frozenset({last}), definite=True, certain=certain, marked=marked)


def _read_head(phrase: str) -> str:
    """The noun that a phrase is about: "my sourdough starter" is about a starter; "" where there is none."""
    known = _load_words()
    words = [word.removesuffix("'s") for word in phrase.split()]
    if not words or words[-1] in known.no_names or words[-1] in {"you", "me", "favorite", "favourite", "who", "what"}:
        return ""
    if words[-1] in ("surname", "lastname") or words[-2:] in (["last", "name"], ["family", "name"]):
        return SURNAME
    if words[-1] == "name":
        return ""
    head = known.heads.get(words[-1], stem(words[-1]))
    owner = next((word for word in phrase.split()[:-1] if word.endswith("'s")), "")
    return f"{owner} {head}".strip()  # "my mum's dog" is not "my dog"


def _read_name(text: str, *, proper: frozenset[str], explicit: bool) -> frozenset[str]:
    """The words of the name that `text` begins with; without any capitals its first word, where naming is explicit."""
    name: list[str] = []
    for token in re.split(r"[\s\"“”]+", text):
        word = token.strip(".,!?'").removesuffix("'s")
        if word in proper and not _ADJECTIVE.match(word):
            if word not in _TITLES:
                name.append(word)
        elif name and word not in _LINKS:
            break
        elif not name and word not in _LINKS and word not in _TITLES:
            return frozenset({word}) if explicit and word.isalpha() and not proper else frozenset()
    return frozenset(name)


def concerns_self(naming: Naming) -> bool:
    """Whether it is the person who is called so."""
    return naming.head in (OWN, CALLED, SURNAME)


def is_one_of_many(naming: Naming) -> bool:
    """Whether there are others of its kind with names of their own, as of friends."""
    return naming.head in _load_words().many


def is_renamed(old: Naming, new: Naming, *, said: frozenset[str]) -> bool:
    """Whether what `old` calls by one name has another now, or turns out to have.

    `said`: the words of the new text; by its old name it tells what "she" is.
    """
    if not new.definite or (old.head != new.head and not (new.head == UNKNOWN and {*map(stem, old.words)} & said)):
        return False
    if not (old.words and new.words):
        return new.marked and bool(old.words)
    if old.words <= new.words or new.words <= old.words:
        return False
    if new.marked or _is_misspelt(old.words, new.words):
        return True
    return old.certain and new.certain and not is_one_of_many(old)


def _is_misspelt(old: frozenset[str], new: frozenset[str]) -> bool:
    return any(SequenceMatcher(None, one, other).ratio() >= _MISSPELT for one in old for other in new)
