"""Which of a person's remembered statements "forget …" means (SPEC L9): only what is plain is chosen. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from apps.core.text.fold import fold, normalize_value
from apps.core.text.keywords import load_stop_words
from apps.core.text.matching import match_words, stem
from apps.core.text.pronouns import NEUTRAL
from apps.core.text.segment import is_cjk


@dataclass(frozen=True, slots=True)
class Statement:
    """Something remembered that can end by itself: a sentence, or one value under its `key`."""

    text: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class Meant:
    """Positions of statements: those plainly meant, and those that share a word and may be meant."""

    plain: tuple[int, ...] = ()
    unclear: tuple[int, ...] = ()


_NOT = re.compile(r"\b(?:not|no|never|cannot|\w+n't|dont|doesnt)\b|不|没|别")
_CLAUSE = re.compile(
    r"^(?:i|i'm|i've|i'd|i'll|we|he|she|they|it)\b|\b(?:is|are|was|were|has|have|likes?|lives?|works?)\b"
    r"|^(?:我|他|她|我们)(?!的).{3,}"
)
_COPULA = re.compile(r"^(?:is|are|was|were|=|:|：|是|为|在|叫|于)")
_OTHERS = re.compile(r"(?:['’]s|\b(?:his|her|their|our|your))\s+(?:\w+\s+)?$|[\u3400-\u9fff]的?$")
_FILLER = frozenset({"user", "用户"})


def find_meant(what: str, statements: Sequence[Statement], *, everything: bool = False) -> Meant:
    """Return which statements `what` means.

    Plain: the same words; the value of a key of this name; what says something of it ("my birthday" of "My birthday is
    on 3 May"); the only statement that names it, unless as somebody else's. `everything`: each that names it, and all
    of them where `what` is "". Nothing else is plain: what may be meant besides is for a model, or the person, to say.
    """
    if not what:
        return Meant(plain=tuple(range(len(statements)))) if everything else Meant()
    words, normal = _content(what), normalize_value(what)  # once: it may be as long as a message
    denies = bool(_NOT.search(fold(what)))
    same = {at for at, one in enumerate(statements) if _is_same(one, normal=normal, words=words, denies=denies)}
    naming = [at for at, one in enumerate(statements) if words and words <= _content(f"{one.key} {one.text}", words)]
    sharing = [at for at, one in enumerate(statements) if words & _content(f"{one.key} {one.text}", words)]
    if everything:
        plain = same | set(naming)
    elif _CLAUSE.search(fold(what).replace("’", "'")):
        plain = same
    else:
        plain = same | {at for at in naming if _begins_with(normal, statements[at].text)}
        plain = plain or {at for at in naming if len(naming) == 1 and not _is_of_another(what, statements[at].text)}
    return Meant(tuple(sorted(plain)), tuple(at for at in sharing if at not in plain))


def _is_same(statement: Statement, *, normal: str, words: frozenset[str], denies: bool) -> bool:
    if normal in (normalize_value(statement.text), normalize_value(statement.key or statement.text)):
        return True
    both = f"{statement.key} {statement.text}"
    return bool(words) and words == _content(both) and denies == bool(_NOT.search(fold(both)))


def _begins_with(normal: str, text: str) -> bool:
    said = normalize_value(text)
    return said.startswith(normal) and bool(_COPULA.match(said[len(normal) :]))


def _is_of_another(what: str, text: str) -> bool:
    """Whether a statement names what is mine as somebody else's: my birthday, "my sister's birthday"."""
    folded = fold(what)
    if not re.match(r"my\b|我", folded):
        return False
    name = re.sub(r"^(?:my\s+|我的?)", "", folded)
    before = fold(text).partition(name)[0].removesuffix("我的").removesuffix("我")
    return bool(_OTHERS.search(before))


def _content(text: str, wanted: frozenset[str] = frozenset()) -> frozenset[str]:
    """The content words of a text by their stems; of Chinese also those of `wanted` that stand in it."""
    stop_words, folded = load_stop_words(), fold(text)
    words = {stem(word) for word in match_words(text) if word != NEUTRAL and word not in stop_words}
    return frozenset(words - _FILLER | {word for word in wanted if is_cjk(word) and word in folded})
