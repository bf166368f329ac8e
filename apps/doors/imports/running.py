"""Continuing imports: a short step of one, then one of the next person's, each in a transaction of its own.

What is still to be done is in PostgreSQL: a run that is killed leaves it where it was, and another takes it up. A run
holds an import by its `claim`; each step first renews that, in its transaction, and writes nothing where the claim is
lost (cancelled, erased, or taken over after the lease ran out).
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import IO, Any
from uuid import UUID, uuid5

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Q, Sum
from django.utils import timezone
from pydantic import TypeAdapter

from apps.accounts.models import User
from apps.accounts.services.export import restore_person
from apps.accounts.services.people import keep_account
from apps.conversations.recordings import drop_work, import_conversation, withdraw_sessions
from apps.conversations.sessions import count_said
from apps.conversations.types import RecordedMessage
from apps.conversations.worker import DATABASE_ERRORS
from apps.core.errors import JiyiError
from apps.doors.imports.formats.base import ExportedRow, Item, Omission, PastConversation, PastMemory, PastProfile
from apps.doors.imports.formats.registry import get_format
from apps.doors.imports.formats.uploads import UnreadableFile, Upload
from apps.doors.imports.previews import NOTHING_FOUND, Preview
from apps.doors.imports.services import UNDER_WAY
from apps.doors.models import ImportItem, ImportPart, PastImport
from apps.memory.changes.records import Origin, changed_by, list_caused_operations
from apps.memory.changes.undo import undo_and_purge
from apps.memory.locking import lock_memories
from apps.memory.transfer import Adoption, ForeignMemory, adopt_memories
from apps.profile.services import propose_text, withdraw_proposals
from apps.summaries.services import leave_unsummarized

logger = structlog.get_logger(__name__)

SLICE_SECONDS = 1.0  # how long one import goes on before it is another's turn
RUN_SECONDS = 2.0  # how long a run goes on before its worker does something else
MAX_ATTEMPTS = 5  # runs that die at an import before it counts as failed

# Stored in one statement while a file is read: items, and their characters.
STORED_TOGETHER, STORED_CHARACTERS = 100, 4_000_000

# Of a conversation, of memories, and of what is undone: as much as one transaction deals with.
MESSAGES_TOGETHER, MEMORIES_TOGETHER, UNDONE_TOGETHER = 500, 100, 20

NAMESPACE = UUID("7a3c1b52-5d0e-4c7b-9a5e-0d1f6b2c8e41")

_CONVERSATION, _MEMORY, _PROFILE = TypeAdapter(PastConversation), TypeAdapter(PastMemory), TypeAdapter(PastProfile)


class ClaimLost(Exception):
    """The import is not this run's any more."""


def run_imports(*, token: str) -> bool:
    """Continue imports for a while, in turn; returns whether there is more to do. `token` names this run."""
    deadline = time.monotonic() + RUN_SECONDS
    while time.monotonic() < deadline:
        claimed = claim_import(token=token, now=timezone.now())
        if claimed is None:
            return False
        run_slice(claimed, token=token, seconds=SLICE_SECONDS)
    return PastImport.objects.filter(state__in=UNDER_WAY).exists()


@transaction.atomic
def claim_import(*, token: str, now: datetime, only: PastImport | None = None) -> PastImport | None:
    """Claim the import that was continued least recently, or `only` this one; None where no run may have it now."""
    due = PastImport.objects.all() if only is None else PastImport.objects.filter(id=only.pk)
    # A run that the database has ended comes back under its name.
    free = Q(lease_until__isnull=True) | Q(lease_until__lt=now) | Q(claim=token)
    due = due.filter(free, state__in=UNDER_WAY).order_by("served_at", "id")
    found = due.select_for_update(no_key=True, skip_locked=True).first()
    if found is None:
        return None
    found.attempts += 1
    found.claim, found.lease_until, found.served_at = token, now + _get_lease(), now
    found.save(update_fields=["claim", "lease_until", "served_at", "attempts"])
    return found


