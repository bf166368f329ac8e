"""Spaces in the panel: their page, and what the other pages show and do of them (P1, P4, P5)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import ApiToken, Space, User
from apps.accounts.spaces import COLOURS, create_space, get_colour
from apps.conversations.models import Session
from apps.conversations.sessions import create_session
from apps.memory.contexts import create_context
from apps.memory.entries import create_memory
from apps.memory.lifecycle import create_atomic_memory
from apps.memory.models import AtomicMemory, LongTermMemory, SharedContext
from apps.memory.spaces import move_memories
from tests.panel.conftest import browse, read, toast, undo
from tests.support.factories import UserFactory
from tests.support.judged import NOW, learn

pytestmark = [pytest.mark.django_db, pytest.mark.spec("P4")]

SPACES = "/admin/accounts/space/"
LIST = "/admin/memories/"


@pytest.fixture
def novel(mei: User) -> Space:
    return create_space(user=mei, name="Novel")


@pytest.fixture
def garden(mei: User) -> Space:
    return create_space(user=mei, name="Garden", kind="assistant")


def remember(user: User, key: str, value: str = "value", *, space: Space | None = None) -> LongTermMemory:
    memory, _action = create_memory(
        user=user.within(space.pk if space else None), category="fact", key=key, value=value, now=NOW
    )
    return memory


def place(memory: Any) -> Space | None:
    memory.refresh_from_db()
    return memory.space


@pytest.mark.spec("P1")
def test_spaces_are_made_edited_and_archived_and_a_name_is_had_once(client: Client, mei: User) -> None:
    assert "Projects, assistants and characters" in read(client, SPACES)
    given = {"name": " Novel ", "kind": "character", "instructions": "You are Ahab.", "learns_to": "everywhere"}
    assert client.post(f"{SPACES}add/", given).status_code == 302
    space = Space.objects.get(user=mei)
    assert (space.name, space.kind, space.learns_to, space.archived) == ("Novel", "character", "everywhere", False)
    refused = client.post(f"{SPACES}add/", given | {"name": "NOVEL"})
    assert "Another space already has this name." in refused.content.decode()
    assert client.post(f"{SPACES}{space.pk}/change/", given | {"name": "Book", "archived": "on"}).status_code == 302
    space.refresh_from_db()
    assert (space.name, space.archived) == ("Book", True)
    client.post(f"{SPACES}{space.pk}/archive/")
    assert not Space.objects.get(pk=space.pk).archived
    assert get_colour(space) in COLOURS
    assert f"space--{get_colour(space)}" in read(client, SPACES)


CHIP = 'chip--amber">remembering paused'


@pytest.mark.spec("D5")
def test_remembering_is_paused_and_resumed_on_a_card_and_on_the_page_of_a_conversation(
    client: Client, mei: User, novel: Space
) -> None:
    session = create_session(user=mei.within(novel.pk), title="Chapter one")
    talk, talks = f"/admin/conversations/session/{session.pk}", "/admin/conversations/session/"
    assert CHIP not in read(client, talks)
    assert client.post(f"{SPACES}{novel.pk}/pause/").status_code == 302
    assert CHIP in read(client, SPACES)
    assert CHIP in read(client, talks)
    assert "remembering paused: this space" in read(client, f"{talk}/change/")
    client.post(f"{SPACES}{novel.pk}/pause/")
    assert client.post(f"{talk}/pause/").status_code == 302
    assert "remembering paused: this conversation" in read(client, f"{talk}/change/")
    assert browse(UserFactory.create()).post(f"{talk}/pause/").status_code == 404
    session.refresh_from_db()
    assert session.paused is True
    client.post(f"{talk}/pause/")
    assert "remembering paused:" not in read(client, f"{talk}/change/")


def test_a_space_is_deleted_with_what_is_in_it_or_without(
    client: Client, mei: User, novel: Space, garden: Space
) -> None:
    hero, hen = remember(mei, "hero", space=novel), remember(mei, "hen", space=garden)
    create_session(user=mei.within(novel.pk), title="Chapter one")
    asks = read(client, f"{SPACES}{novel.pk}/delete/")
    assert "1 long-term memory" in asks
    assert "1 conversation" in asks
    for wrong in ({"memories": "erase", "confirm": "Nov"}, {"memories": ""}, {"memories": "move", "to": str(novel.pk)}):
        assert client.post(f"{SPACES}{novel.pk}/delete/", wrong).status_code == 422
    receipt = client.post(f"{SPACES}{novel.pk}/delete/", {"memories": "move", "to": str(garden.pk)}).content.decode()
    assert "The space Novel was deleted." in receipt
    assert "A check found nothing left in the space." in receipt
    assert place(hero) == garden
    erased = client.post(f"{SPACES}{garden.pk}/delete/", {"memories": "erase", "confirm": "Garden"}).content.decode()
    assert "2 long-term memories" in erased
    assert not LongTermMemory.objects.filter(pk__in=[hero.pk, hen.pk]).exists()
    assert not Session.objects.exists()


def test_the_list_of_memories_shows_and_filters_by_space(client: Client, mei: User, novel: Space) -> None:
    remember(mei, "hero", space=novel)
    remember(mei, "city")
    create_atomic_memory(user=mei.within(novel.pk), content="It rains.", now=NOW)

    def keys(**given: str) -> set[str]:
        rows = client.get(LIST, given).context["page"].rows
        return {getattr(row.memory, "key", "") for row in rows}

    assert keys() == {"hero", "city", ""}
    assert keys(space=str(novel.pk)) == {"hero", ""}
    assert keys(space="none") == {"city"}
    assert f"chip--space space--{get_colour(novel)}" in read(client, LIST)


def test_many_are_moved_and_moved_back_and_what_is_there_already_stays(client: Client, mei: User, novel: Space) -> None:
    hero, city, rain = (
        remember(mei, "hero"), remember(mei, "city"), create_atomic_memory(user=mei, content="It rains.", now=NOW)[0]
    )  # fmt: skip
    remember(mei, "city", "Oz", space=novel)
    chosen = {"action": "move", "selected": [str(row.pk) for row in (hero, city, rain)]}
    response = client.post(f"{LIST}bulk/", {**chosen, "space": str(novel.pk)})
    assert toast(response)["text"] == "2 memories were moved. 1 stays where it is: the same is there already."
    assert [place(row) for row in (hero, city, rain)] == [novel, None, novel]
    assert undo(client, response).status_code == 204
    assert [place(row) for row in (hero, rain)] == [None, None]
    theirs = create_space(user=UserFactory.create(), name="Theirs")
    assert client.post(f"{LIST}bulk/", {**chosen, "space": str(theirs.pk)}).status_code == 400
    assert client.post(f"{LIST}bulk/", {**chosen, "space": ""}).status_code == 400


def test_one_is_moved_on_its_page_and_made_known_everywhere(client: Client, mei: User, novel: Space) -> None:
    hero = remember(mei, "hero", space=novel)
    address = f"/admin/memory/longtermmemory/{hero.pk}/"
    assert "Make it known everywhere" in read(client, f"{address}change/")
    assert "done=moved" in client.post(f"{address}move/", {"space": "none"}).headers["Location"]
    assert place(hero) is None
    history = read(client, f"{address}change/")
    assert "<del>Novel</del>" in history
    assert "<ins>everywhere</ins>" in history
    remember(mei, "hero", "Bo", space=novel)
    assert client.post(f"{address}move/", {"space": str(novel.pk)}).status_code == 409
    theirs = create_space(user=UserFactory.create(), name="Theirs")
    assert client.post(f"{address}move/", {"space": str(theirs.pk)}).status_code == 404
    assert place(hero) is None


def test_by_hand_a_memory_is_made_in_a_space_and_is_updated_there(client: Client, mei: User, novel: Space) -> None:
    add = "/admin/memory/longtermmemory/add/"
    assert 'name="space"' in read(client, add)
    given = {"category": "fact", "key": "hero", "value": "Ada", "confidence": "1"}
    client.post(add, given | {"space": str(novel.pk)})
    hero = LongTermMemory.objects.get(user=mei)
    assert hero.space == novel
    client.post(f"/admin/memory/longtermmemory/{hero.pk}/supersede/", {"value": "Bo"})
    assert LongTermMemory.objects.get(status="active").space == novel
    theirs = create_space(user=UserFactory.create(), name="Theirs")
    assert client.post(add, given | {"key": "x", "space": str(theirs.pk)}).status_code == 422


def test_staff_make_a_memory_in_a_space_of_its_owner_only(client: Client, root: User) -> None:
    own, li = create_space(user=root, name="Own"), UserFactory.create(username="li")
    given = {"owner": "li", "content": "It rains.", "space": str(own.pk)}
    response = client.post("/admin/memory/atomicmemory/add/", given)
    assert response.status_code == 422
    assert "This space does not exist." in response.content.decode()
    assert not AtomicMemory.objects.filter(user=li).exists()


def test_contexts_conversations_summaries_and_changes_name_and_filter_by_space(
    client: Client, mei: User, novel: Space
) -> None:
    client.post(f"{reverse('admin:memory_sharedcontext_add')}", {"title": "Case", "content": "x", "space": novel.pk})
    assert SharedContext.objects.get(user=mei).space == novel
    create_context(user=mei, title="Outside", content="x", now=timezone.now())
    create_session(user=mei.within(novel.pk), title="Chapter one")
    create_session(user=mei, title="Small talk")
    hero = remember(mei, "hero")
    move_memories(user=mei, ids=[hero.pk], space_id=novel.pk, now=timezone.now())
    for name, inside, outside in (
        ("memory_sharedcontext", ">Case<", ">Outside<"),
        ("conversations_session", "Chapter one", "Small talk"),
    ):
        address = reverse(f"admin:{name}_changelist")
        assert "chip--space" in read(client, address)
        for given, shown, hidden in ((str(novel.pk), inside, outside), ("none", outside, inside)):
            page = read(client, address, space=given)
            assert shown in page
            assert hidden not in page
    assert "<del>everywhere</del>" in read(client, "/admin/memory/change/")
    assert "<ins>Novel</ins>" in read(client, "/admin/memory/change/", space=str(novel.pk))
    assert "Novel" in read(client, "/admin/")
    assert client.get("/admin/summaries/sessionsummary/", {"space": "none"}).status_code == 200


def test_a_conversation_is_moved_with_what_was_learned_in_it(client: Client, mei: User, novel: Space) -> None:
    session = create_session(user=mei, title="Chapter one")
    hero = create_memory(user=mei, category="fact", key="hero", value="Ada", session_id=session.pk, now=NOW)[0]
    address = f"/admin/conversations/session/{session.pk}/"
    assert "Move to space" in read(client, f"{address}change/")
    client.post(f"{address}move/", {"space": str(novel.pk)})
    assert (place(session), place(hero)) == (novel, novel)
    assert client.post(f"{address}move/", {"space": "nonsense"}).status_code == 404
    assert browse(UserFactory.create()).post(f"{address}move/", {"space": "none"}).status_code == 404
    assert place(session) == novel


@pytest.mark.spec("P3")
def test_the_review_queue_says_where_a_verdict_on_what_is_everywhere_comes_from(
    client: Client, mei: User, novel: Space
) -> None:
    create_atomic_memory(user=mei.within(None), content="The user lives in Leeds.", now=NOW - timedelta(days=1))
    learn(mei.within(novel.pk), "The user lives in York.", "contradicts", "The user lives in Leeds.")
    page = read(client, "/admin/review/")
    assert "It was said in the space Novel and would end something that is known everywhere." in page
    assert "chip--space" in page


def test_the_timeline_says_where_a_memory_is(client: Client, mei: User, novel: Space) -> None:
    remember(mei, "hero", space=novel)
    remember(mei, "city")
    assert read(client, "/admin/timeline/").count("chip--space") == 1


@pytest.mark.spec("P2")
def test_the_playground_looks_from_a_space(client: Client, mei: User, novel: Space, garden: Space) -> None:
    remember(mei, "hero", "Ada", space=novel)
    remember(mei, "heroine", "Eve", space=garden)
    message = {"message": "Who is the hero?"}
    assert "Ada" not in client.post("/admin/playground/try/", message).content.decode()
    inside = client.post("/admin/playground/try/", message | {"space": str(novel.pk)}).content.decode()
    assert "Ada" in inside
    assert "Eve" not in inside
    session = create_session(user=mei.within(garden.pk))
    there = client.post("/admin/playground/try/", message | {"session": str(session.pk)}).content.decode()
    assert "Ada" not in there
    assert client.post("/admin/playground/try/", message | {"space": "of nobody"}).status_code == 404


@pytest.mark.spec("P5")
def test_a_token_is_bound_to_a_space(client: Client, mei: User, novel: Space) -> None:
    given = {"name": "agent", "scope": "read", "space": str(novel.pk)}
    assert client.post("/admin/accounts/apitoken/add/", given).status_code == 200
    assert ApiToken.objects.get(user=mei).space == novel
    assert "Novel" in read(client, "/admin/accounts/apitoken/")
    theirs = create_space(user=UserFactory.create(), name="Theirs")
    assert client.post("/admin/accounts/apitoken/add/", given | {"space": str(theirs.pk)}).status_code == 400


def test_lists_take_as_many_queries_with_many_spaces_as_with_few(client: Client, mei: User, novel: Space) -> None:
    def fill(spaces: list[Space]) -> None:
        for space in spaces:
            memory = remember(mei, f"key of {space.name}")
            remember(mei, "hero", space=space)
            move_memories(user=mei, ids=[memory.pk], space_id=space.pk, now=timezone.now())
            create_session(user=mei.within(space.pk))

    def count() -> list[int]:
        counts = []
        for address in (SPACES, LIST, "/admin/memory/change/", "/admin/conversations/session/", "/admin/"):
            with CaptureQueriesContext(connection) as captured:
                read(client, address)
            counts.append(len(captured))
        return counts

    fill([novel])
    few = count()
    fill([create_space(user=mei, name=f"space {number}") for number in range(5)])
    assert count() == few
