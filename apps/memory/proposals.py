"""Reading what a model proposes to remember: each entry is taken as far as it is valid, or skipped (L2, E5)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from apps.core.text.clean import clean_json, json_text
from apps.core.text.fold import normalize_key, normalize_value
from apps.core.text.grounding import has_content, is_grounded, leans_on_others
from apps.core.text.instructions import is_instruction
from apps.core.text.segment import holds_chinese
from apps.memory.keyed import Mode, ProposedEntry, list_items
from apps.memory.models import Source
from apps.memory.validation import find_problems, is_share, measure_value

MAX_PROPOSED_CHARACTERS = 8_000
"""Of a value as JSON. A person may store more; a model that proposes more has misunderstood."""

STATED_CONFIDENCE = 0.9
"""Least confidence of what the user stated (L2)."""

DEFAULT_CONFIDENCE = 0.5
"""Confidence of an inferred entry that gives none, or none from 0 to 1 (L2)."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A valid entry. `normalized_key` is the identity of its memory (L3)."""

    category: str
    key: str
    value: Any
    source: Source
    confidence: float
    mode: Mode
    normalized_key: str


def read_proposal(entry: ProposedEntry) -> Proposal | None:
    """Return the valid form of an entry, or None when its category, key or value is not acceptable.

    What a model may not claim (the source `system`) or got wrong counts as inferred; an unknown mode as replace.
    """
    try:
        key, value = clean_json(entry.key), clean_json(entry.value)
    except ValueError:  # nested too deeply
        return None
    if find_problems({"category": entry.category, "key": key, "value": value}) or value in ([], {}):
        return None
    if measure_value(value) > MAX_PROPOSED_CHARACTERS:
        return None
    source = Source.USER_STATED if entry.source in (None, Source.USER_STATED.value) else Source.INFERRED
    return Proposal(
        category=str(entry.category),
        key=key.strip(),
        value=value,
        source=source,
        confidence=_read_confidence(entry.confidence, source),
        mode=next((mode for mode in Mode if mode == entry.mode), Mode.REPLACE),
        normalized_key=normalize_key(key),
    )


def is_vacuous(key: str, value: Any) -> bool:
    """Whether an entry is a slip of a model rather than words.

    The key is a single letter or has none, or the value, or all of its items, only repeat the key, are empty or are
    pieces of JSON.
    """
    if _ONE_LETTER.fullmatch(key.strip()) or not any(map(str.isalnum, key)):
        return True
    return all(
        item in ([], {})
        or (isinstance(item, str) and (_is_scrap(item) or normalize_value(item) == normalize_value(key)))
        for item in list_items(value)
    )


def _is_scrap(text: str) -> bool:
    return not text.strip() or _PIECE_OF_JSON.search(text) is not None


def _read_confidence(given: Any, source: Source) -> float:
    valid = float(given) if is_share(given) else None
    if source is Source.USER_STATED:
        return max(STATED_CONFIDENCE, valid or 0.0)
    return DEFAULT_CONFIDENCE if valid is None else valid


def reads_as_instruction(*, key: str, value: Any) -> bool:
    """Whether a memory would tell the assistant what to do with its rules: a person looks at it first (C5)."""
    return is_instruction(f"{key} {json_text(value)}")


_ONE_LETTER = re.compile("[a-z]", re.IGNORECASE)
_PIECE_OF_JSON = re.compile(r"^[\s{}\[\],:\"]+$|^\s*[}\],:]|[{\[,]\s*\"|\"\s*[:,}\]]")
_FIRST_PERSON = re.compile(r"(?:i|i['’](?:m|ve|d|ll)|my|we|our)\s|我|咱", re.IGNORECASE)


def is_first_person(value: Any) -> bool:
    """Whether a text, or one of a list, begins in the first person: a piece of a sentence rather than a value."""
    return any(isinstance(item, str) and _FIRST_PERSON.match(item.strip()) for item in list_items(value))


def is_supported_by(proposal: Proposal, *, said: str | None, others: str = "") -> bool:
    """Whether an entry rests on what its person said; `said` None: there is nothing to compare with.

    Of what the user is said to have stated, the value shares a word with it, of a list every item does. What cannot be
    compared (numbers, dates, yes and no, another script: a translation) needs a key that does, as does what a model
    concluded. A value without letters, or of a single one, was said as it is (a blood type). `others`: what somebody
    else said there; no value takes more from that than from the person's own words.
    """
    if said is None:
        return True
    texts = [item for item in list_items(proposal.value) if isinstance(item, str)]
    exact = [text for text in texts if _ONE_LETTER.fullmatch(text) or not any(map(str.isalnum, text))]
    if proposal.source is Source.USER_STATED:
        exact += [text for text in texts if _can_be_compared(text, said=said)]
    value = json_text(proposal.value)
    return (
        all(is_grounded(text, said=said) for text in exact)
        and any(is_grounded(text, said=said) for text in (proposal.key, value))
        and not leans_on_others(value, own=said, others=others)
    )


def _can_be_compared(text: str, *, said: str) -> bool:
    """Whether the words of a text would be in what was said if it was said: a date or an amount may be worked out."""
    is_worked_out = any(map(str.isdecimal, text))
    return not is_worked_out and has_content(text) and holds_chinese(text) == holds_chinese(said)
