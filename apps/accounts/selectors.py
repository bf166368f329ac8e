"""Reading accounts and their settings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from django.conf import settings as django_settings
from django.db.models import F, OuterRef, Q, QuerySet, Subquery

from apps.accounts.models import Setting, User
from apps.accounts.types import PREFIX, MemorySettings


@lru_cache(maxsize=1)
def _environment_names() -> dict[str, str]:
    return {name: f"MEMORY_{name.upper()}" for name in MemorySettings.model_fields}


def get_environment_settings() -> dict[str, Any]:
    """Return the settings given as ``MEMORY_<NAME>`` in the environment (JSON, or a bare word), unvalidated."""
    given: Mapping[str, str] = django_settings.MEMORY_ENVIRONMENT
    found: dict[str, Any] = {}
    for name, variable in _environment_names().items():
        raw = given.get(variable, "")
        if raw:
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


def stored_setting(name: str, *, user: str) -> Subquery:
    """An expression for the value of a setting as the owner of a row changed it; `user` names the row's field."""
    return Subquery(Setting.objects.filter(user=OuterRef(user), key=f"{PREFIX}{name}").values("value")[:1])
