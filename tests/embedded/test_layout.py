"""Where an installation keeps its data, and how much memory it is given."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import environ
import pytest
from kombu import Connection
from psycopg.conninfo import conninfo_to_dict
from redis import ConnectionPool

from apps.embedded.layout import DataLayout, Home, broker_url, database_url, redis_url
from apps.embedded.machine import Sizes, choose_sizes, read_memory

FOLDERS = ["/srv/jiyi/.data", "/srv/我的 数据/a+b%20c"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_database_url_means_the_same_to_libpq_and_django(folder: str) -> None:
    url = database_url(folder)
    assert conninfo_to_dict(url) == {"user": "jiyi", "host": f"{folder}/sockets", "dbname": "jiyi"}
    django = environ.Env.db_url_config(url)
    assert (django["USER"], django["NAME"], django["ENGINE"]) == ("jiyi", "jiyi", "django.db.backends.postgresql")


@pytest.mark.parametrize("folder", FOLDERS)
def test_redis_and_broker_url_name_the_same_socket(folder: str) -> None:
    url = redis_url(folder)
    assert ConnectionPool.from_url(url).connection_kwargs["path"] == f"{folder}/sockets/valkey.sock"
    channel = Connection(broker_url(url)).transport.Channel
    assert channel is not None
    assert broker_url(url).endswith("/valkey.sock?virtual_host=0")
    assert broker_url(url).startswith("redis+socket:///srv/")


def test_broker_url_keeps_the_database_number() -> None:
    assert broker_url("unix:///run/redis.sock?db=3") == "redis+socket:///run/redis.sock?virtual_host=3"


@pytest.mark.parametrize("url", ["redis://127.0.0.1:6379/0", "rediss://user:secret@example.org:6380/2"])
def test_broker_url_leaves_other_schemes_alone(url: str) -> None:
    assert broker_url(url) == url


def test_a_clone_keeps_settings_and_data_beside_its_code(tmp_path: Path) -> None:
    assert Home.of(tmp_path) == Home(env_file=tmp_path / ".env", data=tmp_path / ".data", command="manage.py")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
@pytest.mark.parametrize(
    ("variables", "settings", "data"),
    [
        ({}, "home/.config", "home/.local/share"),
        ({"XDG_CONFIG_HOME": "{0}/settings", "XDG_DATA_HOME": "{0}/data"}, "settings", "data"),
    ],
)
def test_a_package_keeps_them_in_folders_of_the_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], settings: str, data: str
) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "{0}/home", **variables}.items():
        monkeypatch.setenv(name, value.format(tmp_path))
    code = tmp_path / "site-packages" / "jiyi_server"
    code.mkdir(parents=True)
    (code / "__init__.py").touch()
    assert Home.of(code) == Home(
        env_file=tmp_path / settings / "jiyi" / ".env", data=tmp_path / data / "jiyi", command="jiyi-server"
    )


def test_a_package_keeps_nothing_where_nobody_has_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "no folder")
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)  # no account has it
    (tmp_path / "__init__.py").touch()
    home = Home.of(tmp_path)
    with pytest.raises(SystemExit, match=r"no home folder.*JIYI_DATA_DIR"):
        home.get_data_folder("")
    assert home.get_data_folder(str(tmp_path)) == tmp_path


def test_layout_is_the_same_however_the_folder_is_spelt(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "here")
    assert DataLayout.at(tmp_path / "link" / ".." / "here") == DataLayout.at(str(tmp_path / "here"))


def test_sockets_lie_in_the_data_folder_as_long_as_their_path_is_short_enough() -> None:
    # 81 characters of folder, "/sockets" and "/.s.PGSQL.5432" make 103 bytes: the longest path that works everywhere.
    longest = "/" + "a" * 80
    assert DataLayout.at(longest).sockets == Path(longest) / "sockets"
    short = DataLayout.at(longest + "a").sockets
    assert short.parent == Path("/tmp")
    assert short != DataLayout.at(longest + "b").sockets


def test_the_length_of_a_socket_path_counts_bytes_not_characters() -> None:
    assert DataLayout.at("/" + "记" * 26).sockets.name == "sockets"
    assert DataLayout.at("/" + "记" * 27).sockets.parent == Path("/tmp")


@pytest.mark.parametrize(
    ("gibibytes", "sizes"),
    [
        (512, Sizes(shared_buffers=4096, model_workers=2, child_memory=1_000_000)),
        (16, Sizes(shared_buffers=2048, model_workers=2, child_memory=1_000_000)),
        (1.5, Sizes(shared_buffers=192, model_workers=2, child_memory=1_000_000)),
        (1, Sizes(shared_buffers=64, model_workers=1, child_memory=600_000)),
    ],
)
def test_what_is_started_depends_on_the_memory(gibibytes: float, sizes: Sizes) -> None:
    assert choose_sizes(int(gibibytes * 2**30)) == sizes


GROUPS = {
    "own group, version 2": ("0::/a/b", {"a/b/memory.max": "1000", "a/memory.max": "max"}),
    "group around it, version 2": ("0::/a/b", {"a/b/memory.max": "max", "a/memory.max": "1000"}),
    "own group, version 1": ("1:cpu:/c\n4:memory:/a/b\n0::/", {"memory/a/b/memory.limit_in_bytes": "1000"}),
    "container shown as the root": ("0::/", {"memory.max": "1000"}),
    "container with the host's path": ("4:memory:/docker/1", {"memory/memory.limit_in_bytes": "1000"}),
}


@pytest.mark.parametrize("case", GROUPS)
def test_the_memory_is_what_control_groups_allow(case: str, tmp_path: Path) -> None:
    own, limits = GROUPS[case]
    (tmp_path / "cgroup").write_text(own + "\n")
    for name, limit in limits.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(limit + "\n")
    assert read_memory(tmp_path, tmp_path / "cgroup") == 1000


def test_the_memory_is_the_machines_where_nothing_limits_it(tmp_path: Path) -> None:
    machine = read_memory(tmp_path, tmp_path / "none")
    assert machine == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    (tmp_path / "cgroup").write_text("4:memory:/a\n")
    (tmp_path / "memory" / "a").mkdir(parents=True)
    (tmp_path / "memory" / "a" / "memory.limit_in_bytes").write_text(f"{2**63 - 4096}\n")  # what version 1 calls none
    assert read_memory(tmp_path, tmp_path / "cgroup") == machine


def test_the_operator_may_give_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JIYI_MEMORY_MIB", "1")
    assert read_memory(tmp_path, tmp_path / "none") == 2**20
