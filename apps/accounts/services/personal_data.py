"""Where a person's data is (R2, R3): each app names its tables in its own `personal_data` module, when Django starts.

Export, erasure and the check of both go by this registry, so a table that is not in it would be forgotten by all three:
a test looks for tables that hold a person's data and are neither here nor in `KEPT`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from graphlib import TopologicalSorter
from typing import Any

from allauth.account.models import EmailAddress, EmailConfirmation
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialToken
from django.db.models import Model, QuerySet
from django.db.models.functions import Lower

from apps.accounts.models import ApiToken, LoginSession, Setting, Space, User
from apps.accounts.types import read_setting_problems

# What an erasure leaves (R3), besides the admin's log, which knows IDs only.
KEPT: dict[type[Model], str] = {
    User: "the account itself",
    ApiToken: "the account's API tokens, as digests",
    Authenticator: "the account's second factor, encrypted",
    SocialAccount: "which account of another service logs in to it",
    SocialToken: "unused: tokens of other services are not kept",
    EmailAddress: "unused: the account itself has the address",
    EmailConfirmation: "unused, like the addresses",
}


def keep_tables(reasons: Mapping[type[Model], str]) -> None:
    """Name tables that belong to the account rather than to what is remembered, and so outlive an erasure."""
    KEPT.update(reasons)


@dataclass(frozen=True, slots=True)
class Restoration:
    """What rows are restored into: whose account, and whether digests that were made with the key of this installation
    for this very account still hold. `names`: of the spaces that were restored so far.
    """

    user: User
    digests_hold: bool
    names: set[str] = field(default_factory=set)


class LeftOut(Exception):
    """A row is not to be restored."""


# Completes a row with what is derived from it; raises `LeftOut` for one that is not to be restored as it is.
Prepare = Callable[[Any, Restoration], None]

# Does what is to be done once rows are there, given their keys.
Restored = Callable[[User, Collection[Any], datetime], None]


@dataclass(frozen=True, slots=True)
class PersonalTable:
    """One table of a person's data. `owner`: the path to the person; `not_exported`: vectors and what is derived.
    `said`: columns with what was said, in which an export masks secrets if the person wants that (D4).

    How rows of an export are restored (`apps.accounts.services.export`): `restored` False for what is made again;
    `prepare` and `finish` for each; `identity`: the columns by which a row without an ID of its own is known to be
    there already. `before_erasure` keeps what the rows say of nobody, in the transaction that deletes them.
    """

    model: type[Model]
    owner: str = "user"
    not_exported: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    restored: bool = True
    prepare: Prepare | None = None
    finish: Restored | None = None
    identity: tuple[str, ...] = ()
    before_erasure: Callable[[User], None] | None = None

    @property
    def name(self) -> str:
        """The table's name: in the database, in the receipt of an erasure, and in an export."""
        return self.model._meta.db_table

    @property
    def exported(self) -> list[str]:
        """The columns of an export: all but `not_exported`, so that a new one is in it."""
        return [
            field.attname
            for field in self.model._meta.concrete_fields
            if field.name not in self.not_exported and field.name != self.owner
        ]

    def rows(self, user: User) -> QuerySet[Any]:
        """The person's rows, in the order they were made as far as their keys tell."""
        return self.model._default_manager.filter(**{self.owner: user}).order_by("pk")


_tables: dict[type[Model], PersonalTable] = {}


def register_tables(*tables: PersonalTable) -> None:
    """Name tables that hold a person's data."""
    _tables.update({table.model: table for table in tables})


def list_tables() -> list[PersonalTable]:
    """Return every table of personal data, each before those that its rows refer to: the order to delete in."""
    sorter: TopologicalSorter[type[Model]] = TopologicalSorter()
    for model in _tables:
        sorter.add(model)
        for column in model._meta.concrete_fields:
            if column.remote_field and column.related_model in _tables and column.related_model is not model:
                sorter.add(column.related_model, model)
    return [_tables[model] for model in sorter.static_order()]


def _prepare_setting(setting: Setting, _restoration: Restoration) -> None:
    if read_setting_problems({setting.key: setting.value}):
        raise LeftOut


def _prepare_space(space: Space, restoration: Restoration) -> None:
    """Give it another name where the account has one of its name."""
    mine = Space.objects.filter(user=restoration.user).exclude(id=space.id)
    names = restoration.names | set(mine.values_list(Lower("name"), flat=True))
    name, number = space.name, 2
    while space.name.lower() in names:
        space.name, number = f"{name[:90]} ({number})", number + 1
    restoration.names.add(space.name.lower())


def _end_bound_tokens(user: User) -> None:
    ApiToken.objects.filter(user=user, space__isnull=False).delete()


register_tables(
    PersonalTable(Space, prepare=_prepare_space, before_erasure=_end_bound_tokens),
    PersonalTable(Setting, prepare=_prepare_setting),
    PersonalTable(LoginSession, not_exported=("session_key", "network"), restored=False),
)
