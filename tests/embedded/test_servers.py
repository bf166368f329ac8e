"""The real servers: found or started, shared, stopped with the last who needs them, however that one ends."""

from __future__ import annotations

import os
import pwd
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier

import psycopg
import pytest
import redis

from apps.embedded.keeper import SERVERS
from apps.embedded.layout import DataLayout, database_url, redis_url, try_lock
from apps.embedded.process import Account, spawn
from apps.embedded.servers import ServersUnavailable, get_missing_servers, hold_servers, revive_servers
from tests.support.processes import find_processes, wait_until

pytestmark = pytest.mark.long_except(
    "test_only_what_the_environment_does_not_give_is_missing",
)

PROJECT = Path(__file__).resolve().parents[2]
HOLD = """
import sys
from apps.embedded.servers import hold_servers
with hold_servers(sys.argv[1], names=sys.argv[2:], durable=False):
    print("ready", flush=True)
    sys.stdin.read()
"""


@contextmanager
def hold_in_process(folder: Path, *names: str, account: Account | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that holds the servers until its standard input ends."""
    process = spawn(
        [sys.executable, "-c", HOLD, str(folder), *names],
        death_signal=signal.SIGKILL,
        account=account,
        reach=PROJECT,
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process, process.stdin, process.stdout:
        assert process.stdout.readline() == b"ready\n"
        yield process


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder in which a PostgreSQL cluster was made once, for all tests here that need one."""
    folder = tmp_path_factory.mktemp("cluster")
    with hold_servers(folder, names=["postgres"], durable=False):
        pass
    return folder


def is_ready(folder: Path, name: str) -> bool:
    return SERVERS[name](DataLayout.at(folder), False).is_ready()


def are_gone(folder: Path, name: str) -> bool:
    """Whether keeper and server have ended: both hold this lock."""
    with DataLayout.at(folder).keeper_lock(name).open("w") as lock:
        return try_lock(lock)


def get_server_pid(folder: Path) -> int:
    with redis.Redis.from_url(redis_url(folder)) as client:
        return int(client.info("server")["process_id"])


def test_postgres_accepts_what_migrations_and_both_languages_need(cluster: Path) -> None:
    with (
        hold_servers(cluster, names=["postgres"], durable=False),
        psycopg.connect(database_url(cluster), autocommit=True) as connection,
    ):
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        row = connection.execute(
            """SELECT current_setting('server_encoding'), upper('é'), '记忆' ~ '^\\w+$', '[3,4]'::vector <-> '[0,0]',
                      current_setting('timezone'), current_setting('server_version_num')::int / 10000,
                      (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)"""
        ).fetchone()
        assert row == ("UTF8", "É", True, 5.0, "UTC", 18, False)
        connection.execute("CREATE DATABASE another")
        connection.execute("DROP DATABASE another")
        # Only the owner may open it.
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
        assert stat.S_IMODE(DataLayout.at(cluster).sockets.stat().st_mode) == 0o700


def test_valkey_keeps_what_was_queued_and_is_not_on_the_network(tmp_path: Path) -> None:
    with hold_servers(tmp_path, names=["valkey"]), redis.Redis.from_url(redis_url(tmp_path)) as client:
        assert client.config_get("appendonly") == {"appendonly": "yes"}
        assert client.config_get("port") == {"port": "0"}
        client.lpush("queue", "work")
    with hold_servers(tmp_path, names=["valkey"]), redis.Redis.from_url(redis_url(tmp_path)) as client:
        assert client.lrange("queue", 0, -1) == [b"work"]


def test_servers_stop_with_the_last_who_holds_them(tmp_path: Path) -> None:
    with hold_servers(tmp_path, names=["valkey"], durable=False):
        first = get_server_pid(tmp_path)
        with hold_servers(tmp_path, names=["valkey"], durable=False):
            assert get_server_pid(tmp_path) == first
        assert get_server_pid(tmp_path) == first
    assert are_gone(tmp_path, "valkey")
    assert find_processes(tmp_path) == {}


def test_whoever_started_them_may_leave_first(tmp_path: Path) -> None:
    with hold_in_process(tmp_path, "valkey") as starter:
        with hold_servers(tmp_path, names=["valkey"], durable=False):
            pid = get_server_pid(tmp_path)
            starter.kill()
            starter.wait()
            assert get_server_pid(tmp_path) == pid
        assert are_gone(tmp_path, "valkey")


def test_many_at_once_start_one_server(tmp_path: Path) -> None:
    barrier = Barrier(8)

    def hold() -> int:
        with hold_servers(tmp_path, names=["valkey"], durable=False):
            pid = get_server_pid(tmp_path)
            barrier.wait(timeout=200)
            return pid

    with ThreadPoolExecutor(8) as pool:
        pids = {future.result() for future in [pool.submit(hold) for _ in range(8)]}
    assert len(pids) == 1
    wait_until(lambda: are_gone(tmp_path, "valkey"))


def test_a_killed_holder_leaves_nothing_running_and_nothing_broken(cluster: Path) -> None:
    with hold_in_process(cluster, "postgres", "valkey") as holder:
        with psycopg.connect(database_url(cluster), autocommit=True) as connection:
            connection.execute("CREATE TABLE survivor AS SELECT 1 AS n")
        holder.kill()
        holder.wait()
        wait_until(lambda: are_gone(cluster, "postgres") and are_gone(cluster, "valkey"))
    assert find_processes(cluster) == {}
    with (
        hold_servers(cluster, names=["postgres"], durable=False),
        psycopg.connect(database_url(cluster), autocommit=True) as connection,
    ):
        assert connection.execute("SELECT n FROM survivor").fetchone() == (1,)
        connection.execute("DROP TABLE survivor")


def test_a_killed_keeper_takes_its_server_along_and_another_takes_over(cluster: Path) -> None:
    with hold_servers(cluster, names=["postgres"], durable=False):
        (keeper,) = [pid for pid, command in find_processes(cluster).items() if "embedded.keeper" in command]
        os.kill(keeper, signal.SIGKILL)
        wait_until(lambda: are_gone(cluster, "postgres"))
        with hold_servers(cluster, names=["postgres"], durable=False):
            assert is_ready(cluster, "postgres")
    wait_until(lambda: are_gone(cluster, "postgres"))


def test_a_server_that_dies_is_started_again(tmp_path: Path) -> None:
    with hold_servers(tmp_path, names=["valkey"], durable=False):
        pid = get_server_pid(tmp_path)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not Path(f"/proc/{pid}").exists())
        wait_until(lambda: is_ready(tmp_path, "valkey"))
        assert get_server_pid(tmp_path) != pid


