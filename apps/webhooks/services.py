"""Webhooks: storing them, queueing events for them, and delivering the events.

An event is stored in the transaction of the change (`announce`), so that neither is there without the other. Workers
send it afterwards, at least once: a worker that dies after sending leaves the row due again.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet

from apps.accounts.models import User
from apps.accounts.spaces import get_space
from apps.conversations.queue import send_task
from apps.core.db import release_connections
from apps.core.errors import Conflict, NotFound
from apps.core.secret_key import encrypt
from apps.webhooks.models import TEST, Delivery, Event, Webhook
from apps.webhooks.sending import SECRET_PREFIX, SECRET_PURPOSE, send

# Items in one delivery: receivers expect less than 20 KB.
ITEMS_TOGETHER = 100
SENT_TOGETHER = 50
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=10), timedelta(hours=4)
GIVEN_UP_AFTER = timedelta(days=1)
DISABLED_AFTER = timedelta(days=5)
KEPT = timedelta(days=7)
# Of an account. One change is a delivery for each.
MOST_WEBHOOKS = 20
TOO_MANY = "There are 20 webhooks already. Delete one first."
GONE = "410"  # the receiver wants no more

# One changed object: its `kind`, `id` and `space_id`, for a change also `action` and `operation`. Never a text.
Item = Mapping[str, Any]


def are_on() -> bool:
    """Whether this installation has webhooks at all (`WEBHOOKS`)."""
    return bool(settings.WEBHOOKS != "off")


def list_webhooks(user: User) -> QuerySet[Webhook]:
    """Return a person's own hooks, in the order in which they were made."""
    return Webhook.objects.filter(user=user)


def get_webhook(user: User, webhook_id: UUID) -> Webhook:
    """Return a hook of theirs, or raise `NotFound`."""
    webhook = list_webhooks(user).filter(id=webhook_id).first()
    if webhook is None:
        raise NotFound("This webhook does not exist.")
    return webhook


def create_webhook(*, user: User, now: datetime, **fields: Any) -> Webhook:
    """Store a new hook: what `update_webhook` changes. Raises `Conflict` where webhooks are off, and what that does."""
    _refuse_off()
    return update_webhook(Webhook(user=user, created_at=now), changes=fields)


def update_webhook(webhook: Webhook, *, changes: Mapping[str, Any]) -> Webhook:
    """Change `url`, `events`, `enabled` or `space`, the ID of one of its person's or None, and store the hook.

    Raises `NotFound` for another space, and what `save_webhook` does.
    """
    for name, value in changes.items():
        if name == "space":
            assert webhook.user is not None, "one of everybody is not changed by a person"
            value = value and get_space(webhook.user.overseeing(), value)
        setattr(webhook, name, value)
    save_webhook(webhook)
    return webhook


def save_webhook(webhook: Webhook) -> None:
    """Store a hook, with a secret if it is new. How it failed before is forgotten.

    Raises `Conflict` for a new one of an account, or of everybody, that has `MOST_WEBHOOKS`.
    """
    if webhook._state.adding:
        if Webhook.objects.filter(user=webhook.user_id).count() >= MOST_WEBHOOKS:
            raise Conflict(TOO_MANY)
        _renew_secret(webhook)
    webhook.failing_since = webhook.retry_at = None
    webhook.save()


def rotate_secret(webhook: Webhook) -> None:
    """Store another secret. What is sent from now on is signed with it, also what was to be sent before."""
    _renew_secret(webhook)
    webhook.save(update_fields=["encrypted_secret"])


def _renew_secret(webhook: Webhook) -> None:
    secret = SECRET_PREFIX + base64.b64encode(secrets.token_bytes(24)).decode()
    webhook.encrypted_secret = encrypt(secret, purpose=SECRET_PURPOSE)


def delete_webhook(webhook: Webhook) -> None:
    """Delete a hook with its deliveries, those that wait too."""
    webhook.delete()


def list_deliveries(webhook: Webhook) -> QuerySet[Delivery]:
    """Return what was sent to a hook in the last week and what waits, newest first."""
    return webhook.deliveries.order_by("-created_at", "-id")


def _refuse_off() -> None:
    if not are_on():
        raise Conflict("Webhooks are off on this installation (WEBHOOKS).")


def announce(*, user: User, told: Mapping[Event, Iterable[Item]], now: datetime) -> None:
    """Queue these events for each hook that receives those of `user`, in the caller's transaction.

    `told`: the items of each event, read only where a hook wants them. One query without such a hook, none where
    webhooks are off.
    """
    if not (hooks := _list_listeners(user, *told)):
        return
    items, name = {event: list(found) for event, found in told.items()}, _name(user)
    _queue(
        Delivery(webhook=hook, person=user, event=event, data={**name, "items": part}, due_at=now, created_at=now)
        for hook in hooks
        for event in told
        if event in hook.events
        for part in _split(item for item in items[event] if hook.space_id in (None, item["space_id"]))
    )


