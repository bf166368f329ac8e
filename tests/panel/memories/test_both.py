"""The list of both kinds of memories: what it shows in which order, its filters, and what is done from it."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.memory.entries import create_memory
from apps.memory.kinds import LONG_TERM
from apps.memory.lifecycle import create_atomic_memory, update_memory
from apps.memory.models import AtomicMemory, LongTermMemory
from apps.panel.memories import lists
from tests.panel.memories.conftest import shown, toast
from tests.support.factories import UserFactory

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
LIST = "/admin/memories/"

LogIn = Callable[[User], Client]

pytestmark = [
    pytest.mark.spec("M1", "M3"),
    pytest.mark.long_except(),
]


def learn(user: User, *texts: str, first: datetime = NOW) -> list[Any]:
    """One memory a minute, each "key: value" for a long-term one, else an atomic one."""
    memories = []
    for number, text in enumerate(texts):
        now = first + timedelta(minutes=number)
        key, _colon, value = text.partition(": ")
        if value:
            memories.append(create_memory(user=user, category="fact", key=key, value=value, now=now)[0])
        else:
            memories.append(create_atomic_memory(user=user, content=text, tags=["day"], now=now)[0])
    return memories


def name(memory: Any) -> str:
    return memory.key if isinstance(memory, LongTermMemory) else memory.shown


def names(client: Client, **parameters: str) -> list[str]:
    return [name(memory) for memory in shown(client.get(LIST, parameters))]


@pytest.mark.long
def test_both_kinds_stand_in_one_order(log_in: LogIn, mei: User) -> None:
    client = log_in(mei)
    city, _walk, _pet, _tea = learn(mei, "city: Berlin", "The user walked.", "pet: cat", "The user drank tea.")
    learn(UserFactory.create(), "theirs: no", "Theirs.")
    assert names(client) == ["The user drank tea.", "pet", "The user walked.", "city"]
    assert names(client, sort="created") == ["city", "The user walked.", "pet", "The user drank tea."]
    update_memory(LONG_TERM, user=mei, memory_id=city.id, changes={"value": "Bonn"}, now=NOW + timedelta(days=1))
    assert names(client, sort="-updated")[0] == "city"
    assert names(client, sort="key") == names(client)  # only one kind has keys


def test_filters_leave_what_has_what_they_ask_for(log_in: LogIn, mei: User) -> None:
    client = log_in(mei)
    learn(mei, "city: Berlin", "The user walked in Berlin.", "city: Hamburg")
    assert names(client, status="superseded") == ["city"]
    assert names(client, status="all") == ["city", "The user walked in Berlin.", "city"]
    assert names(client, category="fact") == names(client, source="user_stated") == ["city"]
    assert names(client, tag="day") == ["The user walked in Berlin."]
    assert names(client, tag="day", category="fact") == []
    assert names(client, q="Berlin") == ["The user walked in Berlin."]
    assert names(client, q="Berlin", status="all") == ["The user walked in Berlin.", "city"]
    assert names(client, q="berli", status="all") == ["city"]  # a beginning of a word, which one index knows
    assert names(client, q="quantum") == []


def test_the_kinds_are_filters_with_counts_that_keep_the_others(log_in: LogIn, mei: User) -> None:
    client = log_in(mei)
    learn(mei, "city: Berlin", "The user walked.", "city: Hamburg", "The user ran.")

    def kinds(**parameters: str) -> list[tuple[str, str, int | None, bool]]:
        groups = client.get(LIST, parameters).context["groups"]
        kinds = next(group for group in groups if group["name"] == "kind")
        return [(choice["name"], choice["url"], choice["count"], choice["on"]) for choice in kinds["choices"]]

    assert kinds() == [
        ("long_term", "?kind=long_term", 1, False),
        ("atomic", "?kind=atomic", 2, False),
        ("all", "", 3, True),
    ]
    assert kinds(kind="long_term", status="all", category="fact") == [
        ("long_term", "?kind=long_term&status=all&category=fact", 2, True),
        ("atomic", "?kind=atomic&status=all", 2, False),
        ("all", "?status=all&category=fact", 2, False),
    ]
    assert [count for *_rest, count, _on in kinds(q="city")] == [None, None, None]
    groups = {group["name"]: group for group in client.get(LIST, {"status": "all"}).context["groups"]}
    counts = {choice["name"]: choice["count"] for choice in groups["status"]["choices"]}
    assert counts == {"active": 3, "pending": 0, "rejected": 0, "superseded": 1, "evicted": 0, "all": 4}
    assert {choice["name"]: choice["count"] for choice in groups["category"]["choices"]}["fact"] == 2


@pytest.mark.long
def test_a_selection_of_both_is_dealt_with_and_undone_at_once(
    log_in: LogIn, mei: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = log_in(mei)
    memories = learn(mei, "city: Berlin", "The user walked.", "pet: cat", "The user ran.")
    chosen = [str(memory.pk) for memory in memories[:3]]
    response = client.post(f"{LIST}bulk/", {"action": "mute", "selected": chosen})
    assert toast(response)["text"] == "3 memories were muted."
    assert set(names(client, muted="yes")) == {"city", "The user walked.", "pet"}
    client.post("/admin/undo/", {key: toast(response)[key] for key in ("operations", "together")})
    assert names(client, muted="yes") == []
    response = client.post(f"{LIST}bulk/", {"action": "category", "value": "pattern", "selected": chosen})
    assert toast(response)["text"] == "Category changed for 2 memories."
    monkeypatch.setattr(lists, "PORTION", 1)
    monkeypatch.setattr(lists, "SECONDS", -1.0)  # long work goes on from one kind to the other
    everything = {"all": "1", "until": (NOW + timedelta(days=1)).isoformat(), "action": "delete"}
    dialog = client.post(f"{LIST}bulk/", everything)
    assert "Delete 4 memories?" in dialog.content.decode()
    fields: dict[str, Any] = {**everything, "confirmed": "yes", "total": "4"}
    steps = 0
    while (response := client.post(f"{LIST}bulk/", fields)).status_code == 200:
        progress = response.context["progress"]
        fields |= {"done": progress.done, "after": progress.after, "stage": progress.stage}
        steps += 1
    assert steps > 3
    assert toast(response)["text"] == "4 memories were deleted."
    assert (LongTermMemory.objects.count(), AtomicMemory.objects.count()) == (0, 0)


def test_an_export_has_a_file_for_each_kind_there_is(log_in: LogIn, mei: User) -> None:
    client = log_in(mei)
    city, walk = learn(mei, "city: Berlin", "The user walked.")

    def export(*memories: Any) -> Any:
        return client.post(f"{LIST}bulk/", {"action": "export", "selected": [str(memory.pk) for memory in memories]})

    assert [row["key"] for row in json.loads(b"".join(export(city).streaming_content))] == ["city"]
    assert [row["content"] for row in json.loads(b"".join(export(walk).streaming_content))] == ["The user walked."]
    answer = export(city, walk)
    assert answer["Content-Type"] == "application/zip"
    assert ".zip" in answer["Content-Disposition"]
    archive = zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content)))
    kept = {entry: json.loads(archive.read(entry)) for entry in archive.namelist()}
    assert sorted(entry.rsplit("-", 3)[0] for entry in kept) == ["jiyi-atomic", "jiyi-long-term"]
    assert all(len(rows) == 1 for rows in kept.values())


def test_news_are_of_both(log_in: LogIn, mei: User) -> None:
    client = log_in(mei)
    (city,) = learn(mei, "city: Berlin")
    cursor = client.get(LIST).context["cursor"]
    learn(mei, "The user walked.", "pet: cat", "city: Bonn", first=NOW + timedelta(hours=1))
    news = client.get(f"{LIST}news/", {"after": cursor})
    assert [name(row.memory) for row in news.context["rows"]] == ["city", "pet", "The user walked."]
    assert news.context["gone"] == [city.pk]


@pytest.mark.parametrize("kind", ["longtermmemory", "atomicmemory"])
def test_the_address_of_a_kind_leads_to_the_list_narrowed_to_it(log_in: LogIn, mei: User, kind: str) -> None:
    name = {"longtermmemory": "long_term", "atomicmemory": "atomic"}[kind]
    client = log_in(UserFactory.create(is_staff=True))
    answer = client.get(f"/admin/memory/{kind}/", {"user__id__exact": mei.pk, "status__exact": "all"})
    assert answer.url == f"{LIST}?kind={name}&status=all&user={mei.pk}"
    assert client.post(f"/admin/memory/{kind}/", {"action": "delete_selected"}).status_code == 405
