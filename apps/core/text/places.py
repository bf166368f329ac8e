"""Names of places, from the parts of speech in the dictionary that words are cut by."""

from __future__ import annotations

import re
import warnings
from functools import cache

from apps.core.text.fold import fold
from apps.core.text.remembering import remember_texts

_TAG = "ns"
_SUFFIXES = ("市", "省", "县", "区", "镇", "乡", "村")
_SHORTEST, _LONGEST = 2, 5
_HAN = re.compile(r"[\u4e00-\u9fff]{2,}")
_ENGLISH = re.compile(r"\b(?:in|to|from|near|at|around|outside|left|leaving)\s+((?:[A-Z][\w'’-]+)(?:\s[A-Z][\w'’-]+)*)")
"""Where an English text names a place, or at least says a name as one says a place's."""


def is_place_name(name: str) -> bool:
    """Whether `name` is a Chinese place name and nothing else: 南京, 南京市; not 南京大学."""
    folded = fold(name).strip()
    return folded in _load_names() or (folded.endswith(_SUFFIXES) and folded[:-1] in _load_names())


@remember_texts(4_000)
def find_places(text: str) -> frozenset[str]:
    """Return the folded names of places in `text`: Chinese ones of the dictionary, English ones by what precedes them.

    Some are none ("at Google", 大理 in 大理石): for what weighs evidence, not for what needs to be sure.
    """
    names = _load_names()
    found = {fold(match[1]) for match in _ENGLISH.finditer(text)}
    for run in _HAN.findall(fold(text)):
        for start in range(len(run) - _SHORTEST + 1):
            ends = range(start + _SHORTEST, min(len(run), start + _LONGEST) + 1)
            found |= {run[start:end] for end in ends if run[start:end] in names}
    return frozenset(found)


@cache
def _load_names() -> frozenset[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jieba's source has invalid escapes, reported whenever it is compiled
        import jieba
    with jieba.get_dict_file() as file:
        rows = (line.decode("utf-8").split() for line in file)
        return frozenset(fold(row[0]) for row in rows if row[-1] == _TAG)
