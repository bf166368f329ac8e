"""What a message tells about its writer, sentence by sentence, and what must not be remembered."""

from __future__ import annotations

import pytest

from apps.core.llm.offline.statements import read_statements
from tests.core.llm.offline.tables import read_table, show_entries


@pytest.mark.parametrize(("sentence", "expected"), [*read_table("statements_zh"), *read_table("statements_en")])
def test_a_sentence_gives_exactly_these_entries(sentence: str, expected: str) -> None:
    assert show_entries(read_statements(sentence)) == expected
