"""Start, read, cancel and undo imports, and delete their reports. Workers do the rest (`running`)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from typing import IO
from uuid import UUID

from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext, gettext_noop
from redis.exceptions import RedisError

from apps.accounts.models import User
from apps.accounts.services.people import keep_account
from apps.conversations.queue import send_task
from apps.core.errors import Conflict, InvalidInput, NotFound, TooLarge
from apps.core.text.clean import clean_text
from apps.doors.imports.formats.registry import FORMATS, detect_format, get_format
from apps.doors.imports.formats.uploads import Upload
from apps.doors.models import PART_BYTES, ImportItem, ImportPart, PastImport

State = PastImport.State

# States in which a worker has something to do.
UNDER_WAY = (State.QUEUED, State.READING, State.RUNNING, State.UNDOING)

# Of one person's at a time: each keeps its file.
MAX_UNDER_WAY = 5

# After so long the next preview may begin, should the process of this one have been killed.
PREVIEW_SECONDS = 60

CANCELLED = "cancelled"
TASK = "apps.doors.tasks.run_imports"


def offer_formats(_request: HttpRequest) -> dict[str, Callable[[], list[dict[str, str]]]]:
    """Give templates the formats that can be imported, as `import_formats`; a context processor."""
    return {"import_formats": describe_formats}


def describe_formats() -> list[dict[str, str]]:
    """Return the formats for people, in their language."""
    return [
        {"name": each.name, "label": gettext(each.label), "description": gettext(each.description)}
        for each in FORMATS.values()
    ]


def list_imports(user: User) -> QuerySet[PastImport]:
    """Return the person's imports, newest first."""
    return PastImport.objects.filter(user=user)


def get_import(user: User, import_id: UUID, *, among: QuerySet[PastImport] | None = None) -> PastImport:
    """Return one of the person's imports, or raise `NotFound`."""
    found = (PastImport.objects if among is None else among).filter(user=user, id=import_id).first()
    if found is None:
        raise NotFound("This import does not exist.")
    return found


def list_items(user: User, import_id: UUID) -> QuerySet[ImportItem]:
    """Return the items of an import with their outcomes, in the order of the file; or raise `NotFound`."""
    items = ImportItem.objects.filter(user=user, past_import=get_import(user, import_id))
    return items.order_by("number").defer("payload")


def check_size(size: int) -> None:
    """Raise `TooLarge` for a file that is larger than `IMPORT_MAX_BYTES`."""
    if size > settings.IMPORT_MAX_BYTES:
        limit = settings.IMPORT_MAX_BYTES
        raise TooLarge(f"The file is larger than {limit // 1024**2} MiB.", fields={"max_bytes": limit})


@contextmanager
def hold_preview(user: User) -> Iterator[None]:
    """Let a person preview one file at a time; `Conflict` for another one. It keeps a web process busy."""
    key = f"imports:preview:{user.pk}"
    try:
        is_first = cache.add(key, True, PREVIEW_SECONDS)
    except (RedisError, OSError):  # the cache cannot be asked
        is_first = True
    if not is_first:
        raise Conflict("Another file is being previewed. Try again when that is done.")
    try:
        yield
    finally:
        with suppress(RedisError, OSError):
            cache.delete(key)


def create_import(*, user: User, file: IO[bytes], name: str, now: datetime, named: str | None = None) -> PastImport:
    """Take a file and have workers import it. While that is under way, the same file again is the same import.

    What it brings goes to the space that the person looks from; an export of everything to those that it tells.
    `named`: its format, detected by its content if not given. Raises `UnreadableFile` or `UnknownFormat`; `TooLarge`;
    `Conflict` when the person has too many under way; `InvalidInput` for an export of everything into a space.
    """
    found = (get_format(named) if named else detect_format(Upload(file))).name
    if get_format(found).restores and not user.sight.everything:
        raise InvalidInput("An export of everything is restored as a whole, not into a space.")
    size = file.seek(0, 2)
    check_size(size)
    digest = _digest(file)
    with transaction.atomic():
        keep_account(user)
        # One at a time, so that the same file that is sent twice is one import.
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
        under_way = PastImport.objects.filter(user=user, state__in=UNDER_WAY)
        same = (
            under_way.filter(digest=digest, format=found, space=user.sight.space).exclude(state=State.UNDOING).first()
        )
        if same is not None:
            return same
        if under_way.count() >= MAX_UNDER_WAY:
            raise Conflict(gettext_noop("Too many imports are under way. Wait until one is done, or cancel it."))
        created = PastImport.objects.create(
            user=user,
            space_id=user.sight.space,
            format=found,
            file_name=clean_text(name)[-200:],
            size=size,
            digest=digest,
            served_at=now,
            created_at=now,
            updated_at=now,
        )
        for number, data in enumerate(_read_portions(file)):
            ImportPart.objects.create(past_import=created, user=user, number=number, data=data)
        wake_importer()
    return created


def wake_importer() -> None:
    """Have a worker continue imports once the transaction commits; a lost call costs only time."""
    transaction.on_commit(partial(send_task, TASK))


@transaction.atomic
def remove_import(*, user: User, import_id: UUID, now: datetime) -> PastImport | None:
    """Cancel an import that is under way: what was imported stays. Delete the report of one that is not.

    Returns the cancelled import, None for a deleted one. Raises `NotFound`; `Conflict` while it is being undone.
    """
    found = _lock(user, import_id)
    if found.state == State.UNDOING:
        raise Conflict("This import is being undone.")
    if found.state not in UNDER_WAY:
        found.delete()
        return None
    waiting = ImportItem.objects.filter(past_import=found, state=ImportItem.State.WAITING)
    waiting.update(state=ImportItem.State.SKIPPED, reason=CANCELLED, payload=None)
    ImportPart.objects.filter(past_import=found).delete()
    found.state, found.finished_at, found.updated_at = State.CANCELLED, now, now
    found.claim = found.lease_until = None
    found.save(update_fields=["state", "finished_at", "updated_at", "claim", "lease_until"])
    return found


@transaction.atomic
def undo_import(*, user: User, import_id: UUID, now: datetime) -> PastImport:
    """Have workers undo an import: its sessions, its memories, and what was learned from it go.

    What the person has built on since stays: sessions that they continued, memories that were changed.

    Raises `NotFound`; `Conflict` for one that is under way or undone, and for a restored export of our own.
    """
    found = _lock(user, import_id)
    if not can_be_undone(found):
        raise Conflict("This import cannot be undone.")
    found.state, found.updated_at, found.served_at, found.finished_at = State.UNDOING, now, now, None
    found.save(update_fields=["state", "updated_at", "served_at", "finished_at"])
    wake_importer()
    return found


def can_be_undone(past_import: PastImport) -> bool:
    """Whether an import has ended and brought what can be told apart from all else."""
    ended = (State.DONE, State.CANCELLED, State.FAILED)
    found = FORMATS.get(past_import.format)
    return past_import.state in ended and found is not None and not found.restores


def _lock(user: User, import_id: UUID) -> PastImport:
    keep_account(user)
    return get_import(user, import_id, among=PastImport.objects.select_for_update(no_key=True))


def _digest(file: IO[bytes]) -> bytes:
    digest = hashlib.sha256()
    for data in _read_portions(file):
        digest.update(data)
    return digest.digest()


def _read_portions(file: IO[bytes]) -> Iterator[bytes]:
    file.seek(0)
    while data := file.read(PART_BYTES):
        yield data
