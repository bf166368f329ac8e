"""The documents name files that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
NAMED = re.compile(r"\b(?:apps|project|tests|benchmarks|templates|static)/[\w/*.-]*\w")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_path_in_a_document_exists(document: Path) -> None:
    named = set(NAMED.findall(document.read_text()))
    assert not {path for path in named if not any(ROOT.glob(path))}


def test_the_walk_through_the_code_has_at_most_twelve_stops() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    walk = text.split("## One message")[1].split("\n## ")[0]
    stops = re.findall(r"^\d+\. `(\S+?)`", walk, re.MULTILINE)
    assert 8 <= len(stops) <= 12
    assert all((ROOT / stop).is_file() for stop in stops)
