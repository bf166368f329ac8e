"""One installation with two people's data, made once a run and copied by whoever changes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from apps.embedded.servers import hold_servers
from tests.backup.installations import Installation


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
    backup = folder.parent / f"{folder.name}.tar"
    with hold_servers(folder, durable=False):
        installation.do("migrate", "--verbosity=0")
        people = installation.fill("mei", "lin")
        installation.do("backup", str(backup))
        counts = installation.count()
    return Made(installation, people, backup, counts)
