"""What a row refers to belongs to the same person: foreign keys over the reference and the owner (isolation, SPEC).

Every table of a person's data has the person in `user_id`. A foreign key of Django compares the reference alone, so a
row could come to refer to another person's. Here the database compares both: `(message_id, user_id)` with
`(id, user_id)` of the messages. So a mistake anywhere above, in a query, an import or a race, is refused by PostgreSQL,
and every reference carries the column by which the tables can be spread over several servers (docs/benchmarks.md).

In a model: ``ForeignKey(..., db_constraint=False)`` for the column, `SameOwner` in ``Meta.constraints`` for the check,
and on what is referred to a unique constraint of its key and ``user`` (`share_owner` and `has_owner` make both). In a
migration of existing tables: `TieToOwner`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db import DEFAULT_DB_ALIAS
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.migrations.utils import resolve_relation
from django.db.models import BaseConstraint, Model, UniqueConstraint

OWNER = "user"


def has_owner(table: str) -> UniqueConstraint:
    """What rows of other tables have to refer to, when they refer to this one."""
    return UniqueConstraint(fields=["id", OWNER], name=f"{table}_has_owner")


def share_owner(table: str, *fields: str) -> list[BaseConstraint]:
    """The constraints of a table whose `fields` refer to rows of the same person."""
    return [SameOwner(field=field, name=f"{table}_{field}_same_owner") for field in fields]


class SameOwner(BaseConstraint):
    """The row that `field` refers to, if any, has the same `user_id` as the row itself."""

    default_violation_error_message = "%(field)s belongs to somebody else."

    def __init__(self, *, field: str, name: str, **options: Any) -> None:
        super().__init__(name=name, **options)
        self.field = field

    def constraint_sql(self, model: Any, schema_editor: Any) -> str:
        reference = _read_reference(model, self)
        return f"CONSTRAINT {schema_editor.quote_name(self.name)} {reference.condition}"

    def create_sql(self, model: type[Model], schema_editor: BaseDatabaseSchemaEditor) -> str:  # type: ignore[override]
        table = schema_editor.quote_name(model._meta.db_table)
        return f"ALTER TABLE {table} ADD {self.constraint_sql(model, schema_editor)}"

    def remove_sql(self, model: type[Model], schema_editor: BaseDatabaseSchemaEditor) -> str:  # type: ignore[override]
        table = schema_editor.quote_name(model._meta.db_table)
        return f"ALTER TABLE {table} DROP CONSTRAINT {schema_editor.quote_name(self.name)}"

    def validate(self, model: type[Model], instance: Any, exclude: Any = None, using: str = DEFAULT_DB_ALIAS) -> None:
        """Raise `ValidationError` if what the row refers to is somebody else's."""
        if exclude and {self.field, OWNER} & set(exclude):
            return
        referred = getattr(instance, self.field)
        if referred is not None and referred.user_id != instance.user_id:
            raise ValidationError(self.get_violation_error_message(), code=self.violation_error_code)

    def get_violation_error_message(self) -> str:
        return str(self.violation_error_message) % {"name": self.name, "field": self.field}

    def deconstruct(self) -> tuple[str, Sequence[Any], dict[str, Any]]:
        path, args, kwargs = super().deconstruct()
        return path, args, {**kwargs, "field": self.field}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameOwner) and self.deconstruct() == other.deconstruct()

    def __hash__(self) -> int:
        return hash((self.name, self.field))


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference as the database knows it: the column of `table` and the table and key it refers to."""

    table: str
    column: str
    target: str

    @property
    def condition(self) -> str:
        """The foreign key over both columns, checked at the end of the transaction as Django's are."""
        return (
            f'FOREIGN KEY ("{self.column}", "user_id") REFERENCES "{self.target}" ("id", "user_id") '
            "DEFERRABLE INITIALLY DEFERRED"
        )


def _read_reference(model: type[Model], constraint: SameOwner) -> Reference:
    field: Any = model._meta.get_field(constraint.field)
    target = field.remote_field.model._meta
    if OWNER not in {each.name for each in target.fields}:
        raise FieldDoesNotExist(f"{target.label} has no {OWNER}: its rows belong to nobody.")
    return Reference(model._meta.db_table, field.column, target.db_table)