def run_slice(
    past_import: PastImport, *, token: str, seconds: float, progress: Callable[[], None] | None = None
) -> None:
    """Continue a claimed import until `seconds` have passed or it has ended, then give it back.

    What goes wrong because of the file or of this import is kept as its problem; the database's faults are raised.
    """
    deadline = time.monotonic() + seconds
    with changed_by(origin=Origin.API, actor=past_import.user):
        try:
            if past_import.attempts > MAX_ATTEMPTS:
                _end(past_import, token=token, state=PastImport.State.FAILED, problem="The worker was lost each time.")
                return
            while _step(past_import, token=token):
                if progress:
                    progress()
                if time.monotonic() > deadline:
                    break
            _release(past_import, token=token)
        except ClaimLost:
            return
        except DATABASE_ERRORS:
            raise
        except Exception as error:  # whatever an import trips over, the others continue
            logger.warning("import_failed", past_import=str(past_import.id), cause=type(error).__name__)
            problem = str(error) if isinstance(error, UnreadableFile | JiyiError) else type(error).__name__
            _end(past_import, token=token, state=PastImport.State.FAILED, problem=problem)


def _step(past_import: PastImport, *, token: str) -> bool:
    """Do a piece of what is left; False when nothing is."""
    match past_import.state:
        case PastImport.State.UNDOING:
            return _undo(past_import, token=token)
        case PastImport.State.RUNNING:
            return _import_some(past_import, token=token)
        case _ if get_format(past_import.format).restores:
            _restore(past_import, token=token)
            return False
        case _:
            return _read(past_import, token=token)


# Reading


def _read(past_import: PastImport, *, token: str) -> bool:
    """Store the items of the file; False where there are none. A run that was killed at this begins again."""
    with _held(past_import, token=token):
        past_import.items.all().delete()
        past_import.state = PastImport.State.READING
        past_import.save(update_fields=["state"])
    found = Preview(format=past_import.format)
    problem, number = "", 0
    with _open_file(past_import) as file:
        rows: list[ImportItem] = []
        characters = 0
        items = get_format(past_import.format).read(Upload(file))
        while True:
            try:
                item = next(items, None)
            except UnreadableFile as error:
                item, problem = None, str(error)
            if item is not None:
                found.add(item)
                made = list(make_items(past_import, item, first=number))
                number += len(made)
                rows += made
                characters += sum(len(message.content) for message in getattr(item, "messages", ()))
            if rows and (item is None or len(rows) >= STORED_TOGETHER or characters > STORED_CHARACTERS):
                with _held(past_import, token=token):
                    ImportItem.objects.bulk_create(rows)
                rows, characters = [], 0
            if item is None:
                break
    problem = problem or found.problem
    if found.is_empty:
        problem = problem or NOTHING_FOUND
    with _held(past_import, token=token):
        ImportPart.objects.filter(past_import=past_import).delete()
        past_import.state, past_import.problem = PastImport.State.RUNNING, problem[:300]
        past_import.total, past_import.done = past_import.items.filter(state=ImportItem.State.WAITING).count(), 0
        past_import.counts = _begin_report(found)
        past_import.save(update_fields=["state", "problem", "total", "done", "counts"])
    if found.is_empty:
        _end(past_import, token=token, state=PastImport.State.FAILED, problem=problem)
    return not found.is_empty


def make_items(past_import: PastImport, item: Item, *, first: int) -> Iterator[ImportItem]:
    """Yield the rows of an item, numbered from `first`; a long conversation is several."""

    def make(kind: ImportItem.Kind, label: str, **fields: Any) -> ImportItem:
        row = ImportItem(past_import=past_import, user_id=past_import.user_id, number=first, kind=kind)
        row.label = label[:200]
        for name, value in fields.items():
            setattr(row, name, value)
        return row

    match item:
        case PastConversation():
            for start in range(0, len(item.messages), MESSAGES_TOGETHER):
                part = replace(item, messages=item.messages[start : start + MESSAGES_TOGETHER])
                yield make(
                    ImportItem.Kind.CONVERSATION, item.title, payload=_CONVERSATION.dump_python(part, mode="json")
                )
                first += 1
        case PastMemory():
            label = item.content or f"{item.key}: {item.value}"
            yield make(ImportItem.Kind.MEMORY, label, payload=_MEMORY.dump_python(item, mode="json"))
        case PastProfile():
            yield make(ImportItem.Kind.OTHER, item.text, payload=_PROFILE.dump_python(item, mode="json"))
        case Omission():
            why = {"reason": str(item.reason), "detail": item.detail[:300], "count": item.count}
            yield make(ImportItem.Kind.OTHER, item.label, state=ImportItem.State.SKIPPED, **why)


