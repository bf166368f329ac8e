"""Names of places, from the parts of speech in the dictionary that words are cut by."""

from __future__ import annotations

import warnings
from functools import cache

from apps.core.text.fold import fold

_TAG = "ns"
_SUFFIXES = ("市", "省", "县", "区", "镇", "乡", "村")


def is_place_name(name: str) -> bool:
    """Whether `name` is a Chinese place name and nothing else: 南京, 南京市; not 南京大学."""
    folded = fold(name).strip()
    return folded in _load_names() or (folded.endswith(_SUFFIXES) and folded[:-1] in _load_names())


@cache
def _load_names() -> frozenset[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jieba's source has invalid escapes, reported whenever it is compiled
        import jieba
    with jieba.get_dict_file() as file:
        rows = (line.decode("utf-8").split() for line in file)
        return frozenset(fold(row[0]) for row in rows if row[-1] == _TAG)
