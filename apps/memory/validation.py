"""What the fields of memories may hold, for every door: a person's input is refused, a model's entry skipped."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.translation import gettext_noop

from apps.accounts.types import Sensitive
from apps.core.errors import InvalidInput, TooLarge
from apps.core.text.clean import clean_json, find_forbidden, json_text
from apps.core.text.fold import fold, normalize_key, normalize_value
from apps.core.text.grounding import has_content, is_grounded, leans_on_others
from apps.core.text.instructions import is_instruction
from apps.core.text.secrets import describe_problem, find_mask, find_secret
from apps.core.text.segment import holds_chinese
from apps.core.text.time_expressions import find_until
from apps.core.times import exists_everywhere
from apps.memory.keyed import Mode, ProposedEntry, list_items
from apps.memory.marks import read_marks
from apps.memory.models import Category, Source

MAX_KEY_CHARACTERS = 200
# Of the normalised key: unfolding can lengthen it, and PostgreSQL refuses index entries over 2,704 bytes.
MAX_KEY_BYTES = 2000

MAX_VALUE_CHARACTERS = 32_000  # of a value as JSON


def measure_value(value: Any) -> int:
    """Return the size of a JSON value in characters, as it is stored and shown."""
    return len(json.dumps(value, ensure_ascii=False))


def is_blank(value: Any) -> bool:
    """Whether a value says nothing: null, or a string of whitespace."""
    return value is None or (isinstance(value, str) and not value.strip())


def is_share(value: object) -> bool:
    """Whether a value is a number from 0 to 1; true and NaN are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def find_problems(fields: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return why each of the given fields of a memory of either kind is not acceptable, by name; empty when all are."""
    problems = {name: [problem] for name, value in fields.items() if (problem := _find_problem(name, value))}
    return problems or find_secret_problems(fields)


def find_secret_problems(fields: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return which texts of a memory of either kind hold a secret, by name (D4); a key tells what its value is."""
    label = fields["key"] if isinstance(fields.get("key"), str) else ""
    found = {
        name: find_secret(fields[name], label=label if name == "value" else "")
        for name in ("content", "tags", "key", "value")
        if name in fields
    }
    return {name: [describe_problem(kind)] for name, kind in found.items() if kind is not None}


def tells_secret(*texts: str | None) -> bool:
    """Whether one of a model's texts holds a secret, or is about one that was masked: without it, it says nothing."""
    return any(text and (find_secret(text) or find_mask(text)) for text in texts)


def _find_problem(name: str, value: Any) -> str | None:
    if found := find_forbidden(value):
        return f"Must not contain {found}."
    match name:
        case "category" if value not in Category.values:
            return f"Must be one of: {', '.join(Category.values)}."
        case "source" if value not in Source.values:
            return f"Must be one of: {', '.join(Source.values)}."
        case "confidence" if not is_share(value):
            return gettext_noop("Must be a number from 0 to 1.")
        case "value" if is_blank(value):
            return gettext_noop("Must not be null or blank.")
        case "key":
            return _find_key_problem(value)
        case "content" if not isinstance(value, str) or not value.strip():
            return gettext_noop("Must be text that is not blank.")
        case "tags" if not isinstance(value, list | tuple) or len(value) > MAX_TAGS:
            return f"Must be a list of at most {MAX_TAGS} tags."
        case "tags" if any(not isinstance(tag, str) or not 0 < len(tag.strip()) <= MAX_TAG_CHARACTERS for tag in value):
            return f"Each tag must be text of 1 to {MAX_TAG_CHARACTERS} characters."
        case "timestamp" | "valid_until" if value is not None and not exists_everywhere(value):
            return OUT_OF_RANGE
        case "sensitive":
            return _find_marks_problem(value)
    return None


def _find_key_problem(key: Any) -> str | None:
    if not isinstance(key, str):
        return gettext_noop("Must be text.")
    if not key.strip():
        return gettext_noop("Must not be blank.")
    if len(key.strip()) > MAX_KEY_CHARACTERS or len(normalize_key(key).encode()) > MAX_KEY_BYTES:
        return f"Must have at most {MAX_KEY_CHARACTERS} characters."
    return None


def _find_marks_problem(marks: Any) -> str | None:
    if isinstance(marks, list | tuple) and all(mark in tuple(Sensitive) for mark in marks):
        return None
    return f"Must be a list of: {', '.join(Sensitive)}."


def check_long_term(fields: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` with the reasons by field, or `TooLarge` for a value over 32,000 characters of JSON."""
    _refuse(find_problems(fields))
    if "value" in fields and measure_value(fields["value"]) > MAX_VALUE_CHARACTERS:
        message = f"The value has over {MAX_VALUE_CHARACTERS:,} characters of JSON."
        raise TooLarge(message, fields={"value": [message]})


MAX_CONTENT_CHARACTERS = 32_000  # what is extracted is much shorter: `memory.atomic_content_max_length`

MAX_TAG_CHARACTERS = 50
MAX_TAGS = 50

OUT_OF_RANGE = gettext_noop("Out of range: it has no valid date in some time zones.")


def check_atomic(fields: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` with the reasons by field, or `TooLarge` for a content of over 32,000 characters."""
    problems = find_problems(fields)
    if not problems and (problem := find_event_problem(fields.get("event_start"), fields.get("event_end"))):
        problems["event_end"] = [problem]
    _refuse(problems)
    if len(fields.get("content", "")) > MAX_CONTENT_CHARACTERS:
        message = f"The content has over {MAX_CONTENT_CHARACTERS:,} characters."
        raise TooLarge(message, fields={"content": [message]})


def find_event_problem(start: datetime | None, end: datetime | None) -> str | None:
    """Return why an event cannot have these times, None when it can."""
    if any(time is not None and not exists_everywhere(time) for time in (start, end)):
        return OUT_OF_RANGE
    if end is None:
        return None
    if start is None:
        return gettext_noop("Requires event_start.")
    return gettext_noop("Must not be before event_start.") if end < start else None


def _refuse(problems: Mapping[str, list[str]]) -> None:
    if problems:
        name, (reason,) = next(iter(problems.items()))
        raise InvalidInput(f"{name}: {reason}", fields=problems)


# Of a value as JSON. A person may store more; a model that proposes more has misunderstood.
MAX_PROPOSED_CHARACTERS = 8_000

STATED_CONFIDENCE = 0.9  # least confidence of what the user stated (L2)
DEFAULT_CONFIDENCE = 0.5  # confidence of an inferred entry that gives none, or none from 0 to 1 (L2)


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
    valid_until: datetime | None = None
    sensitive: tuple[str, ...] = ()


def read_until(words: object, *, said: str, said_at: datetime, zone: ZoneInfo) -> datetime | None:
    """Return the time that a model says something holds until (D3), in the words of the message `said`.

    None for what nobody said, what names no time, and a time that is past: a slip would hide what holds.
    """
    if not isinstance(words, str) or not words.strip() or fold(words.strip()) not in fold(said):
        return None
    until = find_until(words, said_at=said_at, zone=zone)
    return until if until is not None and until > said_at and exists_everywhere(until) else None


def extend_validity(held: datetime | None, *, given: datetime | None, said_at: datetime) -> datetime | None:
    """Return until when a memory holds that was said again, with such a time or not: what was over is valid again."""
    return given or (held if held is not None and held > said_at else None)


def read_proposal(entry: ProposedEntry | Proposal) -> Proposal | None:
    """Return the valid form of an entry, or None when its category, key or value is not acceptable.

    What a model may not claim (the source `system`) or got wrong counts as inferred; an unknown mode as replace.
    """
    if isinstance(entry, Proposal):
        return entry
    try:
        key, value = clean_json(entry.key), clean_json(entry.value)
    except ValueError:  # nested too deeply
        return None
    if find_problems({"category": entry.category, "key": key, "value": value}) or value in ([], {}):
        return None
    if measure_value(value) > MAX_PROPOSED_CHARACTERS or tells_secret(f"{key} {json_text(value)}"):
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
        sensitive=read_marks(entry.sensitive),
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