@contextmanager
def _open_file(past_import: PastImport) -> Iterator[IO[bytes]]:
    """The file again, on this machine's disk for as long as it is read. It has no name, and nothing of it stays."""
    with tempfile.TemporaryFile() as file:
        for number in (
            ImportPart.objects.filter(past_import=past_import).order_by("number").values_list("id", flat=True)
        ):
            file.write(ImportPart.objects.values_list("data", flat=True).get(id=number))
        file.seek(0)
        yield file


def _begin_report(found: Preview) -> dict[str, Any]:
    nothing = {"conversations": 0, "messages": 0, "memories": 0}
    return {**found.describe(), "imported": nothing, "skipped": {}, "failed": 0}


# Importing


def _import_some(past_import: PastImport, *, token: str) -> bool:
    """Import the next conversation, or the next memories."""
    waiting = past_import.items.filter(state=ImportItem.State.WAITING).order_by("number")
    items = list(waiting[:1])
    if items and items[0].kind == ImportItem.Kind.MEMORY:
        items = list(waiting.filter(kind=ImportItem.Kind.MEMORY)[:MEMORIES_TOGETHER])
    if not items:
        _end(past_import, token=token, state=PastImport.State.DONE, problem=past_import.problem)
        return False
    with _held(past_import, token=token) as now:
        if items[0].kind == ImportItem.Kind.CONVERSATION:
            _import_conversation(past_import, items[0], now=now)
        elif items[0].kind == ImportItem.Kind.OTHER:
            _import_profile(past_import, items[0], now=now)
        else:
            _import_memories(past_import, items, now=now)
        for item in items:
            item.payload = None
        ImportItem.objects.bulk_update(
            items, ["state", "reason", "detail", "count", "payload", "session", "made_session", "memory_id"]
        )
        past_import.done += len(items)
        _count(past_import, items)
        past_import.save(update_fields=["done", "counts"])
    return True


def _import_conversation(past_import: PastImport, item: ImportItem, *, now: datetime) -> None:
    found = _CONVERSATION.validate_python(item.payload)
    session_id = _name(past_import, "conversation", found.source_id)
    # A message without a time was said when the one before it was; what comes twice is taken once.
    said_at = found.started_at or past_import.created_at
    messages: dict[UUID, RecordedMessage] = {}
    for one in found.messages:
        said_at, message_id = one.said_at or said_at, uuid5(session_id, one.source_id)
        files = tuple((file.name, file.text) for file in one.files)
        message = RecordedMessage(role=one.role, content=one.content, create_time=said_at, id=message_id, files=files)
        messages.setdefault(message_id, message)
    try:
        with transaction.atomic():
            imported = import_conversation(
                user=past_import.owner,
                session_id=session_id,
                title=found.title,
                started_at=found.started_at or past_import.created_at,
                messages=list(messages.values()),
                now=now,
                learns=found.learns,
            )
    except JiyiError as error:
        item.state, item.detail = ImportItem.State.FAILED, error.message[:300]
        return
    if imported.stored and not found.learns:
        leave_unsummarized(user=past_import.owner, session_id=session_id, now=now)
    item.session_id, item.made_session, item.count = session_id, imported.created, imported.stored
    if imported.stored:
        item.state = ImportItem.State.IMPORTED
    else:
        item.state, item.reason = ImportItem.State.SKIPPED, str(Adoption.AGAIN)