def _split(items: Iterable[Item]) -> Iterator[list[Item]]:
    rest = iter(items)
    while part := list(islice(rest, ITEMS_TOGETHER)):
        yield part


def announce_erasure(user: User, *, now: datetime) -> None:
    """Queue `person.erased` for the hooks of others; what waits for the person's own hooks is deleted with them."""
    Delivery.objects.filter(webhook__user=user).exclude(person=user).delete()
    hooks = [hook for hook in _list_listeners(user, Event.PERSON_ERASED) if hook.user_id != user.pk]
    _queue(
        Delivery(webhook=hook, event=Event.PERSON_ERASED, data=_name(user), due_at=now, created_at=now)
        for hook in hooks
    )


def _list_listeners(user: User, *events: Event) -> list[Webhook]:
    if not are_on():
        return []
    owners = Q(user=user) | Q(user=user.service_id) | Q(user__isnull=True)
    return list(Webhook.objects.filter(owners, enabled=True, events__overlap=events))


def _name(user: User) -> dict[str, Any]:
    return {"user_id": user.pk, **({"end_user": user.external_id} if user.service_id else {})}


def _queue(deliveries: Iterable[Delivery]) -> None:
    if Delivery.objects.bulk_create(deliveries):
        wake_sender()


def wake_sender() -> None:
    """Have a worker deliver what is due once the transaction commits; a lost call costs seconds."""
    transaction.on_commit(partial(send_task, "apps.webhooks.tasks.deliver"))


def deliver(*, now: datetime) -> bool:
    """Send what is due; returns whether there may be more."""
    claimed = _claim(now=now) if are_on() else []
    release_connections()  # receivers may take their time
    for delivery, result in zip(claimed, send(claimed, now=now), strict=True):
        _settle(delivery, result, now=now)
    return len(claimed) == SENT_TOGETHER


def send_test(webhook: Webhook, *, now: datetime) -> Delivery:
    """Send an event without content at once; returns it with its result, as `apps.webhooks.sending.send` names it.

    Raises `Conflict` where webhooks are off.
    """
    _refuse_off()
    delivery = Delivery.objects.create(webhook=webhook, event=TEST, attempts=1, created_at=now)
    release_connections()
    [result] = send([delivery], now=now)
    _settle(delivery, result, now=now)
    delivery.refresh_from_db()
    return delivery


def delete_old_deliveries(*, now: datetime) -> None:
    """Delete deliveries that are over a week old, whether they arrived, were given up, or wait for a disabled hook."""
    Delivery.objects.filter(created_at__lt=now - KEPT).delete()


def succeeded(result: str) -> bool:
    """Whether a result is that of an event that arrived."""
    return result.startswith("2")


@transaction.atomic
def _claim(*, now: datetime) -> list[Delivery]:
    """Take what is due; should this run die, it is due again after a lease."""
    again_at = now + timedelta(seconds=settings.WORK_LEASE_SECONDS)
    works = Q(webhook__retry_at__isnull=True) | Q(webhook__retry_at__lte=now)
    due = Delivery.objects.filter(works, due_at__lte=now, webhook__enabled=True).select_related("webhook")
    claimed = list(due.select_for_update(skip_locked=True, of=("self",)).order_by("due_at")[:SENT_TOGETHER])
    taken = Delivery.objects.filter(pk__in=[delivery.pk for delivery in claimed])
    taken.update(due_at=again_at, attempts=F("attempts") + 1)
    return claimed


@transaction.atomic
def _settle(delivery: Delivery, result: str, *, now: datetime) -> None:
    row = Delivery.objects.filter(pk=delivery.pk, delivered_at=None)
    hook = Webhook.objects.filter(pk=delivery.webhook_id)
    if succeeded(result):
        row.update(result=result, due_at=None, delivered_at=now, data={})
        hook.update(last_result=result, failing_since=None, retry_at=None)
        return
    age, since = now - delivery.created_at, delivery.webhook.failing_since or now
    row.update(result=result, due_at=now + _pause(age))
    if delivery.event == TEST or age >= GIVEN_UP_AFTER:
        row.update(due_at=None, data={})
    hook.update(last_result=result, failing_since=since, retry_at=now + _pause(now - since))
    if result == GONE or now - since >= DISABLED_AFTER:
        hook.update(enabled=False)


def _pause(age: timedelta) -> timedelta:
    """As long as it has failed already, so each pause is twice the one before."""
    return min(max(age, FIRST_PAUSE), LONGEST_PAUSE)
