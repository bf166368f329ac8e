"""What was erased or deleted since a backup was made: known from the database that a restore replaces and from files,
and erased again in what is restored (R3).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from django.db import connection
from django.db.models import Model
from django.utils import timezone

from apps.accounts.models import ErasureRecord, Space, User
from apps.accounts.services.erasure import Receipt, delete_account_again, erase_user
from apps.accounts.services.ledger import (
    ACCOUNT,
    PERSON,
    SESSION,
    SPACE,
    BadRecord,
    Erased,
    add_records,
    identify_person,
    list_keys,
    make_digest,
    read_file,
)
from apps.backup.postgresql import BackupError
from apps.conversations.models import Session
from apps.conversations.sessions import delete_sessions
from apps.core.errors import NotFound
from apps.memory.changes.records import Origin, changed_by
from apps.memory.contexts import delete_context
from apps.memory.deletion import delete_memories
from apps.memory.kinds import ATOMIC, LONG_TERM
from apps.memory.models import AtomicMemory, Change, LongTermMemory, SharedContext
from apps.memory.spaces import delete_space, is_empty
from apps.profile.models import UserProfile
from apps.profile.services import forget_profile
from apps.summaries.models import SessionSummary
from apps.summaries.services import delete_session_summary

T = TypeVar("T")

_TOGETHER = 500

# A deletion bears the time at which its transaction began, and may have been committed after the backup began.
_LONGEST_TRANSACTION = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Reapplied:
    """What was erased again: a receipt for each person and account by the start of their digest, conversations and
    objects by their number.
    """

    receipts: Mapping[str, Receipt]
    counts: Mapping[str, int]

    @property
    def verified(self) -> bool:
        return all(receipt.verified for receipt in self.receipts.values())


def read_erasures(*, since: datetime | None = None) -> list[Erased]:
    """Return what the database records as erased, and what as deleted `since` then (None: ever).

    Of what is deleted, the last record of each object; none of what is there again. A database without tables is empty.
    """
    records: list[Erased] = []
    for row_id, kind, subject, at, key in _list_rows(ErasureRecord, "id", "kind", "subject", "at", "key"):
        records.append(Erased(str(row_id), kind, subject, at, key))
    earliest = since - _LONGEST_TRANSACTION if since else datetime(1970, 1, 1, tzinfo=UTC)
    deleted = _list_rows(
        Change,
        "kind",
        "object_id",
        "created_at",
        action=Change.Action.DELETE,
        kind__in=_FORGET,
        created_at__gte=earliest,
    )
    records += [Erased(f"{kind}:{object_id}", kind, str(object_id), at) for kind, object_id, at in deleted]
    return leave_living(merge_erasures(records))


def leave_living(records: Sequence[Erased]) -> list[Erased]:
    """Return the records but those of objects and conversations that the database has again, as of an import that was
    withdrawn and then brought anew: that is not to be erased.
    """
    living: set[tuple[str, str, str]] = set()
    # Not of profiles and summaries, of which the row stays when the text is deleted.
    for kind, table in (("long_term", LongTermMemory), ("atomic", AtomicMemory), ("context", SharedContext)):
        asked = [record.subject for record in records if record.kind == kind]
        living |= {(kind, "", str(row_id)) for (row_id,) in _list_rows(table, "id", id__in=asked)}
    digested: list[tuple[str, type[Model]]] = [(SESSION, Session), (SPACE, Space)]
    for kind, rows in digested:
        used = {record.key for record in records if record.kind == kind}
        keys = [(fingerprint, key) for fingerprint, key in list_keys().items() if fingerprint in used]
        for (row_id,) in _list_rows(rows, "id") if keys else ():
            living |= {(kind, name, make_digest(kind, str(row_id), key=key)) for name, key in keys}
    return [record for record in records if (record.kind, record.key, record.subject) not in living]


def _list_rows(table: type[Model], *columns: str, **conditions: object) -> list[tuple[Any, ...]]:
    """Return these columns; of a table that is not there yet, as in a new database, no rows."""
    if table._meta.db_table not in connection.introspection.table_names():
        return []
    return list(table._default_manager.filter(**conditions).values_list(*columns))


def read_erasure_file(path: Path) -> list[Erased]:
    """Return the records of a file, none where it is not there; `BackupError` where it is no such file."""
    try:
        return read_file(path)
    except BadRecord as error:
        raise BackupError(f"{path}: {error}. Nothing was changed.") from error
    except OSError as error:
        raise BackupError(f"{path}: {error.strerror}") from error


def merge_erasures(records: Iterable[Erased]) -> list[Erased]:
    """Return each record once, in the order of their times: of an object, its last deletion."""
    last = {record.id: record for record in sorted(records, key=lambda record: record.at)}
    return sorted(last.values(), key=lambda record: (record.at, record.id))


def check_keys(records: Iterable[Erased], *, keys: Collection[str]) -> None:
    """Raise `BackupError` where records were made with a key that is not there: nobody could be recognised by them."""
    unknown = {record.key for record in records if record.key} - set(keys)
    if unknown:
        raise BackupError(
            "Some people were erased since this backup was made, and they can be recognised only with the key of that "
            f"time (fingerprint {', '.join(sorted(unknown))}). List it in SECRET_KEY_FALLBACKS. Nothing was changed."
        )


def reapply_erasures(records: Sequence[Erased]) -> Reapplied:
    """Erase again what these records name and the present database still holds, and keep the records in it."""
    # What is recorded in the database already was erased when the backup was made, whatever the clocks said.
    ids = [record.id for record in records if record.key]
    known = set(map(str, ErasureRecord.objects.filter(id__in=ids).values_list("id", flat=True)))
    new = [record for record in records if record.id not in known]
    check_keys(new, keys=list_keys())
    receipts: dict[str, Receipt] = {}
    for user_id, record in _find_people(new):
        user = User.objects.filter(pk=user_id).first()
        if user is not None:  # else gone with the service that it belonged to
            again = delete_account_again(user=user) if record.kind == ACCOUNT else erase_user(user=user, again=True)
            receipts[f"{record.kind} {record.subject[:12]}"] = again
    counts: Counter[str] = Counter()
    for some in _batch(list(_find_again(new, SESSION, Session))):
        counts["conversations"] += delete_sessions(Session.objects.filter(id__in=some), record=False)
    for kind in _FORGET:
        for part in _batch([record for record in new if record.kind == kind]):
            counts[kind] += _forget_again(kind, part)
    # What was moved out of a space before it was erased is in it again, and was not erased: with that it stays.
    for space in Space.objects.filter(id__in=list(_find_again(new, SPACE, Space))).select_related("user"):
        if is_empty(space):
            delete_space(user=space.user, space_id=space.id, erase=False, now=timezone.now())
            counts["spaces"] += 1
    add_records(new)
    return Reapplied(receipts=receipts, counts=+counts)


def _find_people(records: Iterable[Erased]) -> list[tuple[int, Erased]]:
    """Return who is meant, accounts last: each person's data goes before the account of the service they belong to."""
    wanted = {(record.kind, record.key, record.subject): record for record in records}
    used = {record.key for record in records if record.kind in (PERSON, ACCOUNT)}
    keys = {fingerprint: key for fingerprint, key in list_keys().items() if fingerprint in used}
    found: list[tuple[int, Erased]] = []
    if keys:
        for user_id, joined in User.objects.order_by("pk").values_list("pk", "date_joined").iterator():
            identity = identify_person(user_id, joined)
            for kind in (PERSON, ACCOUNT):
                for fingerprint, key in keys.items():
                    record = wanted.get((kind, fingerprint, make_digest(kind, identity, key=key)))
                    if record:
                        found.append((user_id, record))
    return sorted(found, key=lambda pair: (pair[1].kind == ACCOUNT, pair[0]))


