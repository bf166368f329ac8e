"""The phrases of a newer text around what it shares with an older one, as numbers for `endings`. Pure.

After "I have a car", "I sold the car" reads "sold the S", and so would it after "I have a boat": what words say of
whatever was told before can be learned from a few thousand sentences. Numbers are told apart only by whether the older
text has them too. Phrases are hashed into a fixed table (Weinberger et al., 2009): no vocabulary has to be kept.
"""

from __future__ import annotations

import re
from typing import Final
from zlib import crc32

import numpy as np
import numpy.typing as npt

from apps.core.text.matching import stem
from apps.core.text.scripts import holds_chinese
from apps.core.text.text_cache import cache_texts
from apps.memory.atomic.compare import is_part, share
from apps.memory.atomic.frames import read_frame
from apps.memory.atomic.spelling import make_comparable

SIZE: Final = 1 << 16
"""Of the table."""

Codes = npt.NDArray[np.int64]

_TOKEN = re.compile(r"S|[a-z']+|\d[\d.,:]*|[\u4e00-\u9fff]|[,.;!?。]")
_WORD = re.compile(r"[a-z']+")
_NUMBER = re.compile(r"\d[\d.,:]*")
_SHARED, _SAME_NUMBER, _OTHER_NUMBER, _NUMBER_ALONE = "S", "N", "M", "0"
"""What stands for a word, or a number, that both texts have; for another number; for one where the older has none."""

_LONGEST, _LONGEST_AROUND = 3, 4
"""Tokens of a phrase, and of one with something shared in it."""

_REACH = 5
"""Tokens before and after something shared that count wherever they stand."""


def replace_shared(old: str, new: str) -> str:
    """Return the newer text with a pronoun for each thing that the older one names, too: what it says of anything."""
    after = make_comparable(new)
    shared = _share(old, new)
    pronoun = "它" if holds_chinese(new) else "it"
    for word in _list_unspaced(shared):
        after = after.replace(word, pronoun)
    return _WORD.sub(lambda found: pronoun if _is_shared(stem(found.group()), shared) else found.group(), after)


def list_phrases(old: str, new: str) -> Codes:
    """Return the codes, from 0 to `SIZE`, of the phrases of a pair of texts, each once."""
    shared = _share(old, new)
    numbers = frozenset(_NUMBER.findall(make_comparable(old)))
    return np.union1d(_list_older(old), _list_newer(new, shared, numbers))


def _share(old: str, new: str) -> frozenset[str]:
    before, after = read_frame(old).words, read_frame(new).words
    return share(after, before) | share(before, after)


@cache_texts(4_000)
def _list_older(text: str) -> Codes:
    tokens = [_NUMBER_ALONE if token[0].isdigit() else token for token in _TOKEN.findall(make_comparable(text))]
    return _encode({f"old {phrase}" for length in (1, 2) for phrase in _list_runs(tokens, length)})


@cache_texts(4_000)
def _list_newer(text: str, shared: frozenset[str], numbers: frozenset[str]) -> Codes:
    tokens = ["^", *_list_tokens(text, shared, numbers), "$"]
    phrases = {phrase for length in range(1, _LONGEST + 1) for phrase in _list_runs(tokens, length)}
    phrases |= {phrase for phrase in _list_runs(tokens, _LONGEST_AROUND) if _SHARED in phrase.split(" ")}
    for place, token in enumerate(tokens):
        if token == _SHARED:
            phrases |= {f"<{other}" for other in tokens[max(0, place - _REACH) : place]}
            phrases |= {f">{other}" for other in tokens[place + 1 : place + 1 + _REACH]}
    return _encode(phrases)


def _list_tokens(text: str, shared: frozenset[str], numbers: frozenset[str]) -> list[str]:
    """Stems and single Chinese characters, with marks for what is shared: several in a row are one."""
    comparable = make_comparable(text)
    for word in _list_unspaced(shared):
        comparable = comparable.replace(word, _SHARED)
    tokens: list[str] = []
    for token in _TOKEN.findall(comparable):
        mark = _mark(token, shared, numbers)
        if mark != _SHARED or tokens[-1:] != [_SHARED]:
            tokens.append(mark)
    return tokens


def _mark(token: str, shared: frozenset[str], numbers: frozenset[str]) -> str:
    if token[0].isdigit():
        return _NUMBER_ALONE if not numbers else _SAME_NUMBER if token in numbers else _OTHER_NUMBER
    if token == _SHARED or not token[0].isascii() or not token[0].isalpha():
        return token
    root = stem(token)
    return _SHARED if _is_shared(root, shared) else root


def _is_shared(root: str, shared: frozenset[str]) -> bool:
    return any(root == word or is_part(root, word) or is_part(word, root) for word in shared if word.isascii())


def _list_unspaced(words: frozenset[str]) -> list[str]:
    """The words that blanks do not tell apart, longest first."""
    return sorted((word for word in words if not word.isascii()), key=len, reverse=True)


def _list_runs(tokens: list[str], length: int) -> list[str]:
    return [" ".join(tokens[start : start + length]) for start in range(len(tokens) - length + 1)]


def _encode(phrases: set[str]) -> Codes:
    return np.unique(np.array([crc32(phrase.encode()) % SIZE for phrase in phrases], dtype=np.int64))
