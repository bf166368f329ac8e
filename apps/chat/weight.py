"""Which of the memories that stood in a prompt carried weight. Pure: no Django; static/chat/weight.js says the same.

A prompt has room for more memories than bear on the message, so that none that does is missing. One carried weight if
at least `PART` of what speaks for the best one of its kind speaks for it: for a long-term memory how well it matches
the message, in words or in meaning, whichever is better; for an atomic one its score, which all its parts add up to.
The two kinds are written differently and match differently, so a long-term memory needs only `LEAST` of the match of
an atomic one. A past round weighs by its score, like an atomic memory. How long ago something was used or how sure it
is says nothing about the message, and does not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

PART = 1 / 2
LEAST = 1 / 4

# What is ranked by a score that measures nothing but how much it has to do with the message.
SCORED = ("atomic", "message")


def list_weighty(memories_used: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return those of a turn's `memories_used` that carried weight, in order.

    Without the ones that tools found, which have no figures; where nothing speaks for any, as in a prompt with all that
    is remembered, all of a kind weigh the same.
    """
    recalled = [item for item in memories_used if "by" not in item]
    matches = [_match(item) for item in recalled]
    best_match = max(matches, default=0.0)
    of_long_term = (match for item, match in zip(recalled, matches, strict=True) if item["kind"] not in SCORED)
    best_long_term = max(of_long_term, default=0.0)
    best = {kind: max((item["score"] for item in recalled if item["kind"] == kind), default=0.0) for kind in SCORED}

    def weighs(item: Mapping[str, Any], match: float) -> bool:
        if item["kind"] in SCORED:
            highest = best[item["kind"]]
            return bool(item["score"] >= highest - (1 - PART) * abs(highest))
        return match >= max(PART * best_long_term, LEAST * best_match)

    return [item for item, match in zip(recalled, matches, strict=True) if weighs(item, match)]


def _match(item: Mapping[str, Any]) -> float:
    """From 0 to 1. An atomic memory's words are scored by BM25, which has no upper bound: its meaning alone counts."""
    meaning = item.get("semantic_score", 0.0)
    return float(meaning if item["kind"] in SCORED else max(item.get("keyword_score", 0.0), meaning))
