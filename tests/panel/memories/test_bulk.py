"""What is done with many memories at once, and deleting (M3, L6)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models import Count
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.memory.judge.review import reject_memory
from apps.memory.kinds import ATOMIC
from apps.memory.lifecycle import create_atomic_memory
from apps.memory.models import AtomicMemory, Change, ForgottenKey, LongTermMemory
from apps.panel.memories import lists
from tests.panel.conftest import NOW, events, remember, toast, undo
from tests.support.factories import UserFactory

pytestmark = [
    pytest.mark.spec("M3"),
    pytest.mark.long_except("test_deleting_asks_first_and_is_final", "test_actions_pass_over_what_is_somebody_elses"),
]

LIST = "/admin/memories/"
ROWS = "/admin/memory/longtermmemory/"


def post(client: Client, action: str, *memories: Any, query: str = "", **fields: str) -> Any:
    ids = [str(getattr(memory, "id", memory)) for memory in memories]
    return client.post(f"{LIST}bulk/{query}", {"action": action, "selected": ids, **fields})


def go_on(response: Any) -> dict[str, str]:
    """Return the fields with which the page sends an action on."""
    progress = response.context["progress"]
    fields = {name: str(getattr(progress, name)) for name in ("done", "failed", "stage", "after")}
    return {**fields, "operations": response.context["operations"]}


def keys() -> set[str]:
    return set(LongTermMemory.objects.values_list("key", flat=True))


@pytest.mark.spec("L6")
def test_deleting_asks_first_and_is_final(client: Client, mei: User) -> None:
    tea, cat = remember(mei, "tea"), remember(mei, "cat")
    dialog = post(client, "delete", tea).content.decode()
    assert "Delete 1 memory?" in dialog
    assert "This cannot be undone." in dialog
    assert keys() == {"tea", "cat"}
    response = post(client, "delete", tea, confirmed="yes")
    assert toast(response) == {"text": "1 memory was deleted.", "operations": "", "error": False}
    assert events(response)["panel:reload"]
    assert events(response)["panel:close"]
    assert keys() == {"cat"}
    assert ForgottenKey.objects.filter(user=mei).exists()
    assert str(cat.id) not in dialog


def test_everything_that_matches_goes_on_every_page_and_nothing_else(
    client: Client, mei: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "PORTION", 20)
    for number in range(70):
        remember(mei, f"key {number}", category="pattern" if number < 65 else "fact")
    remember(UserFactory.create(), "theirs", category="pattern")
    until = timezone.now()
    remember(mei, "later", category="pattern", now=until + timedelta(seconds=5))
    fields = {"all": "1", "until": until.isoformat()}
    dialog = post(client, "delete", query="?category=pattern", **fields)
    assert dialog.context["total"] == 65
    response = post(client, "delete", query="?category=pattern", confirmed="yes", **fields)
    assert toast(response)["text"] == "65 memories were deleted."
    assert keys() == {*(f"key {number}" for number in range(65, 70)), "later", "theirs"}


def test_long_work_tells_how_far_it_is_and_goes_on(client: Client, mei: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "PORTION", 2)
    monkeypatch.setattr(lists, "SECONDS", -1.0)
    memories = [remember(mei, f"key {number}") for number in range(5)]
    done = []
    fields = {"value": "pattern", "total": "5"}
    while (response := post(client, "category", *memories, **fields)).status_code == 200:
        done.append(response.context["progress"].done)
        fields |= go_on(response)
    assert done == [2, 4, 5]  # then the other kind, of which there is none
    assert toast(response)["text"] == "Category changed for 5 memories."
    assert set(LongTermMemory.objects.values_list("category", flat=True)) == {"pattern"}
    undo(client, response)
    assert set(LongTermMemory.objects.values_list("category", flat=True)) == {"fact"}


@pytest.mark.spec("L7")
def test_many_are_undone_by_a_short_header_and_nothing_of_others_or_of_before(
    client: Client, mei: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "SECONDS", -1.0)
    count = 200

    def wait(owner: User, *, many: int) -> list[AtomicMemory]:
        texts = [f"The user has {number} cats." for number in range(many)]
        return AtomicMemory.objects.bulk_create(
            AtomicMemory(user=owner, content=text, normalized_content=text, status="pending", terms=[], term_count=0)
            for text in texts
        )

    memories = wait(mei, many=count + 1)
    fields = go_on(post(client, "reject", alone := memories.pop()))
    post(client, "reject", alone, **fields)
    fields, other = {}, UserFactory.create()
    while (response := post(client, "reject", *memories, **fields)).status_code == 200:
        fields = go_on(response)
        reject_memory(ATOMIC, user=other, memory_id=wait(other, many=1)[0].id, now=timezone.now())
    assert toast(response)["text"] == f"{count} memories were rejected."
    assert Change.objects.filter(user=mei).values("operation").distinct().count() == count + 1
    assert len(response.headers["HX-Trigger"]) < 300
    assert toast(undo(client, response))["text"] == "Undone."
    assert Change.objects.filter(action="undo").values("operation").distinct().count() == count
    assert dict(AtomicMemory.objects.filter(user=mei).values_list("status").annotate(Count("id"))) == {
        "pending": count,
        "rejected": 1,
    }
    assert not AtomicMemory.objects.filter(user=other).exclude(status="rejected").exists()


@pytest.mark.spec("M7")
def test_actions_pass_over_what_is_somebody_elses(client: Client, mei: User) -> None:
    theirs = remember(UserFactory.create(), "theirs")
    assert toast(post(client, "delete", theirs))["error"]
    post(client, "delete", theirs, confirmed="yes")
    post(client, "delete", query=f"?user={theirs.user_id}", all="1", confirmed="yes")
    assert toast(post(client, "category", theirs, value="pattern"))["text"] == "Category changed for 0 memories."
    theirs.refresh_from_db()
    assert theirs.category == "fact"


@pytest.mark.parametrize("action", ["", "forget", "category"])
def test_unknown_actions_are_refused(client: Client, mei: User, action: str) -> None:
    memory = remember(mei, "tea")
    assert post(client, action, memory, value="mood").status_code == 400
    assert client.get(f"{LIST}bulk/").status_code == 405


@pytest.mark.parametrize("kind", ["long_term", "atomic"])
def test_clearing_everything_takes_the_name(client: Client, mei: User, kind: str) -> None:
    other = UserFactory.create(username="li")
    for user in (mei, other):
        remember(user, "city", "Berlin")
        remember(user, "city", "Paris")
        for content in ("用户喝茶。", "The user runs."):
            create_atomic_memory(user=user, content=content, now=NOW)
    model: Any = LongTermMemory if kind == "long_term" else AtomicMemory
    address = f"{LIST}clear/?kind={kind}"
    assert "Delete all 2 memories of mei?" in client.get(address).content.decode()
    assert client.post(address, {"name": "Mei"}).status_code == 422
    assert client.post(f"{address}&user={other.pk}", {"name": "li"}).status_code == 422
    assert model.objects.count() == 4
    response = client.post(address, {"name": "mei"})
    assert toast(response)["text"] == "2 memories were deleted."
    assert set(model.objects.values_list("user", flat=True)) == {other.pk}
    client.force_login(UserFactory.create(is_staff=True))
    assert client.post(f"{address}&user={other.pk}", {"name": "li"}).status_code == 204
    assert not model.objects.exists()


@pytest.mark.spec("R3")
def test_djangos_log_of_the_admin_is_left_out_of_it(client: Client, mei: User) -> None:
    client.post(f"{ROWS}add/", {"category": "fact", "key": "城市", "value": "北京", "confidence": "1"})
    memory = LongTermMemory.objects.get()
    data = {
        "version": memory.updated_at.isoformat(),
        "category": "fact",
        "key": "城市",
        "value": "上海",
        "confidence": "1",
    }
    client.post(f"{ROWS}{memory.id}/edit/", data)
    post(client, "delete", memory, confirmed="yes")
    assert not LongTermMemory.objects.exists()
    assert not LogEntry.objects.exists()


@pytest.mark.spec("L6")
def test_what_nobody_selected_is_not_deleted_once_all_that_a_search_found_is(client: Client, mei: User) -> None:
    """Where the index knows no such word any more, the same search finds parts of words."""
    remember(mei, "cat")
    remember(mei, "education")
    dialog = post(client, "delete", query="?q=cat", all="1").content.decode()
    assert "Delete 1 memory?" in dialog
    confirmed = {"all": "1", "by_index": "1", "confirmed": "yes"}
    assert 'name="by_index" value="1"' in dialog
    for _twice in range(2):
        post(client, "delete", query="?q=cat", **confirmed)
    assert keys() == {"education"}


@pytest.mark.django_db
@pytest.mark.spec("L10")
def test_memories_are_muted_found_by_the_filter_and_unmuted_with_undo(client: Client) -> None:
    user = UserFactory()
    client.force_login(user)
    first, second = remember(user, "home"), remember(user, "job")
    content, _new = create_atomic_memory(user=user, content="I ski.", now=NOW)
    assert toast(post(client, "mute", first, content))["text"] == "2 memories were muted."
    page = client.get(f"{LIST}?muted=yes")
    assert {row.memory.pk for row in page.context["page"].rows} == {first.pk, content.pk}
    assert "notifications_off" in page.content.decode()
    assert client.get(f"{ROWS}{first.pk}/change/").content.decode().count("Unmute") == 1
    assert [row.memory.pk for row in client.get(f"{LIST}?muted=no").context["page"].rows] == [second.pk]
    assert toast(post(client, "mute", first))["text"] == "0 memories were muted."
    undo(client, post(client, "unmute", first))
    assert LongTermMemory.objects.get(pk=first.pk).muted
