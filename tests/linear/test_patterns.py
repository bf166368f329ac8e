"""Every regular expression that reads what people write takes time in proportion to its length.

What counts is processor time, so that a busy machine makes no difference, and the limit is several times what any
pattern needs. The texts are all that a pattern's own repetitions ask for, and a third of the generic ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from zlib import crc32

import pytest

from apps.core.text.citations import holds
from apps.core.text.grounding import is_grounded
from apps.core.text.highlight import find_ranges
from apps.core.text.traces import Traces
from tests.linear.hostile import list_generic, list_pumped, repeat
from tests.linear.limit import SECONDS, measure
from tests.linear.patterns import ARGUMENTS, Found, list_calls, list_patterns

pytestmark = pytest.mark.long

MADE_AT_RUN_TIME = {
    "apps.chat.turn.tool_use.rounds.ToolRounds._is_unread_call": "escaped names of tools before a constant",
    "apps.conversations.search._holds": "an escaped word",
    "apps.core.llm.blocks.read_block": "a name of ours, and one unbounded part before a fixed text",
    "apps.core.text.attributes._load": "constants of a data file, which are tried",
    "apps.core.text.citations.holds": "an escaped citation",
    "apps.core.text.festivals.festival_rules": "constants, which are tried",
    "apps.core.text.festivals.past_festival_rules": "constants, which are tried",
    "apps.core.text.grounding._stands_in": "an escaped text",
    "apps.core.text.highlight.find_ranges": "escaped words of a search",
    "apps.core.text.highlight._make_pattern": "one character",
    "apps.core.text.traces.Traces.__init__": "escaped words of values",
    "apps.core.text.traces._is_cjk": "a constant set, for one character",
    "apps.memory.recall.former.asks_about_past": "words of a data file",
    "apps.memory.recall.former._Said._has": "an escaped word",
    "apps.offline.attributes._compile": "constants, which are tried where they are kept",
    "apps.panel.security._find": "constants, for what a browser calls itself, cut to 500 characters",
}
"""Calls of `re` with a pattern that is no constant, and what it is made of; those of texts are tried below."""


def read(found: Found, text: str) -> None:
    """Match the text in all the ways in which the product may."""
    if found.searches:
        for _match in found.pattern.finditer(text):
            pass
    found.pattern.match(text)
    found.pattern.fullmatch(text)


def list_slow(found: Found, texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        if measure(partial(read, found, text)) > SECONDS:
            yield f"{found.place}: {found.pattern.pattern[:60]!a} with {text[:30]!a}…"


def choose(found: Found, texts: Sequence[str], count: int) -> list[str]:
    """So many of the texts, others for each pattern, the same in every run."""
    first = crc32(repr(found.pattern.pattern).encode("utf-8", "backslashreplace"))
    return [texts[(first + number * 37) % len(texts)] for number in range(min(count, len(texts)))]


def test_patterns_are_linear() -> None:
    generic = list_generic()
    slow: list[str] = []
    for found in list_patterns():
        slow += list_slow(found, [*list_pumped(found.pattern), *choose(found, generic, len(generic) // 3)])
    assert slow == []


def test_no_pattern_is_overlooked() -> None:
    found = {one.place.partition("(")[0] for one in list_patterns()}
    assert {"apps.core.text.commands._patterns", "apps.core.text.time_expressions._rules"} <= found
    assert set(ARGUMENTS) <= found
    unknown = {call.place for call in list_calls() if call.literal is None and not call.kept}
    assert unknown == set(MADE_AT_RUN_TIME)


@pytest.mark.parametrize("unit", ["a", "中", "1,", "a-"])
def test_patterns_made_of_texts_are_linear(unit: str) -> None:
    text, value = repeat(unit, 16_000), repeat(unit, 500)
    traces = Traces([value, value + "x"])
    assert measure(lambda: traces.stand_in(text), limit=2) < 2
    assert measure(lambda: find_ranges(text, [value + "x", unit]), limit=2) < 2
    assert measure(lambda: (holds(text, value + "x"), is_grounded(value, said=text)), limit=2) < 2
