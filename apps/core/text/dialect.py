"""Written Cantonese in the words of written Mandarin, so that rules and lexicons for the one read the other."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

_MARK = re.compile(
    r"[喺咗嘅冇係佢啲嗰𠮶睇嚟畀諗谂瞓癐𤶊攰啱哋]|喇(?![叭嘛沙])|唔[係系使好想知得识識会會该該再食饮飲养養要够夠]"
    r"|而家|依家|屋企|返工|鍾意|钟意|[转轉]工|其[实實][係系](?![统統列])"
)
"""Without one of these a text is no Cantonese, and 中意 or 成日 may be something else in it."""
_PARTS: Mapping[str, tuple[str, str]] = {
    "喇": (r"喇(?![叭嘛沙])", "了"),
    "唔": (r"唔(?![,，。.!！~～…\s])", "不"),
    "系": (r"(?<![关體体聯联])系(?![统統列])", "是"),
}
"""Characters that also are parts of Mandarin words or sighs, where they stand for themselves, and their Mandarin."""


def spell_mandarin(text: str) -> str:
    """`text` with Cantonese words in Mandarin ones of the same length: 我喺屋企 is 我在家里. Folded or not.

    A text without any sign of Cantonese stays as it is.
    """
    if not _MARK.search(text):
        return text
    pattern, spellings = _load_spellings()
    return pattern.sub(lambda found: spellings[found.group()], text)


@cache
def _load_spellings() -> tuple[re.Pattern[str], Mapping[str, str]]:
    lines = files(__package__).joinpath("data/cantonese.txt").read_text(encoding="utf-8").splitlines()
    words = {line.split()[0]: line.split()[1] for line in lines if not line.startswith("#")}
    pattern = "|".join([*sorted(words, key=len, reverse=True), *(part for part, _spelling in _PARTS.values())])
    return re.compile(pattern), {**words, **{word: spelling for word, (_part, spelling) in _PARTS.items()}}
