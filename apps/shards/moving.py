"""Moving a person from one server to another, while the person writes: nothing is lost, nothing is there twice.

One transaction on each server. What the person has is locked at the source, copied, compared, and deleted there.
Source and target prepare their transactions (two-phase commit), and the directory's commit, which makes the target the
person's server, decides for all of them. Whoever dies in between, `apps.shards.recovering` ends it one way or the
other.

Requests wait at the directory meanwhile (`apps.accounts.services.placement`). Whoever got in before is waited for
(`settle_seconds`); who is still there afterwards finds the account locked, and then gone: `Moved`, and the client tries
again. A reply that is being written is waited for, too.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import uuid4

import psycopg
import structlog
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.utils import timezone
from psycopg import sql

from apps.accounts.models import ApiToken, User
from apps.core.errors import Conflict, Unavailable
from apps.shards.rows import carry, count, delete, list_actors, read_tables
from apps.shards.servers import DIRECTORY, Server, check_name, connect
from apps.shards.two_phase import Prepared, end, end_left, hold_person, is_decided, prepare

logger = structlog.get_logger(__name__)

SETTLE_SECONDS = 1.0
PATIENCE_SECONDS = 60.0
POLL_SECONDS = 0.1
LULL_SECONDS = 2.0
"""How long to wait for a moment in which nobody writes, before requests have to wait for it."""

DRAIN_SECONDS = 5.0
"""How long requests wait for replies that were begun before them."""

LOCK_TIMEOUT = "10s"
HELD_FOR = timedelta(minutes=2)
"""Until when requests wait at most, if whoever moves the person dies and nobody notices."""

_COPIED_COLUMNS = (
    *("id", "username", "email", "first_name", "last_name", "is_active", "is_staff", "is_superuser"),
    *("service_id", "external_id", "date_joined", "data_epoch", "session_epoch"),
)


@dataclass
class Moved:
    """What was moved: the number of rows by table, and the seconds for which the person's requests waited."""

    rows: Counter[str] = field(default_factory=Counter)
    held_seconds: float = 0.0


def move_person(
    *,
    user: User,
    target: str,
    settle_seconds: float = SETTLE_SECONDS,
    patience_seconds: float = PATIENCE_SECONDS,
) -> Moved:
    """Move all that is remembered of a person to another server; "" is the directory.

    Nothing happens, and an error says why: `InvalidInput` (no such server), `Conflict` (an account that is a service's,
    servers that do not fit together, somebody else moves the person), `Unavailable` (a reply that is still being
    written after `patience_seconds`, a server that is away).
    """
    check_name(target)
    source = User.objects.get(pk=user.pk).shard
    if source == target:
        raise Conflict(f"{user.get_username()} is on {target or 'the directory'} already.")
    if User.objects.filter(service=user.pk).exists() or ApiToken.objects.filter(user=user, is_service=True).exists():
        raise Conflict(f"{user.get_username()} is a service: its end users are moved, not the service itself.")
    try:
        with (
            connect(DIRECTORY, source, target) as (directory, here, there),
            hold_person(directory, user.pk) as held,
        ):
            if not held:
                raise Conflict(f"{user.get_username()} is being moved by somebody else.")
            return _Move(user, directory, here, there).run(settle_seconds, patience_seconds)
    except psycopg.OperationalError as error:
        logger.error("person.not_moved", user_id=user.pk, cause=type(error).__name__)
        raise Unavailable(f"{user.get_username()} was not moved: {str(error).strip()}") from error


