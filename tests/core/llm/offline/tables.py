"""Reading the tables of sentences beside the tests: `sentence => what is expected`, one a line."""

from __future__ import annotations

from pathlib import Path

from apps.core.llm.offline.statements import Entry

TABLES = Path(__file__).parent / "sentences"
_SIGNS = {"replace": "=", "add": "+=", "remove": "-="}


def read_table(name: str) -> list[tuple[str, str]]:
    """The rows of table `name`; # starts a comment."""
    lines = (TABLES / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.partition("=>") for line in lines if line.strip() and not line.startswith("#")]
    return [(sentence.strip(), expected.strip()) for sentence, _, expected in rows]


def show_entries(entries: list[Entry]) -> str:
    """`entries` in the notation of the tables."""
    return " | ".join(
        ("~" if entry.source == "inferred" else "")
        + entry.key
        + _SIGNS[entry.mode]
        + ("; ".join(entry.value) if isinstance(entry.value, list) else entry.value)
        for entry in entries
    )