def _find_again(records: Iterable[Erased], kind: str, table: type[Model]) -> Iterator[UUID]:
    wanted = {(record.key, record.subject) for record in records if record.kind == kind}
    keys = list_keys() if wanted else {}
    if keys:
        for row_id in table._default_manager.values_list("id", flat=True).iterator():
            if any((name, make_digest(kind, str(row_id), key=key)) in wanted for name, key in keys.items()):
                yield row_id


def _forget_again(kind: str, records: Sequence[Erased]) -> int:
    """Delete objects that are still there. One that the backup knows as deleted, and has, was written anew."""
    rows, forget = _FORGET[kind]
    ids = [UUID(record.subject) for record in records]
    deleted = Change.objects.filter(kind=kind, action=Change.Action.DELETE, object_id__in=ids)
    known = set(deleted.values_list("object_id", "created_at"))
    again = [UUID(record.subject) for record in records if (UUID(record.subject), record.at) not in known]
    owners: dict[int, list[UUID]] = defaultdict(list)
    for row_id, user_id in rows.filter(id__in=again).values_list("id", "user_id"):
        owners[user_id].append(row_id)
    for user in User.objects.filter(pk__in=owners):
        with changed_by(origin=Origin.LIFE_CYCLE, actor=None), suppress(NotFound):
            forget(user, owners[user.pk], timezone.now())
    return sum(map(len, owners.values()))


def _batch(values: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), _TOGETHER):
        yield values[start : start + _TOGETHER]


Forget = Callable[[User, Collection[UUID], datetime], object]


def _forget_contexts(user: User, ids: Collection[UUID], now: datetime) -> None:
    for context_id in ids:
        delete_context(user=user, context_id=context_id, now=now)


def _forget_summaries(user: User, ids: Collection[UUID], now: datetime) -> None:
    for summary_id in ids:
        delete_session_summary(user=user, summary_id=summary_id, now=now)


# The objects whose deletion leaves a record with their ID.
_FORGET: dict[str, tuple[Any, Forget]] = {
    "long_term": (
        LongTermMemory.objects,
        lambda user, ids, now: delete_memories(LONG_TERM, user=user, ids=ids, now=now),
    ),
    "atomic": (AtomicMemory.objects, lambda user, ids, now: delete_memories(ATOMIC, user=user, ids=ids, now=now)),
    "context": (SharedContext.objects, _forget_contexts),
    "profile": (UserProfile.objects, lambda user, _ids, now: forget_profile(user=user, now=now)),
    "summary": (SessionSummary.objects.filter(deleted=False), _forget_summaries),
}
