"""The offline model marks what is sensitive by words, where a prompt asks for it (D4)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from apps.accounts.types import Sensitive
from apps.chat.prompts import SENSITIVE_INSTRUCTIONS as TURN
from apps.core.llm.types import PromptMessage, ResponseFormat, render_block
from apps.extraction.prompt import SENSITIVE_INSTRUCTIONS as EXTRACTION
from apps.memory.marks import ASK_FOR_MARKS, ask_to_leave_out, quote_categories
from apps.offline.marks import find_marks
from tests.offline.prompts import stream_pieces

pytestmark = pytest.mark.spec("D4")

SENTENCES = Path(__file__).parent / "sentences"
HEALTH = (Sensitive.HEALTH,)


def read(name: str) -> list[tuple[str, str]]:
    """The category, or "-", and the text of each sentence."""
    rows = (line.partition("\t") for line in (SENTENCES / f"{name}.txt").read_text("utf-8").splitlines())
    return [(category, text) for category, _tab, text in rows]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_words_know_the_sentences_that_they_were_made_for(language: str) -> None:
    found = {text: find_marks(text) for _category, text in read(f"sensitive_{language}")}
    assert found == {text: [] if category == "-" else [category] for category, text in read(f"sensitive_{language}")}


def test_of_sentences_that_they_were_not_made_for_they_know_most() -> None:
    """The figures that docs/models.md states; these sentences are not for adding words after."""
    rows = [(category, find_marks(text)) for category, text in read("sensitive_unseen")]
    assert sum(category in marks for category, marks in rows if category != "-") >= 24
    assert sum(bool(marks) for category, marks in rows if category == "-") <= 4


def ask(name: str, system: str, **blocks: str) -> Any:
    user = "\n\n".join(render_block(block, text) for block, text in blocks.items())
    messages = PromptMessage("system", system), PromptMessage("user", user or "My mother has diabetes.")
    return json.loads("".join(stream_pieces(*messages, response_format=ResponseFormat(name=name, schema={}))))


def fill(instructions: str) -> str:
    return instructions.format(marks=ASK_FOR_MARKS, guarded=quote_categories(HEALTH))


SAID = json.dumps({"number": 1, "role": "user", "text": "I live in York. I was diagnosed with diabetes."})


def test_each_item_of_an_extraction_is_marked_where_that_is_asked_for() -> None:
    blocks = {"wanted": '{"entries": true}', "conversation": SAID}
    marked = ask("extraction", fill(EXTRACTION), **blocks)
    assert [(one["content"], one["sensitive"]) for one in marked["memories"]] == [
        ("I live in York.", []),
        ("I was diagnosed with diabetes.", ["health"]),
    ]
    assert [one["sensitive"] for one in marked["entries"]] == [[]]
    assert "sensitive" not in json.dumps(ask("extraction", "Extract.", **blocks))


def test_a_turn_and_a_note_leave_out_what_they_are_asked_to() -> None:
    turn = ask("turn_answer", fill(TURN))
    assert turn["topic"] is None
    note = ask("session_summary", ask_to_leave_out(HEALTH), conversation=SAID)
    assert "York" in note["snippet"]
    assert "diabetes" not in json.dumps(note)
