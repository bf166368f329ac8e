"""Who may log in with a password."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import ModelBackend

from apps.accounts.models import User


class PasswordBackend(ModelBackend):
    """Django's, for everybody but the end users of a service: only their service acts for them (T4)."""

    def user_can_authenticate(self, user: Any) -> bool:
        return super().user_can_authenticate(user) and not (isinstance(user, User) and user.service_id)
