"""Who is told what, and what becomes of it: written with the change, delivered at least once, given up in the end."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction

from apps.accounts.models import User
from apps.accounts.services.erasure import delete_account, erase_user
from apps.accounts.services.people import get_or_create_end_user, update_settings
from apps.accounts.spaces import create_space
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.kinds import LONG_TERM
from apps.memory.lifecycle import create_atomic_memories, evict_memories
from apps.memory.models import LongTermMemory
from apps.memory.types import AtomicDraft
from apps.profile.services import propose_text
from apps.webhooks.models import Delivery, Event, Webhook
from apps.webhooks.services import delete_old_deliveries, deliver, save_webhook, send_test
from tests.support.factories import UserFactory
from tests.webhooks.conftest import Receiver, make_hook

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
SECOND, DAY = timedelta(seconds=1), timedelta(days=1)


def remember(user: User, key: str = "city", value: str = "York") -> LongTermMemory:
    memory, _action = create_memory(user=user, category="fact", key=key, value=value, now=NOW)
    return memory


def list_told(webhook: Webhook) -> list[tuple[str, dict[str, Any]]]:
    return list(webhook.deliveries.order_by("created_at", "event").values_list("event", "data"))


def test_a_change_is_told_in_its_transaction_by_ids_alone(mei: User) -> None:
    hook = make_hook(mei)
    with transaction.atomic():
        remember(mei)
        transaction.set_rollback(True)
    assert list_told(hook) == []
    memory = remember(mei)
    [change] = mei.changes.all()
    item = {"kind": "long_term", "id": str(memory.id), "space_id": None}
    item |= {"action": "create", "operation": str(change.operation)}
    assert list_told(hook) == [("memory.changed", {"user_id": mei.pk, "items": [item]})]
    delete_memories(LONG_TERM, user=mei, ids=[memory.id], now=NOW + SECOND)
    assert [data["items"][0]["action"] for _event, data in list_told(hook)] == ["create", "delete"]
    assert "York" not in json.dumps(list_told(hook))


def test_an_eviction_is_told(mei: User) -> None:
    hook = make_hook(mei)
    for number in range(3):
        remember(mei, key=f"key {number}")
    update_settings(user=mei, changes={"memory.eviction_threshold": 1})
    assert evict_memories(now=NOW + DAY) == 2
    _event, data = list_told(hook)[-1]
    assert [item["action"] for item in data["items"]] == ["evict", "evict"]


def test_a_hook_hears_of_its_person_a_service_of_its_end_users_and_one_of_nobodys_of_everybody(mei: User) -> None:
    service = UserFactory.create(username="assistant")
    lin = get_or_create_end_user(service=service, external_id="lin@example.org")
    of_mei, of_service, of_all = make_hook(mei), make_hook(service), make_hook(None)
    make_hook(mei, enabled=False)
    remember(mei)
    remember(lin)
    told = {hook: sorted(data["user_id"] for _event, data in list_told(hook)) for hook in (of_mei, of_service, of_all)}
    assert told == {of_mei: [mei.pk], of_service: [lin.pk], of_all: [mei.pk, lin.pk]}
    assert list_told(of_service)[0][1]["end_user"] == "lin@example.org"
    assert Delivery.objects.count() == 4


def test_without_the_setting_or_the_event_nothing_is_told(mei: User, settings: Any) -> None:
    hook = make_hook(mei, events=[Event.REVIEW_WAITING])
    remember(mei)
    settings.WEBHOOKS = "off"
    make_hook(mei)
    remember(mei, key="home")
    assert not Delivery.objects.exists()
    assert not deliver(now=NOW)
    assert list_told(hook) == []


def test_a_hook_of_a_space_hears_of_that_space_alone(mei: User) -> None:
    novel = create_space(user=mei, name="Novel")
    hook = make_hook(mei, space=novel)
    remember(mei)
    memory = remember(mei.within(novel.pk), key="hero")
    [(_event, data)] = list_told(hook)
    assert [(item["id"], item["space_id"]) for item in data["items"]] == [(str(memory.id), str(novel.pk))]


def test_what_comes_into_review_is_told_whatever_it_is(mei: User) -> None:
    hook = make_hook(mei, events=[Event.REVIEW_WAITING])
    [memory] = create_atomic_memories(user=mei, drafts=[AtomicDraft(content="A guess.", status="pending")], now=NOW)
    remember(mei)
    assert propose_text(user=mei, proposal_id=hook.pk, section="background", text="A nurse.", now=NOW + SECOND)
    told = [data["items"] for _event, data in list_told(hook)]
    assert told == [
        [{"kind": "atomic", "id": str(memory.id), "space_id": None}],
        [{"kind": "proposal", "id": str(hook.pk), "space_id": None}],
    ]


def test_much_at_once_is_told_in_parts(mei: User) -> None:
    hook = make_hook(mei)
    drafts = [AtomicDraft(content=f"Fact number {number}.") for number in range(130)]
    create_atomic_memories(user=mei, drafts=drafts, now=NOW)
    assert sorted(len(data["items"]) for _event, data in list_told(hook)) == [30, 100]


# Delivery


def test_what_arrived_is_sent_once_and_its_content_goes(mei: User, receiver: Receiver) -> None:
    hook = make_hook(mei, receiver.url)
    remember(mei)
    assert not deliver(now=NOW)
    assert not deliver(now=NOW + DAY)
    assert len(receiver.requests) == 1
    [row] = hook.deliveries.all()
    assert (row.result, row.due_at, row.delivered_at, row.data, row.attempts) == ("204", None, NOW, {}, 1)
    hook.refresh_from_db()
    assert (hook.last_result, hook.failing_since) == ("204", None)


def test_what_fails_is_tried_again_later_and_later_then_given_up(mei: User, receiver: Receiver) -> None:
    hook = make_hook(mei, receiver.url)
    remember(mei)
    receiver.statuses = [500] * 50
    now, pauses = NOW, []
    while (row := hook.deliveries.get()).due_at:
        deliver(now=now)
        row.refresh_from_db()
        pauses += [row.due_at - now] if row.due_at else []
        now = row.due_at or now
    assert pauses[:5] == [SECOND * seconds for seconds in (10, 10, 20, 40, 80)]
    assert pauses == sorted(pauses)
    assert pauses[-1] == timedelta(hours=4)
    assert DAY <= now - NOW < DAY + pauses[-1]
    assert (row.result, row.data, row.delivered_at) == ("500", {}, None)
    assert len({headers["webhook-id"] for headers, _body in receiver.requests}) == 1
    hook.refresh_from_db()
    assert (hook.enabled, hook.failing_since, hook.last_result) == (True, NOW, "500")
    assert len(receiver.requests) == len(pauses) + 1


def test_a_hook_that_fails_for_days_is_disabled_until_it_is_saved_again(mei: User, receiver: Receiver) -> None:
    hook = make_hook(mei, receiver.url)
    receiver.statuses = [500, 500]
    for now in (NOW, NOW + 5 * DAY):
        assert send_test(hook, now=now).result == "500"
        hook.refresh_from_db()
        assert hook.enabled is (now == NOW)
    hook.enabled = True
    save_webhook(hook)
    assert Webhook.objects.get().failing_since is None


def test_a_receiver_that_is_gone_for_good_disables_its_hook(mei: User, receiver: Receiver) -> None:
    hook = make_hook(mei, receiver.url)
    receiver.statuses = [410]
    send_test(hook, now=NOW)
    assert not Webhook.objects.get().enabled


def test_a_hook_that_fails_gets_nothing_new_until_it_is_tried_again(mei: User, receiver: Receiver) -> None:
    hook = make_hook(mei, receiver.url)
    remember(mei)
    receiver.statuses = [500]
    deliver(now=NOW)
    remember(mei, key="home")
    deliver(now=NOW + 9 * SECOND)
    assert len(receiver.requests) == 1
    deliver(now=NOW + 10 * SECOND)
    assert len(receiver.requests) == 3
    hook.refresh_from_db()
    assert (hook.failing_since, hook.retry_at) == (None, None)


def test_old_deliveries_go(mei: User) -> None:
    make_hook(mei)
    remember(mei)
    delete_old_deliveries(now=NOW + 7 * DAY)
    assert Delivery.objects.exists()
    delete_old_deliveries(now=NOW + 7 * DAY + SECOND)
    assert not Delivery.objects.exists()


# Erasure


@pytest.mark.spec("R3")
def test_an_erasure_takes_the_persons_hooks_and_is_told_to_those_of_others() -> None:
    service = UserFactory.create(username="assistant")
    lin = get_or_create_end_user(service=service, external_id="lin")
    own, of_service, of_all = make_hook(lin), make_hook(service), make_hook(None)
    remember(lin)
    assert Delivery.objects.count() == 3
    receipt = erase_user(user=lin)
    assert receipt.verified
    assert (receipt.deleted["webhook"], receipt.deleted["webhook_delivery"]) == (1, 3)
    assert not Webhook.objects.filter(pk=own.pk).exists()
    told = [("person.erased", {"user_id": lin.pk, "end_user": "lin"})]
    assert list_told(of_service) == list_told(of_all) == told


@pytest.mark.spec("R3")
def test_a_service_goes_with_its_hooks_and_what_they_were_to_be_told() -> None:
    service, root = UserFactory.create(username="assistant"), User.objects.create_superuser(username="root")
    lin = get_or_create_end_user(service=service, external_id="lin")
    make_hook(service)
    of_all = make_hook(None)
    remember(lin)
    assert delete_account(user=service, by=root).verified
    assert [event for event, _data in list_told(of_all)] == ["person.erased", "person.erased"]
    assert Delivery.objects.count() == 2


@pytest.fixture(autouse=True)
def _database(db: None) -> None:
    """All of these ask it."""
