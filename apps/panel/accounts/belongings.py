"""Where everything of a person is: lists with how much is in them, and the pages about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Model
from django.utils.translation import gettext as _

from apps.accounts.models import ApiToken, User
from apps.accounts.services.erasure import count_rows
from apps.doors.models import ConnectedApp
from apps.panel.links import link_list, link_page


@dataclass(frozen=True, slots=True)
class Belonging:
    """One list of a person's, with the number of rows."""

    title: str
    link: str
    count: int


@dataclass(frozen=True, slots=True)
class Belongings:
    """All of a person's lists, and the pages about them: title, address, symbol."""

    lists: list[Belonging]
    pages: list[tuple[str, str, str]]


def list_belongings(user: User, tables: Sequence[type[Model]], *, erases: bool) -> Belongings:
    """Where everything of `user` is, as staff get there. `erases`: whether they may erase it."""
    kept = (ApiToken, ConnectedApp)
    counts = count_rows(user) | {table._meta.db_table: table.objects.filter(user=user).count() for table in kept}
    pages = [
        (_("Overview"), link_page("index", user=user), "dashboard"),
        (_("Review queue"), link_page("review", user=user), "inbox"),
        (_("Settings"), link_page("settings", user=user), "tune"),
        (_("Create token"), link_page("accounts_apitoken_add", user=user), "key"),
    ]
    if erases:
        pages.append((_("Erase all data"), link_page("erasure", user=user), "delete_forever"))
    return Belongings(
        lists=[
            Belonging(
                title=str(table._meta.verbose_name_plural),
                link=link_list(table, user=user),
                count=counts[table._meta.db_table],
            )
            for table in tables
        ],
        pages=pages,
    )
