"""How much memory there is, and how it is shared out: the one place that decides what a small machine goes without."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# Below this everything is kept small: what `manage.py up` starts fits into 1 GiB.
_SMALL = 3 * 2**29

# PostgreSQL's cache in MiB: an eighth of the memory there is, as everything else runs beside it. A person's rows lie
# on as many pages as there are rows: with 128 MiB a search among 400,000 memories takes 1.25 times as long as among
# 10,000, with 1 GiB 1.13 times.
_LEAST_BUFFERS = 128
_MOST_BUFFERS = 4096
_SHARE_OF_MEMORY = 8


@dataclass(frozen=True)
class Sizes:
    """PostgreSQL's cache in MiB, processes that wait for the chat model, and when a worker's process is replaced, in
    KiB of its memory, of which two fifths are shared with the others."""

    shared_buffers: int
    model_workers: int
    child_memory: int


def choose_sizes(memory: int) -> Sizes:
    """Return what to start with this much memory, in bytes."""
    if memory < _SMALL:
        return Sizes(shared_buffers=64, model_workers=1, child_memory=600_000)
    buffers = max(_LEAST_BUFFERS, min(memory // _SHARE_OF_MEMORY // 2**20, _MOST_BUFFERS))
    return Sizes(shared_buffers=buffers, model_workers=2, child_memory=1_000_000)


def read_memory(controls: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> int:
    """Return the bytes of memory that this process and those it starts may use.

    That is the least of the host's, ``JIYI_MEMORY_MIB``, and the limits of its control group and those around it, of
    either version. A container may show its own group as the root, whatever path it tells.
    """
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    if wanted := os.environ.get("JIYI_MEMORY_MIB"):
        limits.append(int(wanted) * 2**20)
    groups = own.read_text().splitlines() if own.exists() else []
    for _number, controllers, path in (group.split(":", 2) for group in groups):
        if controllers in ("", "memory"):
            group = controls / controllers / path.lstrip("/")
            for folder in (group, *group.parents):
                for name in ("memory.max", "memory.limit_in_bytes"):
                    with suppress(OSError, ValueError):  # not there, or no limit ("max")
                        limits.append(int((folder / name).read_text()))
    return min(limits)
