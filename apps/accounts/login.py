"""Who may log in with a password, and how often somebody may try."""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async
from axes.backends import AxesStandaloneBackend
from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_client_username
from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.services.guessing import admit_attempt, find_lock, forgive_attempts, get_lock, note_lock
from apps.accounts.services.sessions import note_session
from apps.core.client_address import get_client_network


class PasswordBackend(AxesStandaloneBackend, ModelBackend):
    """Django's, for everybody but the end users of a service: only their service acts for them (T4).

    No password is looked at while the account or the address is locked out; that needs a request.
    """

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> Any:
        if username is None or password is None:
            return None
        AxesStandaloneBackend.authenticate(self, request, username=username, password=password)  # raises while locked
        return ModelBackend.authenticate(self, request, username=username, password=password)

    aauthenticate = sync_to_async(authenticate)  # Django's asks the database alone

    def user_can_authenticate(self, user: Any) -> bool:
        return super().user_can_authenticate(user) and not (isinstance(user, User) and user.service_id)


class LockoutHandler(AxesDatabaseHandler):
    """What django-axes does with attempts: counts them by `apps.accounts.services.guessing`.

    Of an attempt it keeps the name, the address and the time, and nothing else of what was sent. A login that succeeds
    is noted as a session of its owner.
    """

    def is_locked(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> bool:
        """Count the attempt that is about to be made; whether it may not be made."""
        username = get_client_username(request, credentials) or ""
        lock = admit_attempt(username=username, address=get_client_network(request), now=timezone.now())
        note_lock(request, lock)
        return lock is not None

    def user_login_failed(
        self, sender: Any, credentials: dict[str, Any], request: HttpRequest | None = None, **kwargs: Any
    ) -> None:
        """The attempt is counted by now. If it was the last one for a while, its page tells so."""
        if request is not None and get_lock(request) is None:
            username = get_client_username(request, credentials) or ""
            note_lock(request, find_lock(username=username, address=get_client_network(request), now=timezone.now()))

    def user_logged_in(self, sender: Any, request: HttpRequest | None, user: User, **kwargs: Any) -> None:
        if request is not None:
            forgive_attempts(username=user.get_username(), address=get_client_network(request))
            note_session(request, user, now=timezone.now())

    def user_logged_out(self, sender: Any, request: HttpRequest, user: User | None, **kwargs: Any) -> None:
        """Leaves no trace."""