class _Move:
    def __init__(self, user: User, directory: Server, source: Server, target: Server) -> None:
        self.user = user
        self.directory, self.source, self.target = directory, source, target
        self.others = [server for server in (source, target) if not server.is_directory]

    def run(self, settle_seconds: float, patience_seconds: float) -> Moved:
        for server in self.others:
            end_left(server, self.directory, user_id=self.user.pk)
        self._check()
        deadline = time.monotonic() + patience_seconds
        lull = min(deadline, time.monotonic() + LULL_SECONDS)
        while True:
            self._is_quiet(lull)
            begun = time.monotonic()
            with self._hold():
                time.sleep(settle_seconds)
                if self._is_quiet(min(begun + DRAIN_SECONDS, max(deadline, begun))):
                    rows = self._carry_all()
                    return Moved(rows=rows, held_seconds=time.monotonic() - begun)
            if time.monotonic() >= deadline:
                raise Unavailable(f"{self.user.get_username()} was not moved: a reply is still being written.")
            lull = deadline  # a long reply is waited for without holding anybody

    # Before

    def _check(self) -> None:
        schemas = [
            set(server.fetch("SELECT app, name FROM django_migrations")) for server in (self.source, self.target)
        ]
        if schemas[0] != schemas[1]:
            raise Conflict(
                f"{self.source.title} and {self.target.title} have different migrations. Upgrade both first."
            )
        for server in self.others:
            if server.fetch_one("SHOW max_prepared_transactions") == "0":
                raise Conflict(f"{server.title}: set max_prepared_transactions (10, say) and restart PostgreSQL there.")
        self.models = self._match_models()

    def _match_models(self) -> Mapping[int, int]:
        """The IDs of embedding models there, by those here. The active one must be the same."""
        here, there = (
            {name: (key, state) for key, name, state in server.fetch("SELECT id, name, state FROM embedding_model")}
            for server in (self.source, self.target)
        )
        active_here = next((name for name, (_key, state) in here.items() if state == "active"), None)
        active_there = next((name for name, (_key, state) in there.items() if state == "active"), None)
        if active_here is not None and active_there is None:
            statement = (
                "INSERT INTO embedding_model (name, state, created_at) VALUES (%s, 'active', now()) RETURNING id"
            )
            there[active_here] = (self.target.fetch_one(statement, [active_here]), "active")
        elif active_here is not None and active_here != active_there:
            names = f"{self.source.title} has {active_here}, {self.target.title} {active_there}"
            raise Conflict(f"The servers embed with different models: {names}. Run reembed on one of them.")
        return {key: there[name][0] for name, (key, _state) in here.items() if name in there}

    def _is_quiet(self, deadline: float) -> bool:
        """Wait until no reply to the person is being written; False if one still is at the deadline."""
        while self._is_answering():
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_SECONDS)
        return True

    def _is_answering(self) -> bool:
        statement = (
            "SELECT EXISTS (SELECT FROM conversation"
            " WHERE user_id = %s AND status = 'pending' AND lease_until > clock_timestamp())"
        )
        return bool(self.source.fetch_one(statement, [self.user.pk]))

    @contextmanager
    def _hold(self) -> Iterator[None]:
        """Have new requests of the person wait at the directory."""
        statement = "UPDATE accounts_user SET moving_until = %s WHERE id = %s AND shard = %s"
        until = timezone.now() + HELD_FOR
        held = self.directory.execute(statement, [until, self.user.pk, self.source.name])
        if not held.rowcount:
            raise Conflict(f"{self.user.get_username()} has been moved by somebody else meanwhile.")
        try:
            yield
        finally:
            with suppress(psycopg.Error):  # then `apps.shards.recovering` does it
                self.directory.execute("UPDATE accounts_user SET moving_until = NULL WHERE id = %s", [self.user.pk])

    # The move

    def _carry_all(self) -> Counter[str]:
        rows = self._carry()
        for _attempt in range(3):  # what was written here by whoever knew the person before they were locked
            if not count(self.source, self.user.pk):
                break
            rows += self._carry()
        logger.info("person.moved", user_id=self.user.pk, source=self.source.title, target=self.target.title)
        return rows

    def _carry(self) -> Counter[str]:
        """Carry the person's rows over, in one transaction of all servers; returns how many of each table."""
        servers = list({server.name: server for server in (self.directory, self.source, self.target)}.values())
        self.prepared = Prepared(uuid4(), self.user.pk)
        try:
            for server in servers:
                server.execute("BEGIN")
                server.execute("SELECT set_config('lock_timeout', %s, true)", [LOCK_TIMEOUT])
            self._lock()
            self._copy_accounts()
            rows = {
                table.name: carry(table, self.user.pk, source=self.source, target=self.target, models=self.models)
                for table in reversed(read_tables())
            }
            self._release_work()
            self._leave_source()
            for server in self.others:
                prepare(self.prepared, server)
            self._decide()
        except BaseException:
            if not self._is_decided():
                self._undo(servers)
                raise
        self._finish()
        return +Counter(rows)

    def _lock(self) -> None:
        """Lock the account, as an erasure does: whoever writes for the person is waited for, or waits."""
        name = f"personal_data:{self.user.pk}"
        self.source.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [name])
        for server in {self.directory.name: self.directory, self.source.name: self.source}.values():
            server.execute("SELECT FROM accounts_user WHERE id = %s FOR UPDATE", [self.user.pk])

    def _copy_accounts(self) -> None:
        """Have the target know the accounts that the person's rows refer to: the person, the service, who acted."""
        if self.target.is_directory:
            return
        needed = {self.user.pk, *list_actors(self.source, self.user.pk)}
        needed |= {self.user.service_id} if self.user.service_id else set()
        columns = sql.SQL(", ").join(map(sql.Identifier, _COPIED_COLUMNS))
        selected = sql.SQL("SELECT {}, shard FROM accounts_user WHERE id = ANY(%s) ORDER BY id").format(columns)
        insert = sql.SQL(
            "INSERT INTO accounts_user ({}, shard, password) VALUES ({})"
            " ON CONFLICT (id) DO UPDATE SET shard = excluded.shard"
        ).format(columns, sql.SQL(", ").join(sql.Placeholder() * (len(_COPIED_COLUMNS) + 2)))
        accounts = self.directory.fetch(selected, [list(needed)])
        stale = "UPDATE accounts_user SET username = '-' || id WHERE username = ANY(%s) AND id <> ALL(%s)"
        self.target.execute(stale, [[row[1] for row in accounts], list(needed)])  # names that others have by now
        for *values, shard in accounts:
            place = self.target.name if values[0] == self.user.pk else shard
            self.target.execute(insert, [*values, place, UNUSABLE_PASSWORD_PREFIX])

    def _release_work(self) -> None:
        """A worker of the source that has claimed something cannot finish it: it is due again at once."""
        statement = "UPDATE work SET claim = NULL, lease_until = NULL, worker = '' WHERE user_id = %s"
        self.target.execute(statement, [self.user.pk])

    def _leave_source(self) -> None:
        for table in read_tables():
            delete(table, self.user.pk, source=self.source)
        epoch = self.source.fetch_one("SELECT data_epoch FROM accounts_user WHERE id = %s", [self.user.pk])
        statement = "UPDATE accounts_user SET data_epoch = greatest(data_epoch, %s) WHERE id = %s"
        self.target.execute(statement, [epoch, self.user.pk])
        if not self.source.is_directory:
            self.source.execute("DELETE FROM accounts_user WHERE id = %s", [self.user.pk])

    def _decide(self) -> None:
        """Commit at the directory: from here on the move has happened."""
        self.directory.execute(
            "INSERT INTO person_move (id, user_id, source, target, at) VALUES (%s, %s, %s, %s, clock_timestamp())",
            [self.prepared.move, self.user.pk, self.source.name, self.target.name],
        )
        self.directory.execute("UPDATE accounts_user SET shard = %s WHERE id = %s", [self.target.name, self.user.pk])
        self.directory.execute("COMMIT")

    def _is_decided(self) -> bool:
        """Whether the directory's commit got through. Raises if it cannot be asked: then this decides nothing more."""
        self.directory.execute("ROLLBACK")
        return is_decided(self.prepared.move, self.directory)

    def _finish(self) -> None:
        for server in self.others:
            end(self.prepared, server, commit=True)

    def _undo(self, servers: list[Server]) -> None:
        for server in servers:
            with suppress(psycopg.Error):  # where one cannot be asked, `apps.shards.recovering` does it later
                server.execute("ROLLBACK")
        for server in self.others:
            with suppress(psycopg.Error):
                end(self.prepared, server, commit=False)
