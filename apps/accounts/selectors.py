"""Reading accounts and their settings."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from django.conf import settings as django_settings
from django.db.models import DurationField, ExpressionWrapper, F, FloatField, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Coalesce
from rest_framework.request import Request

from apps.accounts.models import Setting, User
from apps.accounts.types import PREFIX, MemorySettings


def get_user(request: Request) -> User:
    """Return who sends the request; permissions let nobody in who is not a user."""
    assert isinstance(request.user, User), "permissions let nobody else in"
    return request.user


def get_environment_settings() -> dict[str, Any]:
    """Return the settings given as ``MEMORY_<NAME>`` in the environment (JSON, or a bare word), unvalidated."""
    found: dict[str, Any] = {}
    for name in MemorySettings.model_fields:
        if raw := django_settings.MEMORY_ENVIRONMENT.get(f"MEMORY_{name.upper()}"):
            try:
                found[name] = json.loads(raw)
            except ValueError:
                found[name] = raw
    return found


def resolve_settings(rows: Iterable[tuple[str, Any]]) -> MemorySettings:
    """Return effective settings from stored ``(key, value)`` rows, weakest first, over environment over default."""
    values = get_environment_settings()
    values.update((key.removeprefix(PREFIX), value) for key, value in rows)
    return MemorySettings.model_validate(values)


def setting_rows(user: User | None) -> QuerySet[Setting]:
    """The stored settings that hold for the user, weakest first: global ones, then the user's own."""
    mine = Q(user__isnull=True) if user is None else Q(user__isnull=True) | Q(user=user)
    return Setting.objects.filter(mine).order_by(F("user").asc(nulls_first=True))


def get_settings(user: User | None) -> MemorySettings:
    """Return effective settings (G1: user over global over environment over default), with one query.

    Without a user: what holds for everybody who changed nothing.
    """
    return resolve_settings(setting_rows(user).values_list("key", "value"))


class Origin(StrEnum):
    """Who decided what a setting is, strongest first (G1)."""

    OWN = "own"
    GLOBAL = "global"
    ENVIRONMENT = "environment"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class SettingValue:
    """What a setting is and who decided it; and what it would be without its own value."""

    value: Any
    origin: Origin
    inherited: Any


def list_setting_values(user: User | None) -> dict[str, SettingValue]:
    """Return each setting of a user with where it comes from, by its name without prefix; in JSON's types.

    Without a user: the global ones, whose own values are `Origin.GLOBAL`.
    """
    own, inherited = {}, []
    for row in setting_rows(user):
        if row.user_id == (user.pk if user else None):
            own[row.key.removeprefix(PREFIX)] = row.value
        else:
            inherited.append((row.key, row.value))
    below = resolve_settings(inherited).model_dump(mode="json")
    effective = resolve_settings([*inherited, *own.items()]).model_dump(mode="json")
    origins = dict.fromkeys(get_environment_settings(), Origin.ENVIRONMENT)
    origins |= {key.removeprefix(PREFIX): Origin.GLOBAL for key, _value in inherited}
    origins |= dict.fromkeys(own, Origin.OWN if user else Origin.GLOBAL)
    return {
        name: SettingValue(value=value, origin=origins.get(name, Origin.DEFAULT), inherited=below[name])
        for name, value in effective.items()
    }


def get_own_values(name: str) -> dict[int, Any]:
    """Return what each user set `name` (without its prefix) to, by the user's ID; for work on many people at once."""
    stored = Setting.objects.filter(user__isnull=False, key=f"{PREFIX}{name}")
    return {user_id: value for user_id, value in stored.values_list("user_id", "value") if user_id is not None}


def working_ttl(*, user: str) -> Combinable:
    """An expression, per row, for how long its owner lets working memory idle (W4); `user` names the row's field."""
    stored = Setting.objects.filter(user=OuterRef(user), key=f"{PREFIX}working_ttl_minutes").values("value")[:1]
    minutes = Coalesce(Cast(Subquery(stored), FloatField()), Value(float(get_settings(None).working_ttl_minutes)))
    return ExpressionWrapper(minutes * Value(timedelta(minutes=1)), output_field=DurationField())