def _import_memories(past_import: PastImport, items: Sequence[ImportItem], *, now: datetime) -> None:
    first: dict[UUID, ImportItem] = {}
    memories: list[ForeignMemory] = []
    for item in items:
        memory = _read_memory(past_import, item, now=now)
        item.memory_id = memory.id
        if memory.id in first:
            item.state, item.reason = ImportItem.State.SKIPPED, str(Adoption.AGAIN)
        else:
            first[memory.id] = item
            memories.append(memory)
    adopted = adopt_memories(user=past_import.owner, memories=memories, operation=past_import.operation, now=now)
    for memory_id, item in first.items():
        outcome = adopted.outcomes[memory_id]
        if outcome not in (Adoption.ADOPTED, Adoption.AGAIN):
            item.memory_id = None
        if outcome is Adoption.ADOPTED:
            item.state, item.count = ImportItem.State.IMPORTED, 1
        elif outcome is Adoption.INVALID:
            item.state, item.detail = ImportItem.State.FAILED, adopted.reasons[memory_id][:300]
        else:
            item.state, item.reason = ImportItem.State.SKIPPED, str(outcome)


def _read_memory(past_import: PastImport, item: ImportItem, *, now: datetime) -> ForeignMemory:
    """Return a memory as it is taken in; one that was true until some time in the past has ended."""
    found = _MEMORY.validate_python(item.payload)
    return ForeignMemory(
        id=_name(past_import, "memory", found.source_id),
        content=found.content,
        key=found.key,
        value=found.value,
        category=found.category,
        tags=list(found.tags),
        said_at=found.said_at,
        event_start=found.started_at,
        event_end=found.ended_at,
        ended=found.ended or (found.ended_at is not None and found.ended_at <= now),
        muted=found.muted,
    )


def _import_profile(past_import: PastImport, item: ImportItem, *, now: datetime) -> None:
    found = _PROFILE.validate_python(item.payload)
    proposal_id = _name(past_import, "profile", f"{found.section}\n{found.text}")
    item.count = propose_text(
        user=past_import.user, proposal_id=proposal_id, section=found.section, text=found.text, now=now
    )
    item.state = ImportItem.State.IMPORTED if item.count else ImportItem.State.SKIPPED
    item.reason = "" if item.count else str(Adoption.KNOWN)
    # Undoing the import finds the proposal by it.
    item.memory_id = proposal_id if item.count else None


def _name(past_import: PastImport, kind: str, source_id: str) -> UUID:
    """Return an ID that follows from the person, the format and the ID at the source, so nothing comes in twice.

    In each space there can be one of it.
    """
    place = [str(past_import.space_id)] if past_import.space_id else []
    return uuid5(NAMESPACE, "\n".join([str(past_import.user_id), *place, past_import.format, kind, source_id]))


def _count(past_import: PastImport, items: Sequence[ImportItem]) -> None:
    counts = past_import.counts
    skipped = Counter(counts["skipped"])
    for item in items:
        if item.state == ImportItem.State.FAILED:
            counts["failed"] += 1
        elif item.state == ImportItem.State.SKIPPED:
            skipped[item.reason] += 1
        elif item.kind == ImportItem.Kind.MEMORY:
            counts["imported"]["memories"] += 1
        elif item.kind == ImportItem.Kind.CONVERSATION:
            counts["imported"]["conversations"] += item.made_session
            counts["imported"]["messages"] += item.count
    counts["skipped"] = dict(skipped)


# Restoring an export of our own


def _restore(past_import: PastImport, *, token: str) -> None:
    """Restore everything in one transaction: a run that is killed at it leaves nothing."""
    with _open_file(past_import) as file, _held(past_import, token=token) as now:
        lock_memories(past_import.user)
        preview = Preview(format=past_import.format)

        def read() -> Iterator[tuple[str, dict[str, Any]]]:
            for item in get_format(past_import.format).read(Upload(file)):
                preview.add(item)
                if isinstance(item, ExportedRow):
                    yield item.table, dict(item.row)

        restored = restore_person(user=past_import.user, read=read, now=now)
        tables = {
            name: {"restored": restored.restored.get(name, 0), "left_out": restored.left_out.get(name, 0)}
            for name in [*restored.restored, *restored.left_out]
        }
        past_import.counts = _begin_report(preview) | {"tables": tables}
        past_import.total = past_import.done = sum(restored.restored.values())
        ImportPart.objects.filter(past_import=past_import).delete()
        past_import.save(update_fields=["counts", "total", "done"])
    _end(past_import, token=token, state=PastImport.State.DONE)


