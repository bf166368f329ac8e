"""The audit record in the admin site (L7)."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse

from apps.accounts.models import User
from apps.memory.changes.records import Author, get_author
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.kinds import LONG_TERM
from apps.memory.lifecycle import update_memory
from apps.memory.models import Change, LongTermMemory
from apps.panel.middleware import PanelAuthorMiddleware
from tests.support.factories import UserFactory
from tests.support.judged import learn

pytestmark = [
    pytest.mark.usefixtures("root"),
    pytest.mark.spec("L7"),
    pytest.mark.long_except("test_undoing_names_who_did_it"),
]

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
CHANGES = "admin:memory_change"


@pytest.fixture
def user() -> User:
    return UserFactory(username="li")


def create(user: User, value: str) -> LongTermMemory:
    return create_memory(user=user, category="fact", key="城市", value=value, now=NOW)[0]


def undo(client: Client, *changes: Change) -> Any:
    body = {"action": "undo_selected", "_selected_action": [change.pk for change in changes]}
    return client.post(reverse(f"{CHANGES}_changelist"), body, follow=True)


@pytest.mark.spec("A3", "L7")
def test_the_message_that_caused_a_change_is_shown_with_it(client: Client, user: User) -> None:
    learn(user, "The user works at <b>Bosch</b>.", days_ago=9)
    message = learn(user, "The user left Bosch.", "contradicts", "The user works at <b>Bosch</b>.")
    page = client.get(reverse(f"{CHANGES}_changelist")).content.decode()
    causes = re.findall(r'<blockquote class="change__cause".*?</span>(.*?)</blockquote>', page)
    assert causes == ["The user left Bosch.", "The user works at &lt;b&gt;Bosch&lt;/b&gt;."]
    message.delete()
    page = client.get(reverse(f"{CHANGES}_changelist")).content.decode()
    assert page.count("change__cause") == 1


def test_a_change_is_shown_as_differences(client: Client, user: User) -> None:
    memory = create(user, "<b>北京</b>")
    create(user, "上海")
    change = Change.objects.get(object_id=memory.id, action="supersede")
    page = client.get(reverse(f"{CHANGES}_change", args=[change.pk])).content.decode()
    lines = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page)
    assert [(label, re.findall(r"<(del|ins)>(.*?)</", told)) for label, told in lines] == [
        ("status", [("del", "active"), ("ins", "superseded")])
    ]
    created = Change.objects.get(object_id=memory.id, action="create")
    page = client.get(reverse(f"{CHANGES}_change", args=[created.pk])).content.decode()
    assert "&lt;b&gt;北京&lt;/b&gt;</ins>" in page


def test_undoing_names_who_did_it(client: Client, user: User, root: User) -> None:
    old, new = create(user, "北京"), create(user, "上海")
    change = Change.objects.get(object_id=new.id)
    undo(client, change)
    assert LongTermMemory.objects.get(id=old.id).status == "active"
    undone = Change.objects.filter(action="undo")
    assert {(row.user, row.actor, row.origin) for row in undone} == {(user, root, "panel")}


def test_several_are_undone_newest_first_and_what_cannot_is_told(client: Client, user: User) -> None:
    first, second = create(user, "北京"), create(user, "上海")
    changes = [Change.objects.get(object_id=memory.id, action="create") for memory in (first, second)]
    undo(client, *changes)
    assert set(LongTermMemory.objects.values_list("status", flat=True)) == {"rejected"}
    page = undo(client, *changes).content.decode()
    assert "This change was already undone." in page


@pytest.mark.parametrize(("path", "origin"), [("/admin/memory/", "panel"), ("/memory/long-term", "api")])
async def test_it_is_the_same_in_the_event_loop(path: str, origin: str) -> None:
    owner, staff = User(username="li"), User(username="staff")
    seen: list[Author] = []

    async def respond(_request: HttpRequest) -> HttpResponse:
        seen.append(get_author(owner))
        return HttpResponse()

    request = RequestFactory().get(path)
    request.user = staff
    await PanelAuthorMiddleware(respond)(request)
    assert seen == [Author(origin=Change.Origin(origin), actor=staff if origin == "panel" else owner)]
    assert get_author(owner).origin == "api"


def test_what_was_done_together_is_shown_and_undone_together(client: Client, user: User) -> None:
    old = create(user, "北京")
    new = create(user, "上海")
    response = client.get(reverse(f"{CHANGES}_changelist"))
    together, first = (operation for operation, _sources in response.context["operations"])
    assert [entry.change.object_id for entry in first.entries] == [old.id]
    assert {entry.change.object_id for entry in together.entries} == {old.id, new.id}
    assert together.can_be_undone
    answer = client.post(reverse("admin:undo"), {"operations": str(together.id)})
    assert answer.status_code == 204
    assert LongTermMemory.objects.get(id=old.id).status == "active"
    shown = client.get(reverse(f"{CHANGES}_changelist")).context["operations"]
    assert [(operation.first.undone_by is not None, operation.can_be_undone) for operation, _sources in shown] == [
        (False, True),
        (True, False),
        (False, True),
    ]


def search(client: Client, words: str, **filters: str) -> set[str]:
    """The actions and new values that the list shows for these words."""
    rows = client.get(reverse(f"{CHANGES}_changelist"), {"q": words, **filters}).context["cl"].result_list
    return {f"{row.action} {(row.after or row.before or {}).get('value')}" for row in rows}


def test_changes_are_found_by_words_before_and_after(client: Client, user: User) -> None:
    memory = create_memory(user=user, category="fact", key="城市", value="住在北京朝阳区", now=NOW)[0]
    update_memory(LONG_TERM, user=user, memory_id=memory.id, changes={"value": "Lives in Paris now"}, now=NOW)
    create_memory(user=user, category="preference", key="drink", value=["coffee", "绿茶"], now=NOW)
    assert search(client, "朝阳") == {"create 住在北京朝阳区", "edit Lives in Paris now"}  # before it was changed
    assert search(client, "paris LIVES") == {"edit Lives in Paris now"}
    assert search(client, "北京 paris") == {"edit Lives in Paris now"}
    assert search(client, "绿茶") == search(client, "drink coffee") == {"create ['coffee', '绿茶']"}
    assert search(client, "城市", action="create") == {"create 住在北京朝阳区"}
    for nothing in ("上海", "active", "replace", "%", "_", "' OR 1=1 --"):  # no names of states, no wildcards
        assert search(client, nothing) == set()
    assert len(search(client, str(memory.id))) == 2
    assert search(client, " ".join(["paris"] * 500)) == {"edit Lives in Paris now"}


def test_everybody_searches_their_own_changes_and_nothing_that_was_deleted(client: Client, user: User) -> None:
    memory, other = create(user, "北京"), UserFactory.create()
    create(other, "北京")
    client.force_login(user)
    assert search(client, "北京") == {"create 北京"}
    rows = client.get(reverse(f"{CHANGES}_changelist"), {"q": "北京"}).context["cl"].result_list
    assert {row.user for row in rows} == {user}
    assert search(client, str(Change.objects.get(user=other).operation)) == set()
    delete_memories(LONG_TERM, user=user, ids=[memory.id], now=NOW)
    assert search(client, "北京") == set()


def test_the_newest_changes_are_searched_and_others_where_filters_lead(
    client: Client, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.panel.changes.SEARCHED", 2)
    for value in ("first", "second", "third"):
        create_memory(user=user, category="fact", key=value, value=value, now=NOW)
    assert search(client, "second") == {"create second"}
    assert search(client, "first") == set()
    create(UserFactory.create(), "北京")
    assert search(client, "second", user__id__exact=str(user.pk)) == {"create second"}


def test_what_somebody_changed_who_was_deleted_is_not_the_assistants(client: Client, user: User) -> None:
    helper = User.objects.create_superuser(username="helper")
    create(user, "北京")
    Change.objects.update(actor=helper, origin=Change.Origin.PANEL)
    helper.delete()
    page = client.get(reverse(f"{CHANGES}_changelist")).content.decode()
    assert "Deleted user" in page
    assert "Assistant" not in page
