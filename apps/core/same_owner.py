"""What a row refers to belongs to the same person: foreign keys over the reference and the owner.

Every table of a person's data has the person in `user_id`. A foreign key of Django compares the reference alone, so a
row could come to refer to another person's. Here the database compares both: `(message_id, user_id)` with
`(id, user_id)` of the messages. So a mistake anywhere above, in a query, an import or a race, is refused by PostgreSQL,
and every reference carries the column by which tables can be spread over several servers.

In a model: ``ForeignKey(..., db_constraint=False)`` for the column, `SameOwner` in ``Meta.constraints`` for the check,
and on what is referred to a unique constraint of its key and ``user`` (`share_owner` and `has_owner` make both).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db import DEFAULT_DB_ALIAS
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
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

    def constraint_sql(self, model: Any, schema_editor: Any) -> None:  # type: ignore[override]
        # Not within CREATE TABLE: Django adds the constraint of a table it refers to later, if that has defaults.
        schema_editor.deferred_sql.append(self.create_sql(model, schema_editor))

    def create_sql(self, model: type[Model], schema_editor: BaseDatabaseSchemaEditor) -> str:  # type: ignore[override]
        quote = schema_editor.quote_name
        field: Any = model._meta.get_field(self.field)
        target = field.remote_field.model._meta
        if OWNER not in {each.name for each in target.fields}:
            raise FieldDoesNotExist(f"{target.label} has no {OWNER}: its rows belong to nobody.")
        return (
            f"ALTER TABLE {quote(model._meta.db_table)} ADD CONSTRAINT {quote(self.name)} "
            f'FOREIGN KEY ({quote(field.column)}, "user_id") REFERENCES {quote(target.db_table)} ("id", "user_id") '
            "DEFERRABLE INITIALLY DEFERRED"  # checked at the end of the transaction, as Django's are
        )

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
