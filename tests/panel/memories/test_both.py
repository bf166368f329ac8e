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
from django.urls import reverse

from apps.accounts.models import User
from apps.memory.atomic.services import create_atomic_memory
from apps.memory.models import AtomicMemory, LongTermMemory
from apps.memory.services import create_memory, update_memory
from apps.panel.memories import bulk
from tests.panel.memories.conftest import shown, toast
from tests.support.factories import UserFactory

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
LIST = "/admin/memories/"

LogIn = Callable[[User], Client]

pytestmark = [
    pytest.mark.spec("M1", "M3"),
    pytest.mark.long_except(
        "test_a_row_is_edited_in_the_list_of_both",
        "test_only_ones_own_is_done_anything_to",
    ),
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
    update_memory(user=mei, memory_id=city.id, changes={"value": "Bonn"}, now=NOW + timedelta(days=1))
    assert names(client, sort="-updated")[0] == "city"
    assert names(client, sort="key") == names(client)  # only one kind has keys


@pytest.mark.long
def test_pages_are_cut_from_both_together(log_in: LogIn, mei: User) -> None:
    client = log_in(mei)
    texts = [f"key {number}: value" if number % 3 else f"Said {number}." for number in range(120)]
    learn(mei, *texts)
    newest_first = [text.partition(": ")[0] for text in reversed(texts)]
    found = [names(client, page=str(number)) for number in (1, 2, 3)]
    assert [len(page) for page in found] == [50, 50, 20]
    assert [name for page in found for name in page] == newest_first
    assert names(client, page="99") == newest_first[100:]


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
    long_term, atomic = (
        reverse("admin:memory_longtermmemory_changelist"),
        reverse("admin:memory_atomicmemory_changelist"),
    )

    def kinds(address: str, **parameters: str) -> list[tuple[str, str, int | None, bool]]:
        groups = client.get(address, parameters).context["groups"]
        kinds = next(group for group in groups if group["name"] == "kind")
        return [(choice["name"], choice["url"], choice["count"], choice["on"]) for choice in kinds["choices"]]

    assert kinds(LIST) == [("long_term", long_term, 1, False), ("atomic", atomic, 2, False), ("all", LIST, 3, True)]
    asked = {"status": "all", "category": "fact"}
    assert kinds(long_term, **asked) == [
        ("long_term", f"{long_term}?status=all&category=fact", 2, True),
        ("atomic", f"{atomic}?status=all", 2, False),
        ("all", f"{LIST}?status=all&category=fact", 2, False),
    ]
    assert [count for *_rest, count, _on in kinds(LIST, q="city")] == [None, None, None]
    groups = {group["name"]: group for group in client.get(LIST, {"status": "all"}).context["groups"]}
    counts = {choice["name"]: choice["count"] for choice in groups["status"]["choices"]}
    assert counts == {"active": 3, "pending": 0, "rejected": 0, "superseded": 1, "evicted": 0, "all": 4}
    assert {choice["name"]: choice["count"] for choice in groups["category"]["choices"]}["fact"] == 2


@pytest.mark.parametrize("kind", ["longtermmemory", "atomicmemory"])
def test_links_to_the_lists_of_each_kind_still_lead_there(log_in: LogIn, mei: User, kind: str) -> None:
    staff = UserFactory.create(is_staff=True)
    learn(mei, "city: Berlin", "The user walked.")
    learn(staff, "city: Paris", "The user ran.")
    client = log_in(staff)
    address = reverse(f"admin:memory_{kind}_changelist")
    for asked in ({"user": mei.pk}, {"user__id__exact": mei.pk, "status__exact": "active"}):
        (memory,) = shown(client.get(address, asked))
        assert memory.user_id == mei.pk
    assert shown(client.get(address, {"status__exact": "rejected"})) == []
    assert [memory.user_id for memory in shown(client.get(LIST, {"user": mei.pk}))] == [mei.pk, mei.pk]
    assert len(shown(client.get(LIST))) == 4


def test_a_row_is_edited_in_the_list_of_both(log_in: LogIn, mei: User) -> None:
    client = log_in(mei)
    city, walk = learn(mei, "city: Berlin", "The user walked.")
    page = client.get(LIST).content.decode()
    for memory, changed in ((city, {"key": "city", "value": "Bonn", "category": "fact", "confidence": "1"}),
                            (walk, {"content": "The user ran.", "tags": ""})):  # fmt: skip
        editor = reverse(f"admin:memory_{memory._meta.model_name}_edit", args=[memory.pk]) + "?both=yes"
        assert f'hx-get="{editor}"' in page
        opened = client.get(editor)
        cancel = reverse(f"admin:memory_{memory._meta.model_name}_row", args=[memory.pk]) + "?both=yes"
        assert f'hx-get="{cancel}"' in opened.content.decode()
        answer = client.post(editor, {"version": memory.updated_at.isoformat(), **changed})
        assert 'class="memory__details"' in answer.content.decode()  # as the list of both shows it
        assert 'class="memory__details"' in client.get(cancel).content.decode()
    assert "Bonn" in client.get(LIST).content.decode()
    assert names(client) == ["The user ran.", "city"]


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
    monkeypatch.setattr(bulk, "PORTION", 1)
    monkeypatch.setattr(bulk, "SECONDS", -1.0)  # long work goes on from one kind to the other
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


def test_everything_is_cleared_once_the_name_is_typed(log_in: LogIn, mei: User) -> None:
    client = log_in(mei)
    learn(mei, "city: Berlin", "The user walked.")
    dialog = client.get(f"{LIST}clear/").content.decode()
    assert "Delete all 2 memories of mei?" in dialog
    assert "of both kinds" in dialog
    assert client.post(f"{LIST}clear/", {"name": "mai"}).status_code == 422
    assert toast(client.post(f"{LIST}clear/", {"name": "mei"}))["text"] == "2 memories were deleted."
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


@pytest.mark.long
def test_the_number_of_queries_is_the_same_for_every_size(
    log_in: LogIn, mei: User, django_assert_num_queries: Any
) -> None:
    client = log_in(mei)
    learn(mei, "tea: green", "The user drank tea.")
    for _size in ("few", "many"):
        # session, account, settings, newest change, counts, IDs, rows of each kind
        with django_assert_num_queries(8):
            client.get(LIST)
        # and how many there are, and whether the index of the first knows the words
        with django_assert_num_queries(10):
            client.get(LIST, {"q": "tea"})
        learn(mei, *(f"tea {number}: tea" if number % 2 else f"Drank tea {number}." for number in range(120)))


def test_only_ones_own_is_done_anything_to(log_in: LogIn, mei: User) -> None:
    memories = learn(mei, "city: Berlin", "The user walked.")
    client = log_in(UserFactory.create(username="lin"))
    client.post(f"{LIST}bulk/", {"action": "delete", "confirmed": "yes", "selected": [str(m.pk) for m in memories]})
    client.post(f"{LIST}clear/?user={mei.pk}", {"name": "mei"})
    assert shown(client.get(LIST, {"user": mei.pk})) == []
    assert (LongTermMemory.objects.count(), AtomicMemory.objects.count()) == (1, 1)
