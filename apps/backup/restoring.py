"""Restoring a backup: into a new database beside the present one, which takes its place when all is done.

Until the two are renamed, in one transaction, the present database and its key are what they were: a restore that
fails or is killed has changed nothing, and is repeated by the same command.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg
from django.conf import settings
from django.core.management import call_command
from django.db.migrations.loader import MigrationLoader

from apps.accounts.services.ledger import FILE, Erased, list_keys
from apps.backup.archive import Archive
from apps.backup.database import (
    Connection,
    Database,
    create_beside,
    django_uses,
    drop,
    holds_data,
    may_replace,
    measure_tables,
    name_beside,
    read_server_major,
    swap,
)
from apps.backup.erasures import leave_living, merge, read_erasures, read_files
from apps.backup.loading import check_server, load
from apps.backup.programs import find_pg_restore
from apps.backup.progress import Bar
from apps.backup.redoing import Redone, check_keys, redo
from apps.backup.running import check_nobody_uses, empty_queues
from apps.backup.types import BackupError, Manifest, find_unknown
from apps.conversations.queue import release_all_claims
from apps.core.db import disconnect
from apps.core.secret_key import fingerprint, put_secret_key

RESTORING = "restoring"
REPLACED = "replaced"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a restore is going to do, as far as it can be known before.

    `holds_data`: there are accounts that would be replaced. `beside`: whether a new database takes the place of the
    present one; else it is empty, and is filled. `key`: the backup's, where it becomes the installation's.
    """

    archive: Archive
    database: Database
    holds_data: bool
    beside: bool
    key: str | None
    erasures: Sequence[Erased]

    @property
    def manifest(self) -> Manifest:
        return self.archive.manifest


def plan_restore(path: Path, *, erasures: Collection[Path], without_key: bool, bar: Bar) -> Plan:
    """Look at the backup and the target; `BackupError` where it cannot be restored there. Changes nothing."""
    archive = Archive(path)
    bar.expect(archive.size, "Checking")
    archive.verify(bar.advance)
    unknown = find_unknown(archive.manifest.migrations, list_known_migrations())
    if unknown:
        raise BackupError(
            f"This backup was made by a newer version of Jiyi ({archive.manifest.version}): this one does not know "
            f"{unknown[0]}. Install that version first."
        )
    key = _choose_key(archive, without_key=without_key)
    disconnect()
    database = Database.of_django()
    check_nobody_uses(database)
    with database.connect() as connection:
        server = read_server_major(connection)
        check_server(archive, server=server)
        find_pg_restore(server=server, dumped_with=archive.manifest.programs)
        held = holds_data(connection)
        is_empty = not measure_tables(connection)
        known = read_erasures(connection, since=archive.manifest.created_at)
        told = read_files(erasures, optional=[Path(settings.DATA_DIR) / FILE])
        records = leave_living(connection, merge(known, told))
    with database.connect_beside() as connection:
        beside = may_replace(connection, database.name)
    if not beside and not is_empty:
        raise BackupError(
            f"The database {database.name} is not empty, and this role may not create another beside it. Grant it "
            "CREATEDB and the ownership of the database, or set DATABASE_URL to an empty one."
        )
    check_keys(
        (record for record in records if record.at >= archive.manifest.created_at),
        keys={*list_keys(), *([fingerprint(key)] if key else [])},
    )
    return Plan(archive=archive, database=database, holds_data=held, beside=beside, key=key, erasures=records)


def restore(plan: Plan, *, bar: Bar, tell: Callable[[str], None]) -> Redone:
    """Do what was planned. `BackupError`, or whatever else is raised, leaves the target as it was."""
    if not plan.beside:
        with _key_in_use(plan.key):
            redone = _fill(plan, plan.database, bar=bar, tell=tell)
            empty_queues()
            _keep_key(plan.key)
        return redone
    name = plan.database.name
    new, old = name_beside(name, RESTORING), name_beside(name, REPLACED)
    with plan.database.connect_beside() as connection:
        try:
            bar.expect(1, "Creating a database")
            create_beside(connection, new, like=name)
            with _key_in_use(plan.key):
                redone = _fill(plan, plan.database.named(new), bar=bar, tell=tell)
                empty_queues()
                _swap(connection, plan, new=new, old=old)
        except BaseException:
            with suppress(psycopg.Error):
                drop(connection, new)
            raise
        drop(connection, old)
    return redone


def list_known_migrations() -> set[str]:
    """Return the migrations of this code, those that squashed ones replace included."""
    loader = MigrationLoader(None, load=False)
    loader.load_disk()
    migrations = loader.disk_migrations
    replaced = {key for migration in migrations.values() for key in migration.replaces}
    return {f"{app}.{name}" for app, name in {*migrations, *replaced}}


def _fill(plan: Plan, database: Database, *, bar: Bar, tell: Callable[[str], None]) -> Redone:
    load(plan.archive, database, bar=bar)
    with django_uses(database.name):
        bar.expect(1, "Migrating")
        call_command("migrate", interactive=False, verbosity=0)
        released = release_all_claims()
        if released:
            tell(f"Work that was being done when the backup was made is due again: {released:,}")
        bar.expect(1, "Erasing again")
        redone = redo(plan.erasures)
        if not redone.verified:
            raise BackupError("What was erased since the backup could not be erased again. Nothing was changed.")
    return redone


def _swap(connection: Connection, plan: Plan, *, new: str, old: str) -> None:
    """The key first, as the file keeps the present one, too: with either database, all secrets can be read."""
    before = _read_key_file()
    _keep_key(plan.key)
    try:
        swap(connection, name=plan.database.name, new=new, old=old)
    except BaseException:
        if plan.key and before:
            put_secret_key(Path(settings.DATA_DIR), before[0], former=before[1:])
        raise


def _read_key_file() -> list[str]:
    path = Path(settings.DATA_DIR) / "secret_key"
    return path.read_text().split() if path.exists() else []


def _keep_key(key: str | None) -> None:
    if key:
        put_secret_key(Path(settings.DATA_DIR), key, former=_read_key_file())


def _choose_key(archive: Archive, *, without_key: bool) -> str | None:
    """Return the backup's key where it is to become the installation's; None where there is nothing to do."""
    manifest = archive.manifest
    if without_key or manifest.key == fingerprint(settings.SECRET_KEY):
        return None
    in_environment = settings.SECRET_KEY not in _read_key_file()
    if archive.key and not in_environment:
        return archive.key
    if manifest.key in list_keys():
        return None
    consequences = (
        "Without it the stored keys of connected models and secrets of service tokens cannot be read, everybody is "
        "logged out, and deleted memories may be learned again."
    )
    if archive.key:
        raise BackupError(
            "SECRET_KEY is set, and is another key than that of this backup. Set SECRET_KEY to the backup's "
            f"(tar -xOf {archive.path} secret_key), or list it in SECRET_KEY_FALLBACKS. {consequences} "
            "To restore all the same, use --without-key."
        )
    raise BackupError(
        f"This backup does not hold the key of its installation (fingerprint {manifest.key}), and it is none of the "
        f"keys here. Set SECRET_KEY to it. {consequences} To restore all the same, use --without-key."
    )


@contextmanager
def _key_in_use(key: str | None) -> Iterator[None]:
    """Have Django use the backup's key for the time of the block: digests in the restored database are made with it."""
    before: Mapping[str, object] = {
        "SECRET_KEY": settings.SECRET_KEY,
        "SECRET_KEY_FALLBACKS": settings.SECRET_KEY_FALLBACKS,
    }
    if key:
        settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
        settings.SECRET_KEY = key
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(settings, name, value)
