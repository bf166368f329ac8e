"""Deleting an account with everything remembered about it, and letting nobody be locked out by that."""

from __future__ import annotations

from collections import Counter

import structlog
from django.db import transaction

from apps.accounts.models import User
from apps.accounts.services.erasure import Receipt, erase_user
from apps.accounts.services.ledger import ACCOUNT, record_person
from apps.core.errors import Conflict

logger = structlog.get_logger(__name__)


def is_last_superuser(user: User) -> bool:
    """Whether nobody else could do what only superusers may."""
    others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=user.pk)
    return user.is_superuser and not others.exists()


def deactivate(*, user: User, by: User) -> None:
    """Block logins and tokens of an account; its data stays. One's own and the last superuser: `Conflict`."""
    if user.pk == by.pk:
        raise Conflict("You cannot deactivate or delete your own account.")
    with transaction.atomic():
        # Two superusers who deactivate each other take turns.
        list(User.objects.select_for_update().filter(is_superuser=True).order_by("pk").values_list("pk"))
        if is_last_superuser(user):
            raise Conflict("The last superuser cannot be deactivated or deleted.")
        User.objects.filter(pk=user.pk).update(is_active=False)


def delete_account(*, user: User, by: User) -> Receipt:
    """Erase all that is remembered about a person (`erase_user`), then delete the account with its tokens.

    Of a service the end users go, too, each erased in the same way. The account is deactivated first, so that nothing
    new comes meanwhile; where a check finds that something remained, it is kept like that, to be tried again. One's
    own account and the last superuser: `Conflict`, and nothing happens.
    """
    deactivate(user=user, by=by)
    receipt = _delete(user, again=False)
    if receipt.verified:
        logger.warning("user.deleted", user_id=user.pk, by=by.pk)
    return receipt


def delete_account_again(*, user: User) -> Receipt:
    """Delete an account that a restored backup has brought back. The last superuser is erased, but kept."""
    return erase_user(user=user, again=True) if is_last_superuser(user) else _delete(user, again=True)


def _delete(user: User, *, again: bool) -> Receipt:
    User.objects.filter(service=user.pk).update(is_active=False)
    people = (*User.objects.filter(service=user.pk), user)
    receipts = [erase_user(user=person, again=again) for person in people]
    deleted = sum((Counter(receipt.deleted) for receipt in receipts), Counter[str]())
    verified = all(receipt.verified for receipt in receipts)
    if verified:
        with transaction.atomic():
            # Whoever still writes for the account holds its row: wait for them, so that nothing refers to it later.
            users = User.objects.select_for_update().order_by("pk")
            list(users.filter(pk=user.pk).values_list("pk"))
            list(users.filter(service=user.pk).values_list("pk"))
            if not again:
                for person in people:
                    record_person(person, kind=ACCOUNT)
            User.objects.get(pk=user.pk).delete()
    return Receipt(deleted={**receipts[-1].deleted, **deleted}, verified=verified)
