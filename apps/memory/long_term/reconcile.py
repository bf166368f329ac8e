"""One concept, one memory: what was kept under keys of other wording or language is brought together (L3)."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from uuid import UUID

from django.db import transaction

from apps.accounts.models import User
from apps.core.text.fold import normalize_key
from apps.memory.locking import lock_memories
from apps.memory.long_term.changes import decide
from apps.memory.long_term.ledger import SAID_AT, Ledger
from apps.memory.long_term.types import Action, MemoryUpdate, Mode
from apps.memory.models import SEARCH_FIELDS, LongTermMemory, Status

_CONCEPTS = Path(__file__).parent / "data" / "concept_keys.toml"


@dataclass(frozen=True, slots=True)
class Concept:
    """What several keys stand for. `keys`: normalised; `is_list`: its values hold side by side."""

    name: str
    keys: frozenset[str]
    is_list: bool


@cache
def _concepts_by_key() -> Mapping[str, Concept]:
    table = tomllib.loads(_CONCEPTS.read_text("utf-8"))
    concepts = [
        Concept(name=name, keys=frozenset(map(normalize_key, row["keys"])), is_list=row.get("list", False))
        for name, row in table.items()
    ]
    return {key: concept for concept in concepts for key in concept.keys}


def find_concept(normalized_key: str) -> Concept | None:
    """Return what a normalised key stands for, None for a key of the person's own."""
    return _concepts_by_key().get(normalized_key)


@transaction.atomic
def reconcile_keys(*, user: User, message_ids: Collection[UUID], now: datetime) -> list[MemoryUpdate]:
    """Bring the active memories that came from these messages together with others of the same concept.

    The same value: the older memory is refreshed and the other ends. Another value: what was said last supersedes. Of
    a list both memories become one with the items of both, under the key that was there first. Keys whose concept is
    not known are left alone. Two queries where there is nothing to do.
    """
    lock_memories(user)
    active = LongTermMemory.objects.filter(user=user, status=Status.ACTIVE).defer(*SEARCH_FIELDS)
    touched = active.filter(message__in=message_ids).values_list("normalized_key", flat=True)
    concepts = {concept.name: concept for key in touched if (concept := find_concept(key)) is not None}
    keys = {key for concept in concepts.values() for key in concept.keys}
    rows: defaultdict[str, list[LongTermMemory]] = defaultdict(list)
    said_at: dict[UUID, datetime] = {}
    for row in active.filter(normalized_key__in=keys).annotate(said_at=SAID_AT):
        said_at[row.id] = row.said_at
        if (concept := find_concept(row.normalized_key)) is not None:
            rows[concept.name].append(row)
    doubled = {name: found for name, found in rows.items() if len(found) > 1}
    if not doubled:
        return []
    ledger = Ledger(user=user, keys={row.normalized_key for found in doubled.values() for row in found}, now=now)
    for name, found in doubled.items():
        found.sort(key=lambda row: (said_at[row.id], row.created_at, row.id))
        _bring_together(ledger, found, is_list=concepts[name].is_list)
    return ledger.save()


def _bring_together(ledger: Ledger, rows: Sequence[LongTermMemory], *, is_list: bool) -> None:
    """Leave one of the rows, said in this order, active."""
    kept = rows[0]
    for row in rows[1:]:
        earlier, later = ledger.get(kept.normalized_key), ledger.get(row.normalized_key)
        if earlier.active is None or later.active is None:
            continue
        mode = Mode.ADD if is_list else Mode.REPLACE
        decision = decide(mode=mode, value=later.active.value, current=earlier.current, accept=True)
        if decision.action is not Action.REFRESHED and not is_list:
            ledger.end(earlier.active, successor=later.active)
            earlier.active = None
            kept = row
            continue
        successor = ledger.apply(
            decision,
            category=kept.category,
            key=kept.key,
            source=row.source,
            confidence=row.confidence,
            mode=mode,
            session_id=row.session_id,
            message_id=row.message_id,
        )
        ledger.end(later.active, successor=successor)
        later.active = None
