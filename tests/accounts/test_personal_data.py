"""Every table of personal data is in the registry (R2, R3), and refers to nothing of anybody else."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.db.models import ForeignKey, Model

from apps.accounts.models import User
from apps.accounts.services.personal_data import KEPT, list_tables
from apps.core.same_owner import SameOwner
from apps.memory.models import LongTermMemory
from tests.contracts.world import fill_everything
from tests.support.factories import LongTermMemoryFactory, SessionFactory, UserFactory
from tests.support.http_server import ApiClient


def find_personal_models() -> set[type[Model]]:
    """Every model that refers to a person, directly or by what it refers to."""
    models = {model for model in apps.get_models(include_auto_created=True) if not model._meta.proxy}
    personal: set[type[Model]] = {User}
    while True:
        found = {model for model in models - personal if referred(model) & personal}
        if not found:
            return personal
        personal |= found


def referred(model: type[Model]) -> set[type[Model]]:
    return {field.related_model for field in model._meta.concrete_fields if isinstance(field, ForeignKey)}


@pytest.mark.spec("R2", "R3")
def test_every_table_of_personal_data_is_covered() -> None:
    kept = {*KEPT, LogEntry, User.groups.through, User.user_permissions.through}
    covered = {table.model for table in list_tables()}
    assert len(covered) >= 20
    assert {model._meta.label for model in find_personal_models() - covered - kept} == set()
    assert covered & kept == set()


@pytest.mark.spec("R2", "R3")
def test_tables_come_before_what_their_rows_refer_to() -> None:
    order = [table.model for table in list_tables()]
    assert len(order) == len(set(order))
    for position, model in enumerate(order):
        assert not (referred(model) - {model}) & set(order[:position]), model


# Every table of this product whose rows have an owner.
TABLES = [model for model in apps.get_models() if model.__module__.startswith("apps.") and hasattr(model, "user_id")]

READ_KEYS = """
SELECT c.conname, array_length(c.conkey, 1), c.convalidated
FROM pg_constraint AS c
WHERE c.contype = 'f' AND c.conrelid = %s::regclass AND %s = ANY (
    SELECT a.attname FROM pg_attribute AS a WHERE a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey)
)
"""


def list_references() -> list[tuple[type[Model], Any]]:
    """Every field of a person's row that refers to a person's row."""
    return [
        (model, field)
        for model in TABLES
        for field in model._meta.concrete_fields
        if field.remote_field and field.related_model in TABLES
    ]


def read_keys(model: type[Model], column: str) -> list[tuple[str, int, bool]]:
    """The foreign keys that `column` is part of: name, how many columns it has, whether every row was checked."""
    with connection.cursor() as cursor:
        cursor.execute(READ_KEYS, [model._meta.db_table, column])
        return cursor.fetchall()


def test_every_reference_is_a_key_over_the_owner_too(db: None) -> None:
    references = list_references()
    assert len(references) >= 38
    found = {f"{model._meta.label}.{field.name}": read_keys(model, field.column) for model, field in references}
    expected = {
        f"{model._meta.label}.{field.name}": [(f"{model._meta.db_table}_{field.name}_same_owner", 2, True)]
        for model, field in references
    }
    assert found == expected


@pytest.mark.long
def test_the_database_refuses_what_refers_to_somebody_elses(alice: ApiClient, bob: ApiClient) -> None:
    fill_everything(alice)
    for model, field in list_references():
        name = f"{model._meta.db_table}_{field.name}_same_owner"
        with pytest.raises(IntegrityError, match=name):
            give_away(model, field, name, from_user=alice.user, to_user=bob.user)


@transaction.atomic
def give_away(model: type[Model], field: Any, name: str, *, from_user: User, to_user: User) -> None:
    """Make a row somebody else's that refers to a row of before, and have the constraint checked at once."""
    rows = model._default_manager.filter(user=from_user)
    row = rows.filter(**{f"{field.name}__isnull": False}).first()
    changes: dict[str, Any] = {"user": to_user}
    if row is None:
        row = rows.first()
        assert row is not None, model
        others = field.related_model._default_manager.filter(user=from_user)
        changes[field.name] = (others.exclude(pk=row.pk) if field.related_model is model else others).first()
    assert rows.filter(pk=row.pk).update(**changes) == 1
    with connection.cursor() as cursor:
        cursor.execute(f'SET CONSTRAINTS "{name}" IMMEDIATE')


@pytest.mark.long
def test_a_form_is_told_too(db: None) -> None:
    memory = LongTermMemoryFactory()
    [constraint] = [
        each for each in LongTermMemory._meta.constraints if isinstance(each, SameOwner) and each.field == "session"
    ]
    memory.session = SessionFactory(user=UserFactory())
    with pytest.raises(ValidationError, match="session belongs to somebody else"):
        constraint.validate(LongTermMemory, memory)
    memory.session = SessionFactory(user=memory.user)
    constraint.validate(LongTermMemory, memory)
