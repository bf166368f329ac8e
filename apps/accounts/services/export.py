"""Export everything remembered about a person as one JSON document (R2), and restore it, row by row, without loss.

It is restored into an account of this or another installation. IDs are kept where they are free. Where somebody else
has one, the row gets another, always the same one, and whatever names it follows, in columns and inside JSON. What the
person has already stays as it is, so that restoring twice does nothing twice.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import IO, Any
from uuid import UUID, uuid4, uuid5

from django.core.exceptions import ValidationError
from django.db import connection, models, transaction
from django.db.models import Exists, OuterRef
from django.http import FileResponse
from django.utils import timezone
from django.utils.crypto import salted_hmac

from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from apps.accounts.services.people import keep_account
from apps.accounts.services.personal_data import LeftOut, PersonalTable, Restoration, list_tables
from apps.core.errors import JiyiError
from apps.core.responses import answer_written
from apps.core.text.clean import find_forbidden
from apps.core.text.secrets import mask_secrets
from apps.core.times import exists_everywhere

ABOUT = (
    "Everything this installation remembers about the person, table by table, with IDs as they are in the database. "
    "Left out are vectors and search terms, which are made from the texts that are here, and credentials."
)
ROWS_AT_ONCE = 1_000
ROWS_TOGETHER = 500

# What a row raises that is none of ours: exports are files that anybody can edit.
_UNFIT = (LeftOut, JiyiError, ValidationError, ValueError, TypeError, KeyError, AttributeError, OverflowError)

Row = Mapping[str, Any]
# Reads a file from its beginning: what it says about itself under the table "", then the rows of its tables.
ReadRows = Callable[[], Iterable[tuple[str, Row]]]


def write_export(
    *, user: User, file: IO[bytes], now: datetime, progress: Callable[[str, int], None] | None = None
) -> dict[str, int]:
    """Write everything of a person, of every kind and status, as UTF-8 JSON; returns the number of rows by table.

    ``{"about", "exported_at", "user": {...}, "digests", "data": {"<table>": [{...}, ...]}}``, as it all was at one
    moment, read in portions. `progress` is called with the table and how many of its rows were written, portion by
    portion.
    """
    written: dict[str, int] = {}
    masked = get_settings(user).mask_secrets_in_exports
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        head = {
            "about": ABOUT,
            "exported_at": now.isoformat(),
            "user": _describe(user),
            "digests": name_digests(user),
        }
        file.write(f'{_dump(head)[:-1]}, "data": {{'.encode())
        for number, table in enumerate(reversed(list_tables())):
            file.write(f'{"," if number else ""}\n"{table.name}": ['.encode())
            written[table.name] = 0
            for portion in _read(table, user, masked=masked):
                lines = ",\n".join(map(_dump, portion))
                file.write(f"{',' if written[table.name] else ''}\n{lines}".encode())
                written[table.name] += len(portion)
                if progress:
                    progress(table.name, written[table.name])
            file.write(b"]")
        file.write(b"}}\n")
    return written


def name_digests(user: User) -> str:
    """Return a name for the key that a person's digests are made with: another installation or account has another."""
    return salted_hmac("jiyi.export.digests", str(user.pk), algorithm="sha256").hexdigest()[:32]


def answer_export(user: User) -> FileResponse:
    """Answer with everything remembered about a person, as a file of JSON (R2)."""
    return answer_written(lambda file: write_export(user=user, file=file, now=timezone.now()), name="everything")


def _read(table: PersonalTable, user: User, *, masked: bool) -> Iterator[list[dict[str, Any]]]:
    rows = table.rows(user).values(*table.exported).iterator(chunk_size=ROWS_AT_ONCE)
    while portion := list(islice(rows, ROWS_AT_ONCE)):
        for row in portion if masked else ():
            row.update({name: mask_secrets(row[name]) for name in table.said})
        yield portion


def _describe(user: User) -> dict[str, Any]:
    described = {"id": user.pk, "username": user.username, "email": user.email, "date_joined": user.date_joined}
    return described | ({"external_id": user.external_id} if user.service_id else {})


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_encode)


def _encode(value: Any) -> str:
    match value:
        case datetime():
            return value.isoformat()
        case UUID():
            return str(value)
        case bytes() | memoryview():
            return bytes(value).hex()
    raise TypeError(f"A {type(value).__name__} cannot be exported.")


