"""What a statement ends, and what it leaves beside it: 0 unrelated memories end."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from apps.offline.extraction import find_ended
from apps.offline.sentences import make_sentence
from apps.offline.statements import list_statements
from tests.offline.prompts import read_lines, read_pairs

JUDGED = Path(__file__).parents[1] / "judged"

BACKGROUND = read_lines("background")


def end(said: str, texts: list[str]) -> list[str]:
    known = dict(enumerate([*texts, *BACKGROUND], start=1))
    return [known[number] for number in find_ended(make_sentence(said), known)]


@pytest.mark.spec("A3")
@pytest.mark.parametrize(("said", "texts"), read_pairs("ended"))
def test_another_value_or_a_denial_ends_what_it_says_and_nothing_else(said: str, texts: str) -> None:
    assert end(said, json.loads(texts)) == json.loads(texts)


@pytest.mark.spec("A3")
@pytest.mark.parametrize(("said", "texts"), read_pairs("not_ended"))
def test_everything_else_stays_beside_it(said: str, texts: str) -> None:
    assert end(said, json.loads(texts)) == []


def test_no_memory_of_a_life_ends_another() -> None:
    assert len(BACKGROUND) == 30
    assert [end(said, []) for said in BACKGROUND] == [[]] * 30


@pytest.mark.spec("A3")
@pytest.mark.parametrize("language", ["en", "zh"])
def test_in_annotated_conversations_only_what_they_end_ends(language: str) -> None:
    """Talk of which a capable model's verdicts are known (tests/judged), among memories of other things."""
    background = tomllib.loads((JUDGED / "background.toml").read_text("utf-8"))[language]["atomic"]
    cases = tomllib.loads((JUDGED / "conversations" / f"{language}.toml").read_text("utf-8"))["case"]
    wrong = []
    for case in cases:
        shown = [text.lstrip("!@") for text in case.get("known", ())]
        known = dict(enumerate([*shown, *background]))
        changed = [
            *(one for row in case.get("memories", ()) for one in (*row.get("ends", ()), *row.get("refines", ())))
        ]
        changed += [one for row in case.get("changes", ()) for one in row["on"]]
        right = {text.lstrip("!@") for text in changed}
        said = [case["said"]] if isinstance(case["said"], str) else case["said"]
        for sentence in (sentence for message in said for sentence in list_statements(message)):
            wrong += [
                (sentence.text, known[number]) for number in find_ended(sentence, known) if known[number] not in right
            ]
    assert len(cases) >= 60
    assert wrong == []
