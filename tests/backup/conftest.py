"""One installation with two people's data, made once a run and copied by whoever changes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from apps.embedded.servers import hold_servers
from tests.backup.installations import Installation, copy


@dataclass(frozen=True)
class Made:
    """`people`: the IDs of what each has. `backup`: a file made of it, when it held this. `counts`: of its rows."""

    installation: Installation
    people: dict[str, Any]
    backup: Path
    counts: dict[str, int]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("made")
    folder.chmod(0o755)
    installation = Installation(folder)
    backup = folder.parent / f"{folder.name}.zip"
    with hold_servers(folder, durable=False):
        installation.do("migrate", "--verbosity=0")
        people = installation.fill("mei", "lin")
        installation.do("backup", str(backup))
        counts = installation.count()
    return Made(installation, people, backup, counts)


@pytest.fixture
def target(made: Made, tmp_path: Path) -> Iterator[Installation]:
    """A copy of the installation that the backup is of. Its servers run, or each command would start and stop them."""
    installation = copy(made.installation, tmp_path / "target")
    with hold_servers(installation.folder, durable=False):
        yield installation


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Installation]:
    """One in which nothing has ever been."""
    installation = Installation(tmp_path / "fresh")
    installation.folder.mkdir()
    with hold_servers(installation.folder, durable=False):
        yield installation