class TieToOwner(Operation):
    """Exchange the foreign keys of an app's tables for those over both columns, while everybody goes on writing.

    `owned`: the models that others refer to; `references`: the fields of each model that refer to what is owned. It
    belongs into a migration with ``atomic = False``; one that was interrupted is run again. Raises `IntegrityError`,
    and leaves the old key, where a row refers to somebody else's.
    """

    reversible = True

    def __init__(self, *, owned: Sequence[str] = (), references: dict[str, Sequence[str]]) -> None:
        self.owned = owned
        self.references = references

    def deconstruct(self) -> tuple[str, Sequence[Any], dict[str, Any]]:
        return type(self).__name__, [], {"owned": self.owned, "references": self.references}

    def describe(self) -> str:
        return "Tie what rows refer to to their owner"

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        for name in {*self.owned, *self.references}:
            model = state.models[app_label, name]
            table = model.options["db_table"]
            fields = self.references.get(name, ())
            for field in fields:
                model.fields[field] = model.fields[field].clone()
                model.fields[field].db_constraint = False
            added = [has_owner(table)] if name in self.owned else []
            model.options["constraints"] = [*added, *share_owner(table, *fields), *model.options["constraints"]]
        if "apps" in state.__dict__:  # once for all of them: each time costs as much as a dozen other operations
            state.reload_models([(app_label, name) for name in {*self.owned, *self.references}], delay=True)

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: ProjectState) -> None:
        with schema_editor.connection.cursor() as cursor:
            for name in self.owned:
                _make_unique(cursor, to_state.models[app_label, name].options["db_table"])
            for constraint, reference in self._list_references(app_label, to_state):
                _tie(cursor, constraint, reference)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: ProjectState, to_state: Any) -> None:
        with schema_editor.connection.cursor() as cursor:
            for constraint, each in self._list_references(app_label, from_state):
                cursor.execute(
                    f'ALTER TABLE "{each.table}" DROP CONSTRAINT IF EXISTS "{constraint}", '
                    f'ADD FOREIGN KEY ("{each.column}") REFERENCES "{each.target}" DEFERRABLE INITIALLY DEFERRED'
                )
            for name in self.owned:
                table = from_state.models[app_label, name].options["db_table"]
                cursor.execute(f'ALTER TABLE "{table}" DROP CONSTRAINT IF EXISTS "{table}_has_owner"')

    def _list_references(self, app_label: str, state: ProjectState) -> Iterator[tuple[str, Reference]]:
        """Yield the name of each constraint with what it compares. Nothing is rendered for it."""
        for name, fields in self.references.items():
            model = state.models[app_label, name]
            table = model.options["db_table"]
            for field, constraint in zip(fields, share_owner(table, *fields), strict=True):
                relation: Any = model.fields[field].remote_field
                target = state.models[resolve_relation(relation.model, app_label, name)].options["db_table"]
                yield constraint.name, Reference(table, f"{field}_id", target)


def _make_unique(cursor: Any, table: str) -> None:
    """Make the unique constraint that references need, without a lock that writers would wait for."""
    name = f"{table}_has_owner"
    cursor.execute("SELECT EXISTS (SELECT FROM pg_constraint WHERE conname = %s)", [name])
    if cursor.fetchone()[0]:
        return
    cursor.execute(f'DROP INDEX IF EXISTS "{name}"')  # what an interrupted run left, perhaps incomplete
    cursor.execute(f'CREATE UNIQUE INDEX CONCURRENTLY "{name}" ON "{table}" (id, user_id)')
    cursor.execute(f'ALTER TABLE "{table}" ADD CONSTRAINT "{name}" UNIQUE USING INDEX "{name}"')


def _tie(cursor: Any, name: str, reference: Reference) -> None:
    """Add the key over both columns, check what is there, and drop the one over the reference alone."""
    cursor.execute("SELECT convalidated FROM pg_constraint WHERE conname = %s", [name])
    found = cursor.fetchone()
    if found is None:
        cursor.execute(f'ALTER TABLE "{reference.table}" ADD CONSTRAINT "{name}" {reference.condition} NOT VALID')
    if found is None or not found[0]:
        cursor.execute(f'ALTER TABLE "{reference.table}" VALIDATE CONSTRAINT "{name}"')
    cursor.execute(
        "SELECT c.conname FROM pg_constraint AS c"
        " JOIN pg_attribute AS a ON a.attrelid = c.conrelid AND c.conkey = ARRAY[a.attnum]"
        " WHERE c.contype = 'f' AND c.conrelid = %s::regclass AND a.attname = %s",
        [reference.table, reference.column],
    )
    for (single,) in cursor.fetchall():
        cursor.execute(f'ALTER TABLE "{reference.table}" DROP CONSTRAINT "{single}"')
