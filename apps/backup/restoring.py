"""Restoring a backup: into a new database beside the present one, which takes its place when all is done.

Until the two are renamed, in one transaction, the present database and its key are what they were: a restore that
fails or is killed has changed nothing, and is repeated by the same command.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg
from celery import current_app
from django.conf import settings
from django.core.cache import cache
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from apps.accounts.models import User
from apps.accounts.services.ledger import FILE, Erased, list_keys
from apps.backup.archive import Archive
from apps.backup.erasures import (
    Reapplied,
    check_keys,
    leave_living,
    merge_erasures,
    read_erasure_file,
    read_erasures,
    reapply_erasures,
)
from apps.backup.postgresql import BackupError, Database, django_uses
from apps.conversations.queue import release_all_claims
from apps.core.db import disconnect
from apps.core.secret_key import fingerprint, put_secret_key

_ANSWER_SECONDS = 1.0

Tell = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a restore is going to do, as far as it can be known before.

    `holds_data`: there are accounts that would be replaced. `key`: the backup's, where it becomes the installation's.
    """

    archive: Archive
    database: Database
    holds_data: bool
    key: str | None
    erasures: Sequence[Erased]


def plan_restore(path: Path, *, erasures: Collection[Path], without_key: bool) -> Plan:
    """Look at the backup and the target; `BackupError` where it cannot be restored there. Changes nothing."""
    archive = Archive.open(path)
    manifest = archive.manifest
    if unknown := find_unknown_migrations(manifest.migrations):
        raise BackupError(
            f"This backup was made by a newer version of Jiyi ({manifest.version}): this one does not know "
            f"{unknown[0]}. Install that version first."
        )
    key = _choose_key(archive, without_key=without_key)
    disconnect()
    database = Database.of_django()
    check_nobody_uses(database)
    database.check_replaceable()
    archive.find_loader(database)
    for file in erasures:
        if not file.is_file():
            raise BackupError(f"{file}: No such file.")
    told = [record for file in (*erasures, Path(settings.DATA_DIR) / FILE) for record in read_erasure_file(file)]
    records = leave_living(merge_erasures([*read_erasures(since=manifest.created_at), *told]))
    held = User._meta.db_table in connection.introspection.table_names() and User.objects.exists()
    check_keys(
        (record for record in records if record.at >= manifest.created_at),
        keys={*list_keys(), *([fingerprint(key)] if key else [])},
    )
    return Plan(archive=archive, database=database, holds_data=held, key=key, erasures=records)


def restore(plan: Plan, *, tell: Tell) -> Reapplied:
    """Do what was planned. `BackupError`, or whatever else is raised, leaves the target as it was."""
    new, old = plan.database.beside("restoring"), plan.database.beside("replaced")
    try:
        new.create(like=plan.database)
        with _key_in_use(plan.key):
            tell("Restoring …")
            plan.archive.load(new)
            with django_uses(new):
                reapplied = _finish(plan, tell=tell)
            current_app.control.purge()  # what wakes workers is about another database; this one has its own work
            _take_place(plan, new=new, old=old)
    except BaseException:
        with suppress(psycopg.Error, BackupError):
            new.drop()
        raise
    old.drop()
    return reapplied


def find_unknown_migrations(applied: Collection[str]) -> list[str]:
    """Return the applied migrations that this code does not know: the data is of a newer version."""
    loader = MigrationLoader(None, load=False)
    loader.load_disk()
    migrations = loader.disk_migrations
    replaced = {key for migration in migrations.values() for key in migration.replaces}
    return sorted(set(applied) - {f"{app}.{name}" for app, name in {*migrations, *replaced}})


def check_nobody_uses(database: Database) -> None:
    """Raise `BackupError` while a worker answers or anybody is connected to the database."""
    try:
        cache.get("restore")  # a server that is away is told at once
        answers = current_app.control.ping(timeout=_ANSWER_SECONDS) or []
    except (RedisError, OperationalError, OSError) as error:
        raise BackupError("The queue server (REDIS_URL) cannot be reached. It is needed for a restore, too.") from error
    if answers:
        workers = ", ".join(sorted(name for answer in answers for name in answer))
        raise BackupError(f"Workers are running: {workers}. Stop them, and web and beat, first.")
    database.check_unused()


def _finish(plan: Plan, *, tell: Tell) -> Reapplied:
    """Bring what was loaded to this version, and erase again what was erased since."""
    call_command("migrate", interactive=False, verbosity=0)
    if released := release_all_claims():
        tell(f"Work that was being done when the backup was made is due again: {released:,}")
    reapplied = reapply_erasures(plan.erasures)
    if not reapplied.verified:
        raise BackupError("What was erased since the backup could not be erased again. Nothing was changed.")
    return reapplied


def _take_place(plan: Plan, *, new: Database, old: Database) -> None:
    """Rename the databases, and keep the backup's key before that: with it the file has the present one, too, so that
    all secrets can be read with either database.
    """
    before = _read_key_file()
    handlers = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        if plan.key:
            put_secret_key(Path(settings.DATA_DIR), plan.key, former=before)
        plan.database.make_way(new=new, old=old)
    except BaseException:
        if plan.key and before:
            put_secret_key(Path(settings.DATA_DIR), before[0], former=before[1:])
        for number, handler in handlers.items():
            signal.signal(number, handler)
        raise
    # Ctrl-C stays without effect: it would be told as "nothing was changed".


def _read_key_file() -> list[str]:
    path = Path(settings.DATA_DIR) / "secret_key"
    return path.read_text().split() if path.exists() else []


def _choose_key(archive: Archive, *, without_key: bool) -> str | None:
    """Return the backup's key where it is to become the installation's; None where there is nothing to do."""
    wanted = archive.manifest.key
    if without_key or wanted == fingerprint(settings.SECRET_KEY):
        return None
    if archive.key and settings.SECRET_KEY in _read_key_file():  # else it is in the environment, which we cannot change
        return archive.key
    if wanted in list_keys():
        return None
    where = f"in the file (unzip -p {archive.path} secret_key)" if archive.key else "not in the file"
    raise BackupError(
        f"The key of this backup's installation (fingerprint {wanted}) is none of the keys here; it is {where}. Set "
        "SECRET_KEY to it, or list it in SECRET_KEY_FALLBACKS. Without it the stored keys of connected models and "
        "secrets of service tokens cannot be read, everybody is logged out, and deleted memories may be learned again. "
        "To restore all the same, use --without-key."
    )


@contextmanager
def _key_in_use(key: str | None) -> Iterator[None]:
    """Have Django use the backup's key for the time of the block: digests in the restored database are made with it."""
    before = settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS
    if key:
        settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = key, [before[0], *before[1]]
    try:
        yield
    finally:
        settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = before