# Restoring


@dataclass(frozen=True, slots=True)
class Restored:
    """How many rows of each table were restored, and how many were left out: they are there already or cannot be."""

    restored: Mapping[str, int]
    left_out: Mapping[str, int]


def restore_person(*, user: User, read: ReadRows, now: datetime) -> Restored:
    """Write the rows of an export as this person's, in the caller's transaction. `read` is called twice.

    Vectors and search terms are made again. Nothing of another person's is read, changed or referred to: a row that
    names something that is not the person's loses that reference, or is left out where it is nothing without.
    """
    keep_account(user)
    run = _Run(user, now=now)
    run.survey(read())
    for table, rows in _group(read(), run.tables):
        run.write(table, rows)
    run.finish()
    return Restored(restored=+run.written, left_out=+run.left_out)


@dataclass
class _Known:
    """The IDs of one table: those of the file, and those that rows may refer to."""

    in_file: set[UUID] = field(default_factory=set)
    mine: set[UUID] = field(default_factory=set)


class _Run:
    def __init__(self, user: User, *, now: datetime) -> None:
        self._user, self._now = user, now
        self.tables = {table.name: table for table in list_tables()}
        self._known = {table.model: _Known() for table in self.tables.values() if _has_own_id(table.model)}
        self._new_ids: dict[str, str] = {}
        self._restoration = Restoration(user=user, digests_hold=False)
        self._keys: dict[str, list[Any]] = {}
        self.written: Counter[str] = Counter()
        self.left_out: Counter[str] = Counter()

    # The first reading

    def survey(self, rows: Iterable[tuple[str, Row]]) -> None:
        """Note the IDs in the file, and find out which of them are free."""
        for name, row in rows:
            table = self.tables.get(name)
            if not name and "digests" in row:
                holds = row["digests"] == name_digests(self._user)
                self._restoration = Restoration(user=self._user, digests_hold=holds)
            elif table is not None and table.model in self._known and (row_id := _read_uuid(row.get("id"))):
                self._known[table.model].in_file.add(row_id)
        for table in self.tables.values():
            if table.model in self._known:
                self._find_free(table, self._known[table.model])

    def _find_free(self, table: PersonalTable, known: _Known) -> None:
        foreign = set()
        for portion in _portions(known.in_file):
            owners = table.model._default_manager.filter(pk__in=portion).values_list("pk", table.owner)
            for pk, owner in owners:
                known.mine.add(pk) if owner == self._user.pk else foreign.add(pk)
        replaced = {old: uuid5(old, f"jiyi.import.{self._user.pk}") for old in foreign}
        for portion in _portions(replaced.values()):
            for pk, owner in table.model._default_manager.filter(pk__in=portion).values_list("pk", table.owner):
                if owner == self._user.pk:
                    known.mine.add(pk)
                else:  # taken in turn, which takes intent
                    replaced |= {old: uuid4() for old, new in replaced.items() if new == pk}
        self._new_ids |= {str(old): str(new) for old, new in replaced.items()}
        known.in_file = {replaced.get(old, old) for old in known.in_file}

    # The second reading

    def write(self, table: PersonalTable, rows: Sequence[Row]) -> None:
        """Write rows of one table."""
        made = []
        for row in rows:
            try:
                made.append(self._make(table, _replace(row, self._new_ids) if self._new_ids else row))
            except _UNFIT:
                self.left_out[table.name] += 1
        made = self._drop_known(table, made)
        model = table.model
        if model in self._known:
            model._default_manager.bulk_create(made, ignore_conflicts=True)
            mine = model._default_manager.filter(pk__in=[item.pk for item in made], **{table.owner: self._user})
            written = list(mine.values_list("pk", flat=True))
            self._known[model].mine.update(written)
            self._keys.setdefault(table.name, []).extend(written)
            count = len(written)
        else:
            before = table.rows(self._user).count()
            model._default_manager.bulk_create(made, ignore_conflicts=True)
            count = table.rows(self._user).count() - before
        self.written[table.name] += count
        self.left_out[table.name] += len(made) - count

    def finish(self) -> None:
        """Take back links to rows that could not be restored, and have made again what was not exported."""
        for table in self.tables.values():
            for link in _links(table.model):
                if link.related_model is table.model:
                    targets = table.model._default_manager.filter(pk=OuterRef(link.attname))
                    broken = table.rows(self._user).filter(**{f"{link.name}__isnull": False}).exclude(Exists(targets))
                    broken.order_by().update(**{link.name: None})
        for name, keys in self._keys.items():
            if finish := self.tables[name].finish:
                finish(self._user, keys, self._now)

    def _make(self, table: PersonalTable, row: Row) -> Any:
        if find_forbidden(dict(row)):
            raise LeftOut
        has_own_id = table.model in self._known or isinstance(table.model._meta.pk, models.ForeignKey)
        made = table.model(**{f"{table.owner}_id": self._user.pk})
        for column in table.model._meta.concrete_fields:
            skipped = column.name in (table.owner, *table.not_exported) or (column.primary_key and not has_own_id)
            if not skipped and column.attname in row:
                setattr(made, column.attname, self._read(table, column, row[column.attname]))
        if table.prepare:
            table.prepare(made, self._restoration)
        return made

    def _read(self, table: PersonalTable, column: models.Field[Any, Any], value: Any) -> Any:
        if isinstance(column, models.ForeignKey):
            return self._read_link(table, column, value)
        if isinstance(column, models.JSONField):
            container = column.default if callable(column.default) else None
            if container in (dict, list) and not isinstance(value, container):
                raise LeftOut
            return value
        if value is None:
            if not column.null:
                raise LeftOut
            return None
        if isinstance(column, models.BinaryField):
            return bytes.fromhex(value)
        if isinstance(column, models.CharField | models.TextField) and not isinstance(value, str):
            raise LeftOut
        read = column.to_python(value)
        if isinstance(read, datetime) and (read.tzinfo is None or not exists_everywhere(read)):
            raise LeftOut
        column.run_validators(read)
        if column.choices and read not in dict(column.flatchoices) and not (read == "" and column.blank):
            raise LeftOut
        return read

    def _read_link(self, table: PersonalTable, column: models.ForeignKey[Any, Any], value: Any) -> Any:
        if value is None:
            target = None
        elif column.related_model is User:
            # Whoever else acted here, of the staff say, is nobody where it is restored.
            return self._user.pk
        else:
            target = _read_uuid(value)
            known = self._known[column.related_model]
            there = target in known.mine or (column.related_model is table.model and target in known.in_file)
            target = target if there else None
        if target is None and not column.null:
            raise LeftOut
        return target

    def _drop_known(self, table: PersonalTable, made: list[Any]) -> list[Any]:
        """Leave out what is there already."""
        if table.model in self._known:
            mine = self._known[table.model].mine
            new = [item for item in made if item.pk not in mine]
        elif table.identity and made:
            there = set(table.rows(self._user).order_by().values_list(*table.identity))
            new = [item for item in made if tuple(getattr(item, name) for name in table.identity) not in there]
        else:
            return made
        self.left_out[table.name] += len(made) - len(new)
        return new


