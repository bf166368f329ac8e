"""Text that tells the system what to do instead of telling something about the person (C5)."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from apps.core.text.disguise import is_disguised, list_readings
from apps.core.text.fold import fold

_CUES = Path(__file__).parent / "data" / "instruction_cues.txt"


def is_instruction(text: str) -> bool:
    """Whether `text` would change the assistant's rules once it is remembered: a person looks at it first.

    Decided by what it says underneath: a text that hides what it says (`disguise`) waits in any case.
    """
    if is_disguised(text):
        return True
    # One pattern after the other: all in one would take twice as long, and let no other thread go on meanwhile.
    said = [" ".join(fold(reading).split()) for reading in list_readings(text)]
    return any(cue.search(reading) is not None for reading in said for cue in _list_cues())


@cache
def _list_cues() -> tuple[re.Pattern[str], ...]:
    lines = _CUES.read_text("utf-8").splitlines()
    return tuple(re.compile(line) for line in lines if line and not line.startswith("#"))
