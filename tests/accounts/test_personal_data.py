"""The registry of personal data: no table that holds a person's data is missing (R2, R3)."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.db.models import ForeignKey, Model

from apps.accounts.models import User
from apps.accounts.services.personal_data import KEPT, list_tables

pytestmark = [pytest.mark.spec("R2", "R3")]


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


def test_every_table_of_personal_data_is_covered() -> None:
    kept = {*KEPT, LogEntry, User.groups.through, User.user_permissions.through}
    covered = {table.model for table in list_tables()}
    assert len(covered) >= 20
    assert {model._meta.label for model in find_personal_models() - covered - kept} == set()
    assert covered & kept == set()


def test_tables_come_before_what_their_rows_refer_to() -> None:
    order = [table.model for table in list_tables()]
    assert len(order) == len(set(order))
    for position, model in enumerate(order):
        assert not (referred(model) - {model}) & set(order[:position]), model