def _group(
    rows: Iterable[tuple[str, Row]], tables: Mapping[str, PersonalTable]
) -> Iterator[tuple[PersonalTable, list[Row]]]:
    """The rows of tables that are restored, in portions of one table."""
    held: list[Row] = []
    current: PersonalTable | None = None
    for name, row in rows:
        table = tables.get(name)
        if current is not None and held and (table is not current or len(held) >= ROWS_TOGETHER):
            yield current, held
            held = []
        current = table if table is not None and table.restored else None
        if current is not None:
            held.append(row)
    if current is not None and held:
        yield current, held


def _has_own_id(model: type[models.Model]) -> bool:
    return isinstance(model._meta.pk, models.UUIDField)


def _links(model: type[models.Model]) -> Iterator[models.ForeignKey[Any, Any]]:
    return (column for column in model._meta.concrete_fields if isinstance(column, models.ForeignKey))


def _read_uuid(value: Any) -> UUID | None:
    try:
        return UUID(value) if isinstance(value, str) and len(value) == 36 else None
    except ValueError:
        return None


def _replace(value: Any, new: Mapping[str, str]) -> Any:
    match value:
        case str():
            return new.get(value, value)
        case dict():
            return {new.get(key, key): _replace(item, new) for key, item in value.items()}
        case list():
            return [_replace(item, new) for item in value]
    return value


def _portions(values: Iterable[UUID]) -> Iterator[list[UUID]]:
    everything = list(values)
    for start in range(0, len(everything), 5_000):
        yield everything[start : start + 5_000]