# Undoing


def _undo(past_import: PastImport, *, token: str) -> bool:
    """Take back some of what an import brought: what was learned from its messages, its memories, then its sessions."""
    user: User = past_import.user
    with _held(past_import, token=token) as now:
        sessions = _list_own_sessions(past_import)
        counts = past_import.counts.setdefault("undone", {"sessions": 0, "operations": 0, "kept": 0})
        drop_work(user=user, session_ids=sessions)
        before = past_import.undo_before
        operations = list_caused_operations(user, session_ids=sessions, before=before, limit=UNDONE_TOGETHER)
        left = True
        if operations:
            _withdraw(past_import, [operation for _newest, operation in operations], now=now)
            past_import.undo_before = operations[-1][0]
        elif not counts.get("memories"):
            counts["memories"] = True
            if past_import.items.filter(kind=ImportItem.Kind.MEMORY, state=ImportItem.State.IMPORTED).exists():
                _withdraw(past_import, [past_import.operation], now=now)
            proposed = past_import.items.filter(kind=ImportItem.Kind.OTHER).values_list("memory_id", flat=True)
            withdraw_proposals(user=user, proposal_ids=[proposal_id for proposal_id in proposed if proposal_id])
        else:
            counts["sessions"] += withdraw_sessions(user=user, session_ids=sessions[:UNDONE_TOGETHER])
            left = len(sessions) > UNDONE_TOGETHER
        past_import.save(update_fields=["counts", "undo_before"])
    if not left:
        _end(past_import, token=token, state=PastImport.State.UNDONE, problem=past_import.problem)
    return left


def _list_own_sessions(past_import: PastImport) -> list[UUID]:
    """The sessions that the import made, but those in which something was said since: they are the person's now."""
    made = past_import.items.filter(made_session=True, session__isnull=False).order_by("number")
    sessions = list(made.values_list("session_id", flat=True))
    brought = past_import.items.filter(session__in=sessions).order_by().values("session_id").annotate(n=Sum("count"))
    own = {row["session_id"]: row["n"] for row in brought}
    said = count_said(user=past_import.user, session_ids=sessions)
    return [session_id for session_id in sessions if said.get(session_id, 0) <= own[session_id]]


def _withdraw(past_import: PastImport, operations: Sequence[Any], *, now: datetime) -> None:
    for operation in operations:
        gone = undo_and_purge(user=past_import.user, operation=operation, now=now)
        past_import.counts["undone"]["operations" if gone else "kept"] += 1


# Holding


@contextmanager
def _held(past_import: PastImport, *, token: str) -> Iterator[datetime]:
    """A transaction in which the import is this run's; yields the time. Raises `ClaimLost` where it is not."""
    now = timezone.now()
    with transaction.atomic():
        keep_account(past_import.user)  # first of all, as an erasure locks it first
        mine = PastImport.objects.filter(id=past_import.pk, claim=token, state=past_import.state)
        if not mine.update(lease_until=now + _get_lease(), updated_at=now, attempts=0):
            raise ClaimLost
        past_import.attempts = 0
        yield now


def _release(past_import: PastImport, *, token: str) -> None:
    mine = PastImport.objects.filter(id=past_import.pk, claim=token)
    mine.update(claim=None, lease_until=None, served_at=timezone.now(), attempts=0)


def _end(past_import: PastImport, *, token: str, state: PastImport.State, problem: str = "") -> None:
    """Note that nothing is left to do. The file, and what waited of it, is gone."""
    now = timezone.now()
    with transaction.atomic():
        mine = PastImport.objects.filter(id=past_import.pk, claim=token)
        ended = mine.update(
            state=state, problem=problem[:300], claim=None, lease_until=None, finished_at=now, updated_at=now
        )
        if ended:
            ImportPart.objects.filter(past_import=past_import).delete()
            past_import.items.filter(state=ImportItem.State.WAITING).update(state=ImportItem.State.FAILED, payload=None)
    past_import.state, past_import.problem = state, problem[:300]


def _get_lease() -> timedelta:
    return timedelta(seconds=settings.WORK_LEASE_SECONDS)
