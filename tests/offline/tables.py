"""Tables of sentences, one a line, in sentences/."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent / "sentences"


def read_lines(name: str) -> list[str]:
    """The sentences of a table, without comments."""
    lines = (_FOLDER / f"{name}.txt").read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def read_pairs(name: str) -> list[tuple[str, str]]:
    """The lines of a table of the form ``sentence => expected``."""
    return [(left.strip(), right.strip()) for left, _, right in (line.partition("=>") for line in read_lines(name))]
