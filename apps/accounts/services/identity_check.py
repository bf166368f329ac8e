"""Asking who is logged in to prove it once more, before something about the login itself is changed."""

from __future__ import annotations

from django.contrib.auth import authenticate
from django.http import HttpRequest
from django.utils import timezone

from apps.accounts.services.guessing import LockedOut, admit_attempt, find_lock, forgive_attempts, get_lock
from apps.accounts.services.sessions import read_account
from apps.accounts.services.two_factor import find_two_factor, verify_code
from apps.core.client_address import get_client_network


def confirm_password(*, request: HttpRequest, password: str) -> bool:
    """Whether this is the password of who is logged in. It counts as an attempt; `LockedOut` after too many."""
    username = request.user.get_username()
    is_right = authenticate(request, username=username, password=password) is not None
    if is_right:
        forgive_attempts(username=username, address=get_client_network(request))
    elif lock := get_lock(request):
        raise LockedOut(lock)
    return is_right


def confirm_identity(*, request: HttpRequest, proof: str) -> bool:
    """Whether `proof` is the password of who is logged in or, of an account without one, a code of its second factor.

    An account with neither has nothing to prove it with but its session. `LockedOut` after too many attempts.
    """
    user = read_account(request)
    if user.has_usable_password():
        return confirm_password(request=request, password=proof)
    if not find_two_factor(user):
        return True
    username, address = user.get_username(), get_client_network(request)
    if lock := admit_attempt(username=username, address=address, now=timezone.now()):
        raise LockedOut(lock)
    if verify_code(user=user, code=proof):
        forgive_attempts(username=username, address=address)
        return True
    if lock := find_lock(username=username, address=address, now=timezone.now()):
        raise LockedOut(lock)
    return False
