"""How much memory there is, told from control groups of either version, and what it is given to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from apps.embedded.machine import Sizes, choose_sizes, read_memory


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
