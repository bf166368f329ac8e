"""Working memory (W1–W5): the pure rules of its variables, then counting turns, forms, edits and earlier states."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet, Value

from apps.accounts.models import User
from apps.accounts.selectors import get_settings, working_ttl
from apps.accounts.spaces import seen_from
from apps.conversations.sessions import get_session, lock_session
from apps.core.db import fetch_prepared
from apps.core.errors import InvalidInput, NotFound, TooLarge
from apps.core.text.secrets import mask_secrets, mask_value
from apps.memory.models import WorkingMemory, WorkingMemoryRevision

FORM_PREFIX = "hitl_"


@dataclass(frozen=True, slots=True)
class Variables:
    """Context variables in order of writing, oldest first, with the time (ISO 8601) at which each was written."""

    values: Mapping[str, Any] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls, values: Mapping[str, Any], written: list[list[Any]]) -> Variables:
        """Restore the order that jsonb lost, also that of a form's fields.

        A value nobody noted the writing of counts as the oldest.
        """
        times = {key: at for key, at, *_names in written if key in values}
        unknown = {key: "" for key in values if key not in times}
        times = {**unknown, **times}
        names = {key: names[0] for key, _at, *names in written if names}
        return cls(values={key: _order_fields(values[key], names.get(key, ())) for key in times}, written=times)

    def dump_written(self) -> list[list[Any]]:
        """Return key and time in order, as kept beside the values; for a form the names of its fields too."""
        return [[key, at, *_list_fields(self.values[key])] for key, at in self.written.items()]

    @property
    def forms(self) -> dict[str, Any]:
        """The submitted forms by title, in order of submission (H3)."""
        return {key.removeprefix(FORM_PREFIX): value for key, value in self.values.items() if is_form(key)}

    @property
    def plain(self) -> dict[str, Any]:
        """The variables that are no forms."""
        return {key: value for key, value in self.values.items() if not is_form(key)}


def holds_form(value: Any) -> bool:
    """Whether a value has the shape of a submitted form (H1)."""
    return isinstance(value, dict) and set(value) == {"fields", "timestamp"} and isinstance(value["fields"], dict)


def _list_fields(value: Any) -> list[list[str]]:
    return [list(value["fields"])] if holds_form(value) else []


def _order_fields(value: Any, names: Iterable[str]) -> Any:
    if not holds_form(value):
        return value
    fields = value["fields"]
    order = {name: fields[name] for name in names if name in fields}
    return {**value, "fields": {**order, **fields}}


def is_form(key: str) -> bool:
    """Whether the variable holds a submitted form (H1)."""
    return key.startswith(FORM_PREFIX)


def measure(values: Mapping[str, Any]) -> int:
    """Return the size of the variables in bytes, as compact UTF-8 JSON (W5)."""
    return len(json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))


def write(current: Variables, key: str, value: Any, *, now: datetime, max_bytes: int) -> Variables | None:
    """Return the variables with `key` written last, or None where it cannot be made to fit (W5).

    Over the limit, the least recently written entries make way; forms never do. A value too large even then
    is refused whole, and nothing was evicted for it.
    """
    values = {k: v for k, v in current.values.items() if k != key} | {key: value}
    written = {k: at for k, at in current.written.items() if k != key} | {key: now.isoformat()}
    size = measure(values)
    for oldest in [k for k in values if not is_form(k) and k != key]:
        if size <= max_bytes:
            break
        del values[oldest], written[oldest]
        size = measure(values)
    return Variables(values=values, written=written) if size <= max_bytes else None


def remove(current: Variables, key: str) -> Variables:
    """Return the variables without `key`."""
    return Variables(
        values={k: v for k, v in current.values.items() if k != key},
        written={k: at for k, at in current.written.items() if k != key},
    )


def merge_from_model(current: Variables, changes: Mapping[str, Any], *, now: datetime, max_bytes: int) -> Variables:
    """Merge the model's variables key by key (W3): null removes, forms are not touched, what cannot fit is dropped."""
    for key, value in changes.items():
        if is_form(key):
            continue
        if value is None:
            current = remove(current, key)
        else:
            current = write(current, key, value, now=now, max_bytes=max_bytes) or current
    return current


NO_WORKING_MEMORY = "This session has no working memory now."


