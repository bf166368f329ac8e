"""Changing accounts and settings; tokens and end users have modules of their own."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from typing import Any

from django.db import connection, transaction

from apps.accounts.models import Setting, User
from apps.accounts.selectors import get_settings
from apps.accounts.services.tokens import create_token as create_token
from apps.accounts.types import MemorySettings, read_setting_problems
from apps.core.errors import InvalidInput

FIRST_USERNAME = "admin"


@transaction.atomic
def ensure_first_account() -> tuple[str, str | None]:
    """Make the first account, a superuser, when there is none.

    Returns its name and, only when it was made just now, its password: it is stored nowhere in clear.
    """
    first = User.objects.order_by("id").first()
    if first is not None:
        return first.username, None
    password = secrets.token_urlsafe(12)
    User.objects.create_superuser(username=FIRST_USERNAME, password=password)
    return FIRST_USERNAME, password


def keep_account(user: User) -> None:
    """Keep the person's data from being erased until the transaction ends (R3).

    An erasure locks the account before all else, so whoever locks something of a person to write it calls this first.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM accounts_user WHERE id = %s FOR KEY SHARE", [user.pk])


def create_scratch_user(*, username: str) -> User:
    """Make an account that nobody can log in to, for data that is measured and deleted again."""
    return User.objects.create(username=username, is_active=False)


def set_active(*, ids: Collection[int], is_active: bool) -> int:
    """Let these accounts log in and use their tokens, or no longer; their data stays. Returns how many that changed."""
    return User.objects.filter(id__in=ids).exclude(is_active=is_active).update(is_active=is_active)


@transaction.atomic
def update_settings(*, user: User | None, changes: Mapping[str, Any]) -> MemorySettings:
    """Change settings of a user, or the global ones where `user` is None; `None` as a value restores the default.

    Returns the effective settings. Unknown key, wrong type or out of range: `InvalidInput`, and nothing changed (G1).
    """
    if problems := read_setting_problems(changes):
        raise InvalidInput("Some settings are not acceptable; nothing was changed.", fields=problems)

    if user is not None:
        keep_account(user)
    restored = [key for key, value in changes.items() if value is None]
    Setting.objects.filter(user=user, key__in=restored).delete()
    for key, value in changes.items():
        if value is not None:
            Setting.objects.update_or_create(user=user, key=key, defaults={"value": value})
    return get_settings(user)
