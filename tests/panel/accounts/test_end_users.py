"""Services in the panel: what each holds, for the service itself and for staff (T4)."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.accounts.services.people import create_token, get_or_create_end_user
from apps.conversations.models import Message, Session
from apps.memory.models import LongTermMemory, Status
from tests.support.factories import LongTermMemoryFactory, UserFactory

LIST = "admin:accounts_enduser_changelist"

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.spec("M7", "T4"),
    pytest.mark.long,
]


@pytest.fixture
def shop() -> User:
    return UserFactory.create(username="shop")


def serve(service: User, *names: str) -> list[User]:
    """End users of a service, each with two active memories, a pending one, and a message."""
    made = []
    for name in names:
        user = get_or_create_end_user(service=service, external_id=name)
        LongTermMemoryFactory.create_batch(2, user=user)
        waiting = LongTermMemoryFactory.create(user=user)
        LongTermMemory.objects.filter(pk=waiting.pk).update(status=Status.PENDING)
        session = Session.objects.create(user=user)
        Message.objects.create(session=session, user=user, role="user", content="你好", position=1)
        made.append(user)
    return made


def list_shown(client: Client, **query: str) -> dict[str, tuple[int, int]]:
    """The figures of the end users in the list."""
    rows = client.get(reverse(LIST), query).context["cl"].result_list
    return {f"{row.service.username}: {row.external_id}": (row.remembered, row.said) for row in rows}


def test_a_service_sees_its_own_end_users_and_what_they_hold(client: Client, shop: User) -> None:
    serve(shop, "mei", "lin")
    serve(UserFactory.create(username="clinic"), "mei")
    client.force_login(shop)
    assert list_shown(client) == {"shop: lin": (2, 1), "shop: mei": (2, 1)}
    assert list_shown(client, q="me") == {"shop: mei": (2, 1)}
    (service,) = client.get(reverse(LIST)).context["services"]
    assert (service["name"], service["end_users"], service["memories"], service["messages"]) == ("shop", 2, 4, 2)
    assert service["seen"] == Session.objects.filter(user__service=shop).latest("last_active_at").last_active_at
    assert "clinic" not in client.get(reverse(LIST)).content.decode()


def test_staff_see_all_services_and_narrow_the_list_to_one(client: Client, shop: User) -> None:
    clinic = UserFactory.create(username="clinic")
    serve(shop, "mei", "lin")
    serve(clinic, "mei")
    create_token(user=UserFactory.create(username="new"), is_service=True)
    client.force_login(UserFactory.create(is_staff=True))
    services = client.get(reverse(LIST)).context["services"]
    assert [(one["name"], one["end_users"], one["tokens"]) for one in services] == [
        ("shop", 2, 0),
        ("clinic", 1, 0),
        ("new", 0, 1),
    ]
    assert set(list_shown(client)) == {"shop: mei", "shop: lin", "clinic: mei"}
    assert set(list_shown(client, service__id__exact=str(clinic.pk))) == {"clinic: mei"}
    assert client.get(services[0]["link"]).status_code == 200