@dataclass(frozen=True, slots=True)
class WorkingMemorySnapshot:
    """Working memory as one turn sees it (W1). `revision` tells whether somebody else has written since."""

    session_id: uuid.UUID
    current_topic: str | None
    variables: Variables
    turn_count: int
    last_emotion: str | None
    created_at: datetime
    updated_at: datetime
    revision: int

    def to_wire(self) -> dict[str, Any]:
        """W1's fields, the variables in order of writing."""
        return {
            "session_id": str(self.session_id),
            "current_topic": self.current_topic,
            "context_variables": dict(self.variables.values),
            "turn_count": self.turn_count,
            "last_emotion": self.last_emotion,
            "created_at": self.created_at.isoformat(),
            "updated_at": self.updated_at.isoformat(),
        }


def to_snapshot(row: WorkingMemory) -> WorkingMemorySnapshot:
    """Return the plain value of a row."""
    return WorkingMemorySnapshot(
        session_id=row.session_id,
        current_topic=row.current_topic,
        variables=Variables.load(row.context_variables, row.written),
        turn_count=row.turn_count,
        last_emotion=row.last_emotion,
        created_at=row.created_at,
        updated_at=row.updated_at,
        revision=row.revision,
    )


def live(rows: QuerySet[WorkingMemory], *, now: datetime, ttl_minutes: int) -> QuerySet[WorkingMemory]:
    """Leave out what idled longer than `ttl_minutes`: it is gone, swept or not (W4)."""
    return rows.filter(updated_at__gte=now - timedelta(minutes=ttl_minutes))


def list_idle(*, now: datetime) -> QuerySet[WorkingMemory]:
    """Return what idled longer than its owner's `memory.working_ttl_minutes` and is to go (W4)."""
    return WorkingMemory.objects.filter(updated_at__lt=Value(now) - working_ttl(user="user"))


def find_working_memory(
    user: User, session_id: uuid.UUID, *, now: datetime, ttl_minutes: int
) -> WorkingMemorySnapshot | None:
    """Return the live working memory of the session, or None."""
    rows = WorkingMemory.objects.filter(user=user, session_id=session_id)
    row = live(rows, now=now, ttl_minutes=ttl_minutes).first()
    return to_snapshot(row) if row else None


def get_working_memory(user: User, session_id: uuid.UUID, *, now: datetime, ttl_minutes: int) -> WorkingMemorySnapshot:
    """Return the live working memory of the session, or raise `NotFound` (W2, W4)."""
    rows = WorkingMemory.objects.filter(seen_from(user, "session__space"), user=user, session_id=session_id)
    row = live(rows, now=now, ttl_minutes=ttl_minutes).first()
    if row is None:
        raise NotFound(NO_WORKING_MEMORY)
    return to_snapshot(row)


@dataclass(frozen=True, slots=True)
class WorkingMemoryState:
    """What a working memory said at one revision."""

    current_topic: str | None
    variables: Variables


def find_working_state(
    user: User, session_id: uuid.UUID, *, started_at: datetime, revision: int
) -> WorkingMemoryState | None:
    """Return what the working memory that started then said at `revision`.

    None where nobody had written in it by then, or what was written has been deleted.
    """
    rows = WorkingMemoryRevision.objects.filter(user=user, session_id=session_id, started_at=started_at)
    row = rows.filter(revision__lte=revision).order_by("-revision", "-id").first()
    if row is None:
        return None
    return WorkingMemoryState(row.current_topic, Variables.load(row.context_variables, row.written))


# One statement, so that concurrent messages of a session each count once (W3) without holding a lock while the model
# answers. A row that idled too long starts anew as if it had been swept (W4).
COUNT_TURN = """
INSERT INTO working_memory AS w
    (session_id, user_id, current_topic, context_variables, written, turn_count, last_emotion, revision, paused,
     created_at, updated_at)
VALUES (%(session)s, %(user)s, NULL, '{}', '[]', 1, NULL, 0, %(paused)s, %(now)s, %(now)s)
ON CONFLICT (session_id) DO UPDATE SET
    turn_count = CASE WHEN w.updated_at < %(alive)s THEN 1 ELSE w.turn_count + 1 END,
    current_topic = CASE WHEN w.updated_at < %(alive)s THEN NULL ELSE w.current_topic END,
    context_variables = CASE WHEN w.updated_at < %(alive)s THEN '{}' ELSE w.context_variables END,
    written = CASE WHEN w.updated_at < %(alive)s THEN '[]' ELSE w.written END,
    last_emotion = CASE WHEN w.updated_at < %(alive)s THEN NULL ELSE w.last_emotion END,
    paused = %(paused)s OR (w.paused AND w.updated_at >= %(alive)s),
    created_at = CASE WHEN w.updated_at < %(alive)s THEN %(now)s ELSE w.created_at END,
    updated_at = GREATEST(w.updated_at, %(now)s),
    revision = w.revision + 1
RETURNING current_topic, context_variables, written, turn_count, last_emotion, created_at, updated_at, revision
"""


