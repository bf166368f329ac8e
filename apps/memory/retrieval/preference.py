"""Does a message state a preference or ask about one (K6)? A short curated list of cues decides, in both languages."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from apps.core.text.fold import fold
from apps.core.text.matching import stem
from apps.core.text.segment import is_cjk

_ENGLISH = re.compile(r"(?<![^\W_])[a-z]+(?![^\W_])", re.ASCII)
_CUES = Path(__file__).parent / "data" / "preference_cues.txt"


def concerns_preference(message: str) -> bool:
    """Whether `message` states a preference or asks about one, such as 我喜欢的颜色是什么 or "I prefer tea"."""
    chinese, english_stems = _load_cues()
    folded = fold(message)
    return any(cue in folded for cue in chinese) or any(
        stem(word) in english_stems for word in _ENGLISH.findall(folded)
    )


@cache
def _load_cues() -> tuple[frozenset[str], frozenset[str]]:
    lines = _CUES.read_text("utf-8").splitlines()
    cues = {cue for line in lines if not line.startswith("#") for cue in line.split()}
    chinese = frozenset(filter(is_cjk, cues))
    return chinese, frozenset(map(stem, cues - chinese))
