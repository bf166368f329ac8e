"""The registry of personal data: no table that holds a person's data is missing (R2, R3)."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.postgres.search import SearchVectorField
from django.db.models import Field, ForeignKey, Model
from pgvector.django import VectorField

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


def test_every_table_names_its_owner_and_leaves_out_vectors_only() -> None:
    for table in list_tables():
        assert table.model._meta.get_field(table.owner).related_model is User
        fields: dict[str, Field] = {field.attname: field for field in table.model._meta.concrete_fields}
        exported = [fields[name] for name in table.exported]
        assert not [field for field in exported if isinstance(field, VectorField | SearchVectorField)]
        assert {*table.not_exported} <= {field.name for field in fields.values()}