def count_turn(
    *, user: User, session_id: uuid.UUID, now: datetime, ttl_minutes: int, paused: bool = False
) -> WorkingMemorySnapshot:
    """Count a message of the user: the first creates working memory with `turn_count` 1, each further adds 1 (W3).

    `paused`: it was said while remembering was paused (D5).
    """
    values: dict[str, Any] = {"session": session_id, "user": user.pk, "now": now, "paused": paused}
    values["alive"] = now - timedelta(minutes=ttl_minutes)
    ((topic, variables, written, *rest),) = fetch_prepared(COUNT_TURN, values)
    return WorkingMemorySnapshot(session_id, topic, Variables.load(json.loads(variables), json.loads(written)), *rest)


def record_analysis(
    *,
    user: User,
    snapshot: WorkingMemorySnapshot,
    topic: str | None,
    variables: Mapping[str, Any],
    last_emotion: str,
    max_bytes: int,
    now: datetime,
) -> WorkingMemorySnapshot | None:
    """Take over what the model found in a turn (W3); a null topic keeps the old one.

    `snapshot` is what the turn started from. Where somebody wrote in between, the newer row is locked and merged
    into instead. Returns None where that working memory is gone, deleted or idled out during the turn, though the
    session may have another by now: what was deleted must not come back with it (L6).
    """
    same = WorkingMemory.objects.filter(session_id=snapshot.session_id, created_at=snapshot.created_at)

    def store(current: WorkingMemorySnapshot, rows: QuerySet[WorkingMemory]) -> WorkingMemorySnapshot | None:
        noted = {name: mask_value(value, label=name) for name, value in variables.items()}
        merged = merge_from_model(current.variables, noted, now=now, max_bytes=max_bytes)
        recorded = replace(
            current,
            current_topic=mask_secrets(topic) if topic else current.current_topic,
            variables=merged,
            last_emotion=last_emotion,
            updated_at=max(current.updated_at, now),
            revision=current.revision + 1,
        )
        is_written = rows.update(
            current_topic=recorded.current_topic,
            context_variables=dict(merged.values),
            written=merged.dump_written(),
            updated_at=recorded.updated_at,
            last_emotion=last_emotion,
            revision=F("revision") + 1,
        )
        return recorded if is_written else None

    recorded = store(snapshot, same.filter(revision=snapshot.revision))
    if recorded is None:
        with transaction.atomic():
            row = same.select_for_update().first()
            if row is None:
                return None
            snapshot = to_snapshot(row)
            recorded = store(snapshot, same)
    if recorded is not None and _says(recorded) != _says(snapshot):
        _record_revision(user_id=user.pk, state=recorded, now=now)
    return recorded


@transaction.atomic
def record_form(
    *, user: User, session_id: uuid.UUID, title: str, fields: Mapping[str, Any], now: datetime, paused: bool = False
) -> WorkingMemorySnapshot:
    """Keep a submitted form (H1, H3): the same title again replaces and moves last. `turn_count` stays.

    `paused`: remembering is paused (D5). Raises `NotFound` without the session, `TooLarge` when it does not fit even
    after eviction, with nothing changed (W5).
    """
    settings = get_settings(user)
    lock_session(user=user, session_id=session_id)
    row = _lock(user=user, session_id=session_id, now=now, ttl_minutes=settings.working_ttl_minutes)
    if row is None:
        row = WorkingMemory(session_id=session_id, user=user, created_at=now)
    row.paused = row.paused or paused
    value = {"fields": dict(fields), "timestamp": now.isoformat()}
    current = Variables.load(row.context_variables, row.written)
    changed = write(current, f"{FORM_PREFIX}{title}", value, now=now, max_bytes=settings.working_max_bytes)
    if changed is None:
        raise TooLarge(f"The form passes the limit of {settings.working_max_bytes} bytes of context variables.")
    return _save(row, changed, now=now)