def test_a_killed_keeper_is_replaced_where_somebody_revives_servers(tmp_path: Path) -> None:
    with (
        hold_servers(tmp_path, names=["valkey"], durable=False),
        revive_servers(tmp_path, names=["valkey"], durable=False),
    ):
        before = get_server_pid(tmp_path)
        for _ in range(2):
            (keeper,) = [pid for pid, command in find_processes(tmp_path).items() if "embedded.keeper" in command]
            os.kill(keeper, signal.SIGKILL)
            wait_until(lambda pid=before: not Path(f"/proc/{pid}").exists())  # type: ignore[misc]
            wait_until(lambda: is_ready(tmp_path, "valkey"))
            before, earlier = get_server_pid(tmp_path), before
            assert before != earlier
    assert are_gone(tmp_path, "valkey")
    assert find_processes(tmp_path) == {}


def test_a_stale_process_id_that_now_belongs_to_somebody_else_does_no_harm(cluster: Path) -> None:
    stale = DataLayout.at(cluster).state("postgres") / "postmaster.pid"
    stale.write_text(f"{os.getpid()}\n{stale.parent}\n1\n5432\n{stale.parent}\n\n1 1\nready\n")
    with hold_servers(cluster, names=["postgres"], durable=False):
        assert is_ready(cluster, "postgres")


def test_a_set_up_that_was_cut_short_is_done_again(tmp_path: Path) -> None:
    draft = tmp_path / "postgres.new"
    draft.mkdir()
    (draft / "PG_VERSION").write_text("18\n")
    with hold_servers(tmp_path, names=["postgres"], durable=False):
        assert is_ready(tmp_path, "postgres")
    assert not draft.exists()


def test_a_server_that_cannot_be_started_is_reported(tmp_path: Path) -> None:
    (tmp_path / "valkey").write_text("in the way")
    with (
        pytest.raises(ServersUnavailable, match="The embedded valkey could not be started"),
        hold_servers(tmp_path, names=["valkey"]),
    ):
        pass
    assert are_gone(tmp_path, "valkey")


def test_a_folder_too_deep_for_a_socket_works_all_the_same(tmp_path: Path) -> None:
    deep = tmp_path / ("深" * 30)
    with hold_servers(deep, names=["valkey"], durable=False):
        assert get_server_pid(deep) > 0
        assert DataLayout.at(deep).sockets.parent == Path("/tmp")
    DataLayout.at(deep).sockets.rmdir()  # empty: the server took its socket away


def test_a_socket_folder_somebody_else_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "sockets").symlink_to(tmp_path / "elsewhere")
    with (
        pytest.raises(ServersUnavailable, match="belongs to another user"),
        hold_servers(tmp_path, names=["valkey"]),
    ):
        pass


@pytest.mark.skipif(os.geteuid() != 0, reason="root becomes nobody here; without root every other test is this one")
def test_an_ordinary_user_owns_all_and_needs_no_other(tmp_path: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    os.chown(tmp_path, nobody.pw_uid, nobody.pw_gid)
    with hold_in_process(tmp_path, "postgres", "valkey", account=Account(nobody.pw_uid, nobody.pw_gid)):
        assert is_ready(tmp_path, "postgres")
        assert {path.stat().st_uid for path in tmp_path.iterdir()} == {nobody.pw_uid}
    wait_until(lambda: are_gone(tmp_path, "postgres") and are_gone(tmp_path, "valkey"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs servers as somebody else")
def test_root_runs_the_servers_as_nobody_where_nobody_else_may_enter(tmp_path: Path) -> None:
    assert stat.S_IMODE(tmp_path.parent.stat().st_mode) & 0o007 == 0
    with hold_servers(tmp_path, names=["valkey"], durable=False):
        status = dict(
            line.split(":\t", 1) for line in Path(f"/proc/{get_server_pid(tmp_path)}/status").read_text().splitlines()
        )
    uid = str(pwd.getpwnam("nobody").pw_uid)
    assert status["Uid"].split() == [uid] * 4
    # No more than reading and searching past permissions (bit 2), and never the power to gain other rights.
    assert int(status["CapEff"], 16) in (0, 1 << 2)


def test_only_what_the_environment_does_not_give_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("REDIS_URL", "")
    assert get_missing_servers() == ["postgres", "valkey"]
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1/0")
    assert get_missing_servers() == ["postgres"]
    monkeypatch.setenv("DATABASE_URL", "postgresql://db.example.org/jiyi")
    assert get_missing_servers() == []
