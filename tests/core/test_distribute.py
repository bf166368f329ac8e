"""`manage.py distribute` on a PostgreSQL that is no Citus; on one that is: tests/deploy/test_citus.py."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.backup.postgresql import BackupError, Database
from apps.core.postgresql.base import DatabaseWrapper


@pytest.mark.django_db
@pytest.mark.parametrize("options", [[], ["--dry-run"]])
def test_without_citus_the_command_says_so(options: list[str]) -> None:
    with pytest.raises(CommandError, match=r"does not have Citus.*docs/deployment\.md"):
        call_command("distribute", *options)


def test_one_schema_of_a_database_is_no_backup_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def parameters(_wrapper: DatabaseWrapper) -> dict[str, Any]:
        return {"dbname": "jiyi", "options": "-c search_path=team_a,public"}

    monkeypatch.setattr(DatabaseWrapper, "get_connection_params", parameters)
    with pytest.raises(BackupError, match=r"one schema of its database"):
        Database.of_django()
