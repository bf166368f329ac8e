"""Spaces: what is seen and changed from one (P2, P3), and making, finding and naming them (P1).

Everything remembered has a `space`, null for what is everywhere. Queries on such tables take one of the three
conditions below by the person's `sight`; nothing else decides what a space keeps to itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import django_filters  # type: ignore[import-untyped]
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_noop
from rest_framework.request import Request

from apps.accounts.models import Space, User
from apps.accounts.selectors import get_user
from apps.core.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.core.fields import refuse_forbidden
from apps.core.operations import Problem, query

# Of each person: with more, a list of them is no longer one that somebody chooses from.
MOST_SPACES = 200


def seen_from(user: User, field: str = "space") -> Q:
    """The condition for what the person sees: what is everywhere, and what is in their space."""
    sight = user.sight
    if sight.everything:
        return Q()
    everywhere = Q(**{f"{field}__isnull": True})
    return everywhere if sight.space is None else everywhere | Q(**{field: sight.space})


def changed_from(user: User, field: str = "space") -> Q:
    """The condition for what the person may change from where they look: what is there and nowhere else."""
    return Q() if user.sight.everything else held_by(user, field)


def held_by(user: User, field: str = "space") -> Q:
    """The condition for what is in the very space that what they make goes to: where two memories can be the same."""
    return Q(**{f"{field}__isnull": True}) if user.sight.space is None else Q(**{field: user.sight.space})


def seen_sql(row: str) -> str:
    """`seen_from` in SQL, never null, for the table or alias `row`; it reads `sight_parameters`."""
    return f"(%(everything)s OR coalesce({row}.space_id = %(space)s, {row}.space_id IS NULL))"


def changed_sql(row: str) -> str:
    """`changed_from` in SQL, never null, for the table or alias `row`; it reads `sight_parameters`."""
    return f"(%(everything)s OR {row}.space_id IS NOT DISTINCT FROM %(space)s)"


def sight_parameters(user: User) -> dict[str, Any]:
    """The parameters of `seen_sql` and `changed_sql`."""
    return {"everything": user.sight.everything, "space": user.sight.space}


# Where a request looks from

ALL, NONE = "all", "none"
NO_SPACE = Problem(NotFound, "There is no such space")
SPACE = query(
    "space",
    "Where from: the ID or name of a space sees what is there and what is everywhere, `all` every space; without it, "
    "what is everywhere. A token that is bound to a space looks from there.",
)


def read_sight(request: Request) -> User:
    """Return who sends the request, as they look from the space it names in its query string (P2).

    Raises `NotFound` for a space that is not there, and for one that a bound token is not bound to.
    """
    user = get_user(request)
    return look_from(user, request.query_params.get("space", ""))


def look_from(user: User, named: str) -> User:
    """Return the person as they look from the space of this name or ID, with `ALL` from above; "" where they are."""
    if named == ALL and user.sight.everything:
        return user
    return user.within(find_space(user, named).pk if named else user.sight.space)


def find_place(user: User, named: str) -> UUID | None:
    """Return the ID of the space of this ID or name, None for `NONE`; or raise `NotFound`."""
    return None if named == NONE else find_space(user, named).pk


def enter_space(user: User, space_id: UUID | None) -> User:
    """Return the person as they look from the space of this ID, None: from where they are; or raise `NotFound`."""
    return user if space_id is None else user.within(get_space(user, space_id).pk)


class SpaceFilter(django_filters.CharFilter):
    """Narrow a list to what is in the space of this ID or name, and nowhere else; `none`: to what is everywhere."""

    def __init__(self, field_name: str = "space", **options: Any) -> None:
        label = "Only what is in the space of this ID or name; `none`: only what is everywhere."
        super().__init__(field_name=field_name, label=label, **options)

    def filter(self, qs: QuerySet[Any], value: str) -> QuerySet[Any]:
        if not value:
            return qs
        wanted = find_place(get_user(self.parent.request), value)
        return qs.filter(**{self.field_name: wanted} if wanted else {f"{self.field_name}__isnull": True})


# The spaces of a person

# Names of colours that are told apart on light and on dark; what they look like is in the style sheets of the pages.
COLOURS = ("teal", "blue", "violet", "rose", "orange", "green", "cyan", "amber")


def get_colour(space: Space) -> str:
    """Return the name of the colour that a space has on every page, one of `COLOURS`: by the last digit of its ID."""
    return COLOURS[space.id.int % len(COLOURS)]


def list_spaces(user: User) -> QuerySet[Space]:
    """Return the person's spaces that can be seen, in the order in which they were made."""
    found, here = Space.objects.filter(user=user), user.sight.space
    if user.sight.everything:
        return found
    return found.none() if here is None else found.filter(id=here)


def get_space(user: User, space_id: UUID) -> Space:
    """Return the space, or raise `NotFound` for none, for another person's and for one that cannot be seen."""
    space = list_spaces(user).filter(id=space_id).first()
    if space is None:
        raise NotFound(gettext_noop("This space does not exist."))
    return space


def find_space(user: User, named: str) -> Space:
    """Return the space with this ID or name, whatever its case; or raise `NotFound`."""
    refuse_forbidden(named)
    name = named.strip()
    meant, key = Q(name__iexact=name), read_key(name)
    space = list_spaces(user).filter(meant if key is None else meant | Q(id=key)).first()
    if space is None:
        reason = gettext_noop("There is no space of this name.")
        raise NotFound(reason, fields={"space": [reason]})
    return space


def read_key(text: str) -> UUID | None:
    """Return the ID that a text is, None for another text."""
    try:
        return UUID(text.strip())
    except ValueError:
        return None


def refuse_bound(user: User) -> None:
    """Raise `Forbidden` for who is bound to a space: what concerns all that the person has is done from outside."""
    if not user.sight.everything:
        raise Forbidden("This cannot be done from within a space.")


def create_space(*, user: User, **fields: Any) -> Space:
    """Make a space: `name`, and the other fields of `Space`.

    Raises `InvalidInput` for fields that cannot be, `Conflict` for a name that one has, and past `MOST_SPACES`;
    `Forbidden` where the person is bound to a space.
    """
    refuse_bound(user)
    if Space.objects.filter(user=user).count() >= MOST_SPACES:
        raise Conflict(f"There are {MOST_SPACES} spaces already.")
    return _save(Space(user=user), fields)


def update_space(*, user: User, space_id: UUID, changes: Mapping[str, Any]) -> Space:
    """Change fields of a space. Raises `NotFound`, and what `create_space` does."""
    refuse_bound(user)
    return _save(get_space(user, space_id), changes)


def get_or_create_space(*, user: User, name: str, kind: str) -> Space:
    """Return the person's space of that name, made on first use."""
    found = Space.objects.filter(user=user, name__iexact=name).first()
    if found is not None:
        return found
    try:
        return create_space(user=user, name=name, kind=kind)
    except Conflict:
        return Space.objects.get(user=user, name__iexact=name)  # made at this moment by another request


def _save(space: Space, fields: Mapping[str, Any]) -> Space:
    for name, value in fields.items():
        setattr(space, name, value.strip() if name == "name" else value)
    try:
        space.full_clean(exclude=["user"], validate_constraints=False)
    except ValidationError as error:
        problems: dict[str, list[str]] = dict(error.message_dict)
        name, reasons = next(iter(problems.items()))
        raise InvalidInput(f"{name}: {reasons[0]}", fields=problems) from None
    try:
        with transaction.atomic():
            space.save()
    except IntegrityError as error:
        reason = gettext_noop("Another space already has this name.")
        raise Conflict(reason, fields={"name": [reason]}) from error
    return space
