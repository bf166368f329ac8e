"""Bringing memories in (M4): all that was planned, or nothing. Taking them along: `exporting`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction

from apps.accounts.models import User
from apps.core.errors import Conflict
from apps.memory.do_not_relearn import allow_again
from apps.memory.embeddings.memories import EMBEDDINGS, ask_for_vectors, write_embeddings
from apps.memory.history.services import record_changes
from apps.memory.locking import lock_memories
from apps.memory.models import Status
from apps.memory.transfer.kinds import TransferKind
from apps.memory.transfer.planning import plan_import
from apps.memory.transfer.types import Imported, ImportPlan, ImportRefused, PlanChanged, PlannedRow, RowAction

EMBEDDED_AT_ONCE = 200
"""Rows whose vectors are made with them; workers make those of a longer file, so that nobody waits for so long."""

_OPERATION = "import"


@transaction.atomic
def import_memories(
    *,
    user: User,
    kind: TransferKind,
    items: Sequence[Any],
    now: datetime,
    expected: str | None = None,
    operation: UUID | None = None,
) -> Imported:
    """Import objects as `plan_import` says; with `expected` only if that is still the plan with this digest.

    One operation, undone as a whole; `operation`: the ID of one that several imports are part of. What is imported as
    active or pending may be learned again. Raises `ImportRefused` for any bad row, and `PlanChanged`; then nothing was
    written.
    """
    lock_memories(user)
    plan = plan_import(user=user, kind=kind, items=items)
    if expected is not None and plan.digest != expected:
        raise PlanChanged(plan)
    if plan.errors:
        raise ImportRefused("Nothing was imported because some rows are invalid.", plan=plan)
    created, updated = _make(user, kind, plan, now=now), _change(user, kind, plan, now=now)
    _write(user, kind, created=created, updated=[memory for memory, _before, _row in updated])
    changes = [kind.describe(memory, before=None) for memory in created]
    changes += [kind.describe(memory, before=before) for memory, before, _row in updated]
    drafts = [replace(change, group=_OPERATION, operation=operation) for change in changes]
    operations = record_changes(user=user, changes=drafts, now=now)
    written = [*created, *(memory for memory, _before, _row in updated)]
    current = [memory for memory in written if memory.status in (Status.ACTIVE, Status.PENDING)]
    allow_again(user=user, digests={digest for memory in current for digest in kind.digests(user, memory)})
    rewritten = [memory for memory, _before, row in updated if not {"key", "value", "content"}.isdisjoint(row.changed)]
    _embed(user, kind, created=created, rewritten=rewritten)
    return Imported(
        created=len(created),
        updated=len(updated),
        skipped=plan.counts[RowAction.SKIP],
        operation=operation if operation and drafts else operations.get(_OPERATION),
    )


def _make(user: User, kind: TransferKind, plan: ImportPlan, *, now: datetime) -> list[Any]:
    made = []
    for row in plan.rows:
        if row.action is RowAction.CREATE:
            memory = kind.model(user=user, id=row.id or uuid4())
            kind.apply(memory, kind.complete(row.given, now=now))
            made.append(memory)
    return made


def _change(user: User, kind: TransferKind, plan: ImportPlan, *, now: datetime) -> list[tuple[Any, Any, PlannedRow]]:
    rows = {row.id: row for row in plan.rows if row.action is RowAction.UPDATE}
    changed = []
    for memory in kind.model.objects.filter(user=user, id__in=list(rows)):
        row = rows[memory.id]
        before = kind.snapshot(memory)
        kind.apply(memory, {"updated_at": now, **row.given})
        changed.append((memory, before, row))
    return changed


def _write(user: User, kind: TransferKind, *, created: Sequence[Any], updated: Sequence[Any]) -> None:
    names = [field.name for field in kind.model._meta.concrete_fields if field.name not in ("id", "user")]
    # Two that exchange their keys must not both be active in between.
    kind.model.objects.filter(user=user, id__in=[row.id for row in updated]).update(status=Status.SUPERSEDED)
    try:
        with transaction.atomic():
            kind.model.objects.bulk_create(
                updated, batch_size=500, update_conflicts=True, unique_fields=["id"], update_fields=names
            )
            kind.model.objects.bulk_create(created, batch_size=500)
    except IntegrityError as error:  # somebody else has just taken one of the IDs
        raise Conflict("Some of these memories have just been created elsewhere. Try again.") from error


def _embed(user: User, kind: TransferKind, *, created: Sequence[Any], rewritten: Sequence[Any]) -> None:
    if len(created) + len(rewritten) <= EMBEDDED_AT_ONCE:
        texts = {memory.id: kind.text(memory) for memory in [*created, *rewritten]}
        write_embeddings(user=user, kind=kind.embedded, texts=texts)
        return
    EMBEDDINGS[kind.embedded].objects.filter(memory__in=[memory.id for memory in rewritten]).delete()
    ask_for_vectors()
