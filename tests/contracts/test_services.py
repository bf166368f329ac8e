"""Two services with two end users each (T4): each sees, counts, changes and erases exactly their own, at every door."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.contracts.services import INTRUSIONS, LOOKS, Person, Services, make_services
from tests.contracts.world import dump
from tests.support.http_server import HttpServer

pytestmark = pytest.mark.spec("T4")


@pytest.fixture
def services(http_server: HttpServer) -> Iterator[Services]:
    made = make_services(http_server)
    yield made
    made.close()


def dump_all(services: Services) -> list[dict[str, Any]]:
    """Every row of every end user."""
    return [dump(person.user) for person in services.end_users]


def assert_silent(text: str, others: list[Person], asked: str) -> None:
    """The text holds nothing of them."""
    told = [sign for other in others for sign in other.signs if sign in text]
    assert told == [], asked


@pytest.mark.long
def test_each_sees_exactly_their_own(services: Services):
    before = dump_all(services)
    for person in services.end_users:
        others = services.others(person)
        answers = [answer for look in LOOKS for answer in look(person)]
        for answer in answers:
            assert_silent(answer.text, others, answer.asked)
        assert sum(person.secret.split()[1] in answer.text for answer in answers) > len(answers) / 2
    assert dump_all(services) == before


@pytest.mark.long
def test_a_service_that_names_nobody_sees_nothing_of_its_end_users(services: Services):
    for account in services.accounts:
        for look in LOOKS:
            for answer in look(account):
                assert_silent(answer.text, services.end_users, answer.asked)


@pytest.mark.long
def test_the_ids_of_others_are_not_there(services: Services):
    before = dump_all(services)
    for victim in services.end_users:
        intruders = services.intruders(victim)
        assert len(intruders) == 3
        for intruder in intruders:
            for intrude in INTRUSIONS:
                for answer in intrude(intruder, victim):
                    assert_silent(answer.text, [victim], answer.asked)
    assert dump_all(services) == before


@pytest.mark.long
def test_what_clears_everything_clears_the_callers_own(services: Services):
    person, *others = services.end_users
    before = [dump(other.user) for other in others]
    client = person.client
    exported = client.get("/memory/long-term/export").content
    assert client.delete("/memory/long-term?confirm=all").json()["deleted"] == 2
    assert client.delete("/memory/atomic?confirm=all").json()["deleted"] == 2
    assert client.delete("/profile").json()["deleted"] == 1
    client.patch("/memory/settings", json={"memory.timezone": "Asia/Tokyo"}).raise_for_status()
    imported = others[1].client.post("/memory/long-term/import", files={"file": ("memories.json", exported)})
    assert imported.json()["updated"] == 0, "IDs of others are not taken over"
    assert client.get("/memory/long-term?status=all").json()["count"] == 0
    assert client.post("/memory/erase", json={"confirm": person.user.external_id}).json()["verified"]
    after = [dump(other.user) for other in others]
    assert [after[0], after[2]] == [before[0], before[2]]
    assert others[2].client.get("/memory/settings").json()["memory.timezone"] == "Asia/Shanghai"


@pytest.mark.long
def test_nothing_said_by_one_is_recalled_for_another(services: Services):
    asked = " ".join(person.secret for person in services.end_users)
    for person in services.end_users:
        turn = person.client.say(person.client.new_session(), f"{asked}?").raise_for_status().json()
        assert turn["memories_used"]
        for other in services.others(person):
            assert not any(word in str(turn["memories_used"]) for word in other.secret.split())
