"""Erasing again, in a database that was restored, what has been erased since its backup was made (R3)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, TypeVar
from uuid import UUID

from django.utils import timezone

from apps.accounts.models import ErasureRecord, User
from apps.accounts.services.erasure import Receipt, delete_account_again, erase_user
from apps.accounts.services.ledger import (
    ACCOUNT,
    PERSON,
    SESSION,
    Erased,
    add_records,
    identify_person,
    list_keys,
    make_digest,
)
from apps.backup.types import BackupError
from apps.conversations.models import Session
from apps.conversations.services import delete_sessions
from apps.core.errors import NotFound
from apps.memory.models import AtomicMemory, Change, LongTermMemory, SharedContext
from apps.memory.services import (
    Origin,
    changed_by,
    forget_atomic_memories,
    forget_context,
    forget_memories,
)
from apps.profile.models import UserProfile
from apps.profile.services import forget_profile
from apps.summaries.models import SessionSummary
from apps.summaries.services import delete_session_summary

_TOGETHER = 500

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Redone:
    """What was erased again: a receipt for each person and account by the start of their digest, conversations and
    objects by their number.
    """

    receipts: Mapping[str, Receipt]
    counts: Mapping[str, int]

    @property
    def verified(self) -> bool:
        return all(receipt.verified for receipt in self.receipts.values())


def check_keys(records: Iterable[Erased], *, keys: Collection[str]) -> None:
    """Raise `BackupError` where records were made with a key that is not there: nobody could be recognised by them."""
    unknown = {record.key for record in records if record.key} - set(keys)
    if unknown:
        raise BackupError(
            "Some people were erased since this backup was made, and they can be recognised only with the key of that "
            f"time (fingerprint {', '.join(sorted(unknown))}). List it in SECRET_KEY_FALLBACKS. Nothing was changed."
        )


def redo(records: Sequence[Erased]) -> Redone:
    """Erase again what these records name and the present database still holds, and keep the records in it.

    What is recorded in the database already was erased when the backup was made, whatever the clocks said.
    """
    ids = [record.id for record in records if record.key]
    known = {str(row_id) for row_id in ErasureRecord.objects.filter(id__in=ids).values_list("id", flat=True)}
    new = [record for record in records if record.id not in known]
    check_keys(new, keys=list_keys())
    receipts: dict[str, Receipt] = {}
    for user_id, record in _find_people(new):
        user = User.objects.filter(pk=user_id).first()
        if user is not None:  # else gone with the service that it belonged to
            again = delete_account_again(user=user) if record.kind == ACCOUNT else erase_user(user=user, again=True)
            receipts[f"{record.kind} {record.subject[:12]}"] = again
    counts: Counter[str] = Counter()
    for some in _batch(_find_sessions(new), _TOGETHER):
        counts["conversations"] += delete_sessions(Session.objects.filter(id__in=some), record=False)
    for kind, forget in _FORGET.items():
        objects = [record for record in new if record.kind == kind]
        for part in _batch(objects, _TOGETHER):
            counts[kind] += _forget_again(kind, part, forget)
    add_records(new)
    return Redone(receipts=receipts, counts=+counts)


def _find_people(records: Iterable[Erased]) -> list[tuple[int, Erased]]:
    """Who is meant, accounts last: each person's data goes before the account of the service they belong to."""
    found: list[tuple[int, Erased]] = []
    people = [record for record in records if record.kind in (PERSON, ACCOUNT)]
    wanted = {(record.kind, record.key, record.subject): record for record in people}
    if not wanted:
        return []
    used = {record.key for record in people}
    keys = {fingerprint: key for fingerprint, key in list_keys().items() if fingerprint in used}
    for user_id, joined in User.objects.order_by("pk").values_list("pk", "date_joined").iterator():
        identity = identify_person(user_id, joined)
        for kind in (PERSON, ACCOUNT):
            for fingerprint, key in keys.items():
                record = wanted.get((kind, fingerprint, make_digest(kind, identity, key=key)))
                if record:
                    found.append((user_id, record))
    return sorted(found, key=lambda pair: (pair[1].kind == ACCOUNT, pair[0]))


def _find_sessions(records: Iterable[Erased]) -> Iterator[UUID]:
    wanted = {(record.key, record.subject) for record in records if record.kind == SESSION}
    if not wanted:
        return
    keys = list_keys()
    for session_id in list(Session.objects.values_list("id", flat=True)):
        for fingerprint, key in keys.items():
            if (fingerprint, make_digest(SESSION, str(session_id), key=key)) in wanted:
                yield session_id


Forget = Callable[[User, Collection[UUID], datetime], object]


def _forget_again(kind: str, records: Sequence[Erased], forget: tuple[Any, Forget]) -> int:
    """Delete objects that are still there. One that the backup knows as deleted, and has, was written anew."""
    table, delete = forget
    ids = [UUID(record.subject) for record in records]
    deleted = Change.objects.filter(kind=kind, action=Change.Action.DELETE, object_id__in=ids)
    already = set(deleted.values_list("object_id", "created_at"))
    again = [UUID(record.subject) for record in records if (UUID(record.subject), record.at) not in already]
    owners: dict[int, list[UUID]] = defaultdict(list)
    for row_id, user_id in table.filter(id__in=again).values_list("id", "user_id"):
        owners[user_id].append(row_id)
    for user in User.objects.filter(pk__in=owners):
        with changed_by(origin=Origin.LIFE_CYCLE, actor=None), suppress(NotFound):
            delete(user, owners[user.pk], timezone.now())
    return sum(map(len, owners.values()))


def _forget_contexts(user: User, ids: Collection[UUID], now: datetime) -> None:
    for context_id in ids:
        forget_context(user=user, context_id=context_id, now=now)


def _forget_summaries(user: User, ids: Collection[UUID], now: datetime) -> None:
    for summary_id in ids:
        delete_session_summary(user=user, summary_id=summary_id, now=now)


_FORGET: dict[str, tuple[Any, Forget]] = {
    "long_term": (LongTermMemory.objects, lambda user, ids, now: forget_memories(user=user, ids=ids, now=now)),
    "atomic": (AtomicMemory.objects, lambda user, ids, now: forget_atomic_memories(user=user, ids=ids, now=now)),
    "context": (SharedContext.objects, _forget_contexts),
    "profile": (UserProfile.objects, lambda user, _ids, now: forget_profile(user=user, now=now)),
    "summary": (SessionSummary.objects.filter(deleted=False), _forget_summaries),
}


def _batch(values: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(values)
    while some := list(islice(rest, size)):
        yield some
