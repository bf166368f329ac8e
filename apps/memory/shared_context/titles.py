"""Whether two titles name the same case. Pure: no Django."""

from __future__ import annotations

from apps.core.text.fold import normalize_key
from apps.core.text.keywords import extract_keywords
from apps.core.text.matching import stem

_MAX_WORDS = 50


def names_same_case(one: str, other: str) -> bool:
    """Whether one title says all that the other does.

    合同纠纷 and 张三合同纠纷案 do; 李四合同纠纷案 and 张三合同纠纷案 are two cases.
    """
    if normalize_key(one) == normalize_key(other):
        return True
    words, others = _words(one), _words(other)
    return bool(words and others) and (words <= others or others <= words)


def _words(title: str) -> set[str]:
    return {stem(word) for word in extract_keywords(title, limit=_MAX_WORDS)}
