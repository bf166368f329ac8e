"""Match "forget …" with a person's remembered statements (L9): what one memory, or one key, plainly says. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apps.core.text.attributes import Attribute, find_attribute, find_told_attribute
from apps.core.text.fold import fold, normalize_key, normalize_value
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
    """Positions of statements: those plainly meant, and those that may be meant."""

    plain: tuple[int, ...] = ()
    unclear: tuple[int, ...] = ()


_NOT = re.compile(r"\b(?:not|no|never|cannot|\w+n't|dont|doesnt)\b|不|没|别")
_CLAUSE = re.compile(
    r"^(?:i|i'm|i've|i'd|i'll|we|he|she|they|it|where|how|what|when|who|which)\b|\b(?:is|are|was|were|has|have|likes?|lives?|works?)\b"
    r"|^(?:我|他|她|我们)(?!的).{3,}"
)
_COPULA = re.compile(r"^(?:is|are|was|were|=|:|：|是|为|在|叫|于)")
_OTHERS = re.compile(r"(?:['’]s|\b(?:his|her|their|our|your))\s+(?:\w+\s+)?$|[\u3400-\u9fff]的?$")
_FILLER = frozenset({"user", "用户"})


def find_tellable(what: str) -> Attribute | None:
    """Return the attribute that `what`, or a remembered key, names, if sentences are known to tell it."""
    attribute = find_attribute(what)
    return attribute if attribute is not None and attribute.telling is not None else None


def match_forget_targets(what: str, statements: Sequence[Statement], *, doubtful: bool = False) -> Meant:
    """Return which statements `what` means.

    Plain are those of one key, or one memory that alone says it, each with what says the same in other kinds. Where
    several may be meant none is plain. `doubtful`: none is, and only what names all of it may be meant.
    """
    asked = _read(what)
    words = [_content(f"{one.key} {one.text}", asked.words) for one in statements]
    said = [at for at, one in enumerate(statements) if _says(asked, one, words[at])]
    naming = [at for at, found in enumerate(words) if asked.words and asked.words <= found]
    if doubtful:
        return Meant(unclear=tuple(sorted({*said, *naming})))
    if not said and not asked.is_clause and asked.attribute is None:
        said = naming if len(naming) == 1 and not _is_of_another(what, statements[naming[0]].text) else []
    plain = _choose_one(asked, said, statements)
    plain |= {at for at in range(len(statements)) if any(_is_twin(statements, words, at, one) for one in plain)}
    sharing = [at for at, found in enumerate(words) if asked.words & found or at in said or at in plain]
    if len({normalize_key(statements[at].key) for at in plain if statements[at].key}) > 1:
        plain = set()
    return Meant(tuple(sorted(plain)), tuple(at for at in sharing if at not in plain))


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is to be forgotten. `attribute`: the one that it names, or that it tells."""

    normal: str
    words: frozenset[str]
    denies: bool
    is_clause: bool
    attribute: Attribute | None


def _read(what: str) -> _Asked:
    folded = fold(what).replace("’", "'")
    attribute = find_tellable(what)
    is_clause = attribute is None and _CLAUSE.search(folded) is not None
    return _Asked(
        normal=normalize_value(what),
        words=_content(what),
        denies=_denies(what),
        is_clause=is_clause,
        attribute=find_told_attribute(what) if is_clause else attribute,
    )


def _says(asked: _Asked, one: Statement, words: frozenset[str]) -> bool:
    """Whether a statement plainly says what is to be forgotten."""
    if asked.normal in (normalize_value(one.text), normalize_value(one.key or one.text)):
        return True
    if asked.words and asked.words == words and asked.denies == _denies(f"{one.key} {one.text}"):
        return True
    if asked.attribute is None:
        said = normalize_value(one.text)
        begins = said.startswith(asked.normal) and _COPULA.match(said[len(asked.normal) :])
        return not one.key and not asked.is_clause and bool(begins)
    if not _tells_attribute(asked.attribute, one):
        return False
    if not asked.is_clause:
        return True
    # "Forget that I live in Leeds": not that I live in York.
    return asked.denies == _denies(one.text) and (
        normalize_value(one.text) in asked.normal if one.key else asked.words <= words and not asked.attribute.is_list
    )


def _choose_one(asked: _Asked, said: Iterable[int], statements: Sequence[Statement]) -> set[int]:
    """The statements of the one key, or the one memory, that say it; none where there are several."""
    keyed = {at for at in said if statements[at].key}
    keys = {normalize_key(statements[at].key) for at in keyed}
    free = {at for at in said if at not in keyed}
    of_attribute = {at for at in free if asked.attribute and _tells_attribute(asked.attribute, statements[at])}
    texts = {normalize_value(statements[at].text) for at in free - of_attribute}
    if len(keys) > 1 or (not keys and len(texts) + bool(of_attribute) > 1):
        return set()
    values = {normalize_value(statements[at].text) for at in keyed}
    with_value = {at for at in free if any(value and value in normalize_value(statements[at].text) for value in values)}
    return keyed | of_attribute | with_value if keys else free


def _is_twin(statements: Sequence[Statement], words: Sequence[frozenset[str]], at: int, ended: int) -> bool:
    """Whether a statement says what an ended one says, kept in another kind: `home: Leeds`, "I live in Leeds"."""
    one, other = statements[at], statements[ended]
    if words[at] and words[at] == words[ended]:
        return _denies(one.text) == _denies(other.text)
    if bool(one.key) == bool(other.key):
        return False
    entry, sentence = (one, other) if one.key else (other, one)
    attribute, value = find_tellable(entry.key), normalize_value(entry.text)
    # Of a list the sentence may say more: "I'm allergic to nuts and shrimp".
    if attribute is None or attribute.is_list or not value or value not in normalize_value(sentence.text):
        return False
    return _tells_attribute(attribute, sentence) and _denies(entry.text) == _denies(sentence.text)


def _tells_attribute(attribute: Attribute, one: Statement) -> bool:
    return find_tellable(one.key) == attribute if one.key else attribute.is_told(one.text)


def _denies(text: str) -> bool:
    return _NOT.search(fold(text)) is not None


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