@transaction.atomic
def update_working_memory(
    *, user: User, session_id: uuid.UUID, now: datetime, changes: Mapping[str, Any]
) -> WorkingMemorySnapshot:
    """Change the topic or variables by hand; variables merge key by key and null removes one, forms too (R2).

    `changes` may hold `current_topic` (null clears it) and `context_variables`. Raises `NotFound` without working
    memory, `InvalidInput` for a form that is none, `TooLarge` when a value does not fit, with nothing changed.
    """
    variables = changes.get("context_variables", {})
    if wrong := [key for key, value in variables.items() if is_form(key) and not (value is None or holds_form(value))]:
        raise InvalidInput(
            "A form has fields and a timestamp (H1).", fields={key: ["Must be a form, or null."] for key in wrong}
        )
    get_session(user, session_id, to_change=True)
    settings = get_settings(user)
    row = _lock(user=user, session_id=session_id, now=now, ttl_minutes=settings.working_ttl_minutes)
    if row is None:
        raise NotFound(NO_WORKING_MEMORY)
    current = Variables.load(row.context_variables, row.written)
    limit = settings.working_max_bytes
    for key, value in variables.items():
        written = remove(current, key) if value is None else write(current, key, value, now=now, max_bytes=limit)
        if written is None:
            raise TooLarge(f"{key} passes the limit of {limit} bytes of context variables.")
        current = written
    if any(value is not None and key not in current.values for key, value in variables.items()):
        # One had to make way for another of the same request: all of it is stored, or nothing.
        raise TooLarge(f"Together the variables pass the limit of {limit} bytes.")
    row.current_topic = changes.get("current_topic", row.current_topic)
    return _save(row, current, now=now)


def delete_working_memory(*, user: User, session_id: uuid.UUID) -> int:
    """Delete the working memory of a session and all it was before; returns how many live ones went, 1 or 0.

    Raises `NotFound` where there is nothing of either.
    """
    get_session(user, session_id, to_change=True)
    deleted, _by_model = WorkingMemory.objects.filter(user=user, session_id=session_id).delete()
    earlier, _by_model = WorkingMemoryRevision.objects.filter(user=user, session_id=session_id).delete()
    if not deleted + earlier:
        raise NotFound(NO_WORKING_MEMORY)
    return deleted


@transaction.atomic
def forget_parts(
    *, user: User, session_id: uuid.UUID, names: Collection[str], topics: Collection[str], now: datetime
) -> None:
    """Remove variables by name, and topics, from the session's working memory and from all it was before (L6)."""
    row = _lock(user=user, session_id=session_id, now=now, ttl_minutes=get_settings(user).working_ttl_minutes)
    if row is not None:
        row.current_topic = None if row.current_topic in topics else row.current_topic
        _save(row, _remove_all(row, names), now=now)
    # After the live one: whoever writes it notes a revision under its lock.
    revisions = WorkingMemoryRevision.objects.select_for_update().filter(user=user, session_id=session_id)
    revisions.filter(current_topic__in=topics).update(current_topic=None)
    for earlier in revisions.filter(context_variables__has_any_keys=list(names)).order_by("id"):
        left = _remove_all(earlier, names)
        earlier.context_variables, earlier.written = dict(left.values), left.dump_written()
        earlier.save(update_fields=["context_variables", "written"])


def _remove_all(row: WorkingMemory | WorkingMemoryRevision, names: Collection[str]) -> Variables:
    left = Variables.load(row.context_variables, row.written)
    for name in names:
        left = remove(left, name)
    return left


def _lock(*, user: User, session_id: uuid.UUID, now: datetime, ttl_minutes: int) -> WorkingMemory | None:
    """Return the live row of the session under lock; one that idled too long is deleted as the sweep would."""
    row = WorkingMemory.objects.select_for_update().filter(user=user, session_id=session_id).first()
    if row is not None and row.updated_at < now - timedelta(minutes=ttl_minutes):
        row.delete()
        return None
    return row


def _save(row: WorkingMemory, variables: Variables, *, now: datetime) -> WorkingMemorySnapshot:
    row.context_variables = dict(variables.values)
    row.written = variables.dump_written()
    row.updated_at = now
    row.revision += 1
    row.save()
    snapshot = to_snapshot(row)
    _record_revision(user_id=row.user_id, state=snapshot, now=now)
    return snapshot


def _says(state: WorkingMemorySnapshot) -> tuple[str | None, list[tuple[str, Any]]]:
    """What the prompt of a turn includes, in order."""
    return state.current_topic, list(state.variables.values.items())


def _record_revision(*, user_id: int, state: WorkingMemorySnapshot, now: datetime) -> None:
    WorkingMemoryRevision.objects.create(
        session_id=state.session_id,
        user_id=user_id,
        started_at=state.created_at,
        revision=state.revision,
        current_topic=state.current_topic,
        context_variables=dict(state.variables.values),
        written=state.variables.dump_written(),
        created_at=now,
    )
