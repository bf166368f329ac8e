"""Is a memory one too many? Judged by rules of the benchmark's own, which share nothing with those they judge. Pure."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from pathlib import Path

import numpy as np

SAME_COSINE = 0.97
"""From here on a pair of memories is looked at: it may say the same in other words (issue 3)."""


with (Path(__file__).parent / "words.toml").open("rb") as _file:
    _LISTS = tomllib.load(_file)
_FUNCTION_WORDS = frozenset(_LISTS["function"].split())
_NUMBERS_AND_NEGATIONS = frozenset(_LISTS["numbers"].split() + _LISTS["negations"].split())
# Whole words in English: "there" must not lose its "the".
_COURTESY_EN = re.compile(rf"\b({'|'.join(_LISTS['courtesies_en'])})\b", re.ASCII)
_COURTESY_ZH = re.compile("|".join(_LISTS["courtesies_zh"]))


class Verdict(Enum):
    """What a pair of memories with nearly the same vector is."""

    SAME = "same words"
    DIFFERENT = "other number, name, negation"
    DOUBTFUL = "to be judged"


@dataclass(frozen=True, slots=True)
class Remembered:
    """An active memory: whose, of which kind, what it says, what its owner had said, and its vector if it has one."""

    user: str
    kind: str
    text: str
    said: str | None
    vector: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class NearPair:
    """Two active memories of one kind and one person whose vectors nearly agree."""

    first: str
    second: str
    cosine: float
    verdict: Verdict


def find_repeats(memories: Iterable[Remembered]) -> list[str]:
    """Return the text of each memory that its owner has another one of, letter for letter but for case and marks."""
    seen: set[tuple[str, str, str]] = set()
    repeats = []
    for memory in memories:
        key = (memory.user, memory.kind, "".join(re.findall(r"\w", _fold(memory.text))))
        if key in seen:
            repeats.append(memory.text)
        seen.add(key)
    return repeats


def find_near_pairs(memories: Sequence[Remembered]) -> list[NearPair]:
    """Return the pairs of one kind and one person whose vectors have a cosine over `SAME_COSINE`, nearest first."""
    pairs = []
    owned = sorted((memory for memory in memories if memory.vector is not None), key=_get_owner)
    for _, group in groupby(owned, key=_get_owner):
        mine = list(group)
        vectors = np.stack([memory.vector for memory in mine if memory.vector is not None])
        vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        cosines = np.triu(vectors @ vectors.T, k=1)
        for first, second in np.argwhere(cosines > SAME_COSINE):
            one, other = mine[first].text, mine[second].text
            cosine = round(float(cosines[first, second]), 4)
            pairs.append(NearPair(first=one, second=other, cosine=cosine, verdict=judge_pair(one, other)))
    return sorted(pairs, key=lambda pair: -pair.cosine)


def _get_owner(memory: Remembered) -> tuple[str, str]:
    return memory.user, memory.kind


def judge_pair(first: str, second: str) -> Verdict:
    """Say whether two texts with nearly the same vector mean the same, as far as a simple rule can.

    Chinese names look like any other word: a difference there leaves the pair to the reader.
    """
    one, other = (Counter(_split(text)) for text in (first, second))
    apart = {word for word in (one - other) + (other - one) if word.lower() not in _FUNCTION_WORDS}
    if not apart or {word.lower() for word in one} == {word.lower() for word in other}:
        return Verdict.SAME
    # A capital inside a sentence makes a name; at its beginning any word has one.
    names = {word for text in (first, second) for word in re.findall(r"(?<=[a-z,] )[A-Z][a-z]+", text)}
    for word in apart:
        if word[0].isdigit() or word.lower() in _NUMBERS_AND_NEGATIONS or word in names:
            return Verdict.DIFFERENT
    return Verdict.DOUBTFUL


def _split(text: str) -> list[str]:
    """Latin words with their case, numbers, and each Chinese character by itself."""
    plain = unicodedata.normalize("NFKC", text).replace("’", "'")
    return re.findall(r"[A-Za-z]+(?:'[a-z]+)?|\d+(?:[.,:]\d+)*|[\u3400-\u9fff]", plain)


_SENTENCE = re.compile(r"[^.!?。！？~\n…]+[.!?。！？~…]*")
_ASKING_ZH = re.compile(r"(吗|呢|么|吧\?|什么|怎么样|如何|为什么|哪里|哪儿|哪个|几点|多少|谁)(啊|呀|呢)?[.。!！?]*$")
_UNDECIDED_ZH = re.compile(r"(还没|没有?)(决定|想好|定)")
"""去不去还没想好呢 sounds like a question, and tells of a plan."""
_TELLING = re.compile(r"^(?!\s*(如果|要是|假如|if|when)).*(我|\b(i|i'm|my|we|our)\b)", re.ASCII)
_ASKING_EN = re.compile(
    r"^(what|who|whom|whose|where|when|why|how|which)\b.*\b(is|are|do|does|did|can|should|will|would)\b"
)


def says_nothing_lasting(message: str) -> bool:
    """Whether a message holds questions, thanks, greetings and the like and nothing else: nothing to remember."""
    return all(_is_passing(sentence) for sentence in _SENTENCE.findall(unicodedata.normalize("NFKC", message)))


def _is_passing(sentence: str) -> bool:
    text = sentence.strip().lower()
    asks_zh = _ASKING_ZH.search(text) and not _UNDECIDED_ZH.search(text)
    if re.search(r"\?[.!~…]*$", text) or asks_zh or _ASKING_EN.search(text):
        # "I love painting, do you?" asks, and yet it tells something of its speaker.
        return not any(_TELLING.search(clause) for clause in re.split("[,，;；:]", text)[:-1])
    words = re.sub(r"[^\w']+", " ", text)
    return not _COURTESY_ZH.sub("", _COURTESY_EN.sub("", words)).strip()


def find_junk(memories: Iterable[Remembered]) -> list[Remembered]:
    """Return the memories that come from a message in which nothing lasting was said."""
    return [memory for memory in memories if memory.said is not None and says_nothing_lasting(memory.said)]


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
