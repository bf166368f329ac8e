"""The page of one memory: what it tells, to whom, and what is done from there (M2)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from apps.chat.models import Turn
from apps.conversations.models import Message, Session
from apps.memory import kinds as memory_kinds
from apps.memory.lifecycle import create_atomic_memory, update_memory
from apps.memory.models import AtomicMemory, Change, LongTermMemory
from apps.panel.memories.story import count_weeks
from tests.panel.waiting import wait_long_term
from tests.support.entries import NOW, entry, record
from tests.support.factories import LongTermMemoryFactory, SessionFactory

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.spec("M2", "L7", "M7"),
    pytest.mark.long_except("test_everything_is_told", "test_an_earlier_state_is_restored"),
]

LONG_TERM, ATOMIC = "admin:memory_longtermmemory", "admin:memory_atomicmemory"


def path(memory: Any, part: str = "change") -> str:
    base = LONG_TERM if isinstance(memory, LongTermMemory) else ATOMIC
    return reverse(f"{base}_{part}", args=[memory.pk])


def show(client: Client, memory: Any) -> str:
    response = client.get(path(memory))
    assert response.status_code == 200
    return str(response.content.decode())


def edit(memory: LongTermMemory, **fields: Any) -> dict[str, Any]:
    form = {"category": memory.category, "key": memory.key, "value": memory.value, "confidence": memory.confidence}
    return {"version": memory.updated_at.isoformat(), **form, **fields}


def say(session: Session, *contents: str) -> list[Message]:
    return [
        Message.objects.create(
            session=session, user=session.user, role="user" if place % 2 == 0 else "assistant", content=content,
            position=place,
        )
        for place, content in enumerate(contents)
    ]  # fmt: skip


def use(session: Session, memory: Any, *, times: int = 1, score: float = 0.625, **kept: Any) -> None:
    """Turns that used a memory, as the chat records them."""
    start = session.messages.count()
    for place in range(start, start + 2 * times, 2):
        asked, reply = (
            Message.objects.create(
                session=session, user=session.user, role=role, content=f"{role} {place}", position=place + offset
            )
            for offset, role in enumerate(("user", "assistant"))
        )
        Turn.objects.create(
            assistant_message=reply, user_message=asked, session=session, user=session.user, model="m",
            memories_used=[
                {"id": str(uuid4()), "kind": "atomic", "score": 0.1},
                {"id": str(memory.pk), "kind": "long_term", "score": score, "keyword_score": 0.5, **kept},
            ],
        )  # fmt: skip


def test_everything_is_told(client: Client, mei: User) -> None:
    memory = LongTermMemoryFactory(user=mei, key="城市", value={"名": "北京", "c": [1, 2]}, confidence=0.8)
    shown = show(client, memory)
    for text in ("城市", "&quot;名&quot;: &quot;北京&quot;", "80%", str(memory.pk)):
        assert text in shown
    assert "No turn has used it yet" in shown
    assert "Not from a conversation" in shown


def test_where_it_came_from_with_the_lines_around(client: Client, mei: User) -> None:
    session = SessionFactory(user=mei)
    lines = say(session, "一", "two", "三", "我喜欢蓝色", "noted", "六", "seven")
    memory = LongTermMemoryFactory(user=mei, key="喜欢的颜色", value="蓝色")
    LongTermMemory.objects.filter(pk=memory.pk).update(message=lines[3], session=session)
    origin = client.get(path(memory)).context["origin"]
    assert ["".join(text for _found, text in line.pieces) for line in origin.lines] == [
        "two", "三", "我喜欢蓝色", "noted", "六",
    ]  # fmt: skip
    assert [line.is_source for line in origin.lines] == [False, False, True, False, False]
    assert (True, "喜欢蓝色") in origin.lines[2].pieces
    assert reverse("admin:conversations_session_change", args=[session.pk]) in show(client, memory)


def test_the_turns_that_used_it_and_with_what_score(client: Client, mei: User) -> None:
    session = SessionFactory(user=mei, title="Colours")
    memory, other = LongTermMemoryFactory(user=mei), LongTermMemoryFactory(user=mei)
    use(session, other)
    use(session, memory, times=12)
    uses = client.get(path(memory)).context["uses"]
    assert (uses.total, len(uses.rows), uses.is_more) == (12, 10, True)
    assert (uses.rows[0].snippet, uses.rows[0].score) == ("user 24", 0.625)
    assert [(part.name, value) for part, value in uses.rows[0].components] == [("keyword", 0.5)]
    more = client.get(path(memory, "uses"), {"page": "2"})
    assert [row.snippet for row in more.context["uses"].rows] == ["user 4", "user 2"]
    assert client.get(path(memory, "uses"), {"page": "x"}).status_code == 200
    assert sum(week.count for week in uses.weeks) == 12
    assert uses.weeks[-1].count == 12


def test_weeks_begin_on_monday_and_the_busiest_is_whole() -> None:
    times = [NOW, NOW - timedelta(days=4), NOW - timedelta(days=5), NOW - timedelta(weeks=30)]
    weeks = count_weeks(times, now=NOW)
    assert len(weeks) == 26
    assert [(week.starts.isoformat(), week.count, week.share) for week in weeks[-2:]] == [
        ("2026-11-09", 1, 0.5),
        ("2026-11-16", 2, 1.0),
    ]


def test_editing_leads_back_and_offers_to_undo(client: Client, mei: User) -> None:
    memory = LongTermMemoryFactory(user=mei, key="城市", value="上海")
    response = client.post(path(memory), edit(memory, value="北京"))
    (change,) = Change.objects.filter(object_id=memory.pk, action="edit")
    assert (response.status_code, response["Location"]) == (
        302,
        f"{path(memory)}?done=saved&operations={change.operation}",
    )
    assert change.actor == mei
    assert change.origin == "panel"
    shown = client.get(response["Location"]).content.decode()
    assert f'data-operations="{change.operation}"' in shown
    unchanged = client.post(path(memory), edit(LongTermMemory.objects.get(pk=memory.pk)))
    assert unchanged["Location"] == path(memory)


def test_an_earlier_state_is_restored(client: Client, mei: User) -> None:
    memory = LongTermMemoryFactory(user=mei, key="城市", value="上海", confidence=0.9)
    update_memory(
        memory_kinds.LONG_TERM, user=mei, memory_id=memory.pk, changes={"value": "北京", "category": "fact"}, now=NOW
    )
    first = Change.objects.filter(object_id=memory.pk).earliest("pk")
    response = client.post(path(memory, "restore"), {"change": first.pk})
    memory.refresh_from_db()
    assert (memory.value, memory.category) == ("上海", "preference")
    assert "done=restored" in response["Location"]
    assert Change.objects.filter(object_id=memory.pk).latest("pk").action == "edit"
    strange = LongTermMemoryFactory(user=mei, key="other")
    theirs = Change.objects.get(object_id=strange.pk)
    assert client.post(path(memory, "restore"), {"change": theirs.pk}).status_code == 404


def test_history_is_readable_and_can_hold_again(client: Client, mei: User) -> None:
    old = LongTermMemoryFactory(user=mei, key="城市", value="上海")
    new = LongTermMemoryFactory(user=mei, key="城市", value="北京")
    old.refresh_from_db()
    assert client.get(path(old)).context["form"] is None
    assert client.post(path(old), edit(old, value="广州")).status_code == 403
    assert [row.memory.pk for row in client.get(path(old)).context["chain"]] == [new.pk, old.pk]
    assert [row.memory.pk for row in client.get(path(new)).context["chain"]] == [new.pk, old.pk]
    response = client.post(path(old, "restore"))
    assert "done=back" in response["Location"]
    assert LongTermMemory.objects.get(status="active").value == "上海"


def test_undoing_from_the_history(client: Client, mei: User) -> None:
    memory = LongTermMemoryFactory(user=mei, key="城市", value="上海")
    update_memory(memory_kinds.LONG_TERM, user=mei, memory_id=memory.pk, changes={"value": "北京"}, now=NOW)
    edited = Change.objects.get(object_id=memory.pk, action="edit")
    client.post(path(memory, "undo"), {"operation": edited.operation})
    memory.refresh_from_db()
    assert memory.value == "上海"
    again = client.post(path(memory, "undo"), {"operation": edited.operation})
    assert (again.status_code, "This change was already undone." in again.content.decode()) == (409, True)
    assert client.post(path(memory, "undo"), {"operation": uuid4()}).status_code == 404
    assert client.post(path(memory, "undo"), {"operation": "x"}).status_code == 404


def test_superseding_by_a_new_value(client: Client, mei: User) -> None:
    memory = LongTermMemoryFactory(user=mei, key="城市", value="上海")
    response = client.post(path(memory, "supersede"), {"value": '["北京", "广州"]'})
    new = LongTermMemory.objects.get(user=mei, status="active")
    assert new.value == ["北京", "广州"]
    assert response["Location"].startswith(path(new))
    same = client.post(path(new, "supersede"), {"value": '["北京", "广州"]'})
    assert (same.status_code, "The memory already says this." in same.content.decode()) == (422, True)
    assert client.post(path(new, "supersede"), {"value": "{"}).status_code == 422
    assert client.post(path(memory, "supersede"), {"value": "x"}).status_code == 403


@pytest.mark.parametrize(("decision", "status"), [("accept", "active"), ("reject", "rejected")])
def test_deciding_about_what_waits(client: Client, mei: User, decision: str, status: str) -> None:
    memory = wait_long_term(mei, "城市", "北京")
    shown = show(client, memory)
    assert "Waiting for review" in shown
    assert "below your auto-accept threshold" in shown
    client.post(path(memory, "decide"), {"decision": decision})
    memory.refresh_from_db()
    assert memory.status == status
    assert client.post(path(memory, "decide"), {"decision": decision}).status_code == 409
    assert client.post(path(memory, "decide"), {"decision": "burn"}).status_code == 404


def test_merging_two(client: Client, mei: User) -> None:
    kept = LongTermMemoryFactory(user=mei, key="过敏", value="虾")
    other = LongTermMemoryFactory(user=mei, key="不能吃", value="花生")
    found = client.post(path(kept, "merge"), {"q": "花生"})
    assert [row.memory.pk for row in found.context["rows"]] == [other.pk]
    preview = client.post(path(kept, "merge"), {"with": other.pk})
    assert preview.context["text"] == "- 虾\n- 花生"
    assert LongTermMemory.objects.filter(status="active").count() == 2
    bad = client.post(path(kept, "merge"), {"with": other.pk, "text": "["})
    assert bad.status_code == 422
    response = client.post(path(kept, "merge"), {"with": other.pk, "text": preview.context["text"]})
    assert response["Location"].startswith(f"{path(kept)}?done=merged")
    assert LongTermMemory.objects.get(status="active").value == ["虾", "花生"]
    assert client.get(path(other, "merge")).status_code == 403


@pytest.mark.spec("L6")
def test_deleting_names_the_copies_and_removes_them_when_asked(client: Client, mei: User) -> None:
    memory = LongTermMemoryFactory(user=mei, key="城市", value="北京市朝阳区")
    atomic, _created = create_atomic_memory(user=mei, content="北京市朝阳区", now=NOW)
    asked = client.get(path(memory, "delete"))
    assert [copy.id for copy in asked.context["copies"]] == [atomic.pk]
    assert LongTermMemory.objects.filter(pk=memory.pk).exists()
    assert client.post(path(memory, "delete"), {"post": "yes", "copies": "yes"}).status_code == 302
    assert not LongTermMemory.objects.exists()
    assert not AtomicMemory.objects.exists()


@pytest.mark.parametrize("count", [2, 300])
def test_many_uses_and_changes_take_no_more_queries(
    client: Client, mei: User, count: int, django_assert_max_num_queries: Any
) -> None:
    session = SessionFactory(user=mei)
    memory = LongTermMemoryFactory(user=mei, key="城市", value="0")
    for number in range(20):
        memory = LongTermMemoryFactory(user=mei, key="城市", value=str(number))
    (message,) = say(session, "我住在这里")
    LongTermMemory.objects.filter(pk=memory.pk).update(message=message, session=session)
    Change.objects.bulk_create(
        Change(
            user=mei, actor=mei, origin="panel", action="edit", kind="long_term", object_id=memory.pk,
            before={"value": number}, after={"value": number + 1},
        )
        for number in range(count)
    )  # fmt: skip
    use(session, memory, times=min(count, 30))
    with django_assert_max_num_queries(20):
        assert client.get(path(memory)).status_code == 200
    waiting = wait_long_term(mei, "谁", "北京")
    with django_assert_max_num_queries(20):
        assert client.get(path(waiting)).status_code == 200


def test_each_item_of_a_list_tells_its_origin_and_its_uses(client: Client, mei: User) -> None:
    session = SessionFactory(user=mei)
    said = say(session, "I like tea", "Noted", "and jam", "Noted")
    for message, item, minutes in ((said[0], "tea", 0), (said[2], "jam", 5)):
        likes = entry("likes", [item], category="preference", mode="add")
        record(mei, likes, message=message, at=NOW + timedelta(minutes=minutes), text="", threshold=0.5)
        use(session, LongTermMemory.objects.get(user=mei, status="active"))
    memory = LongTermMemory.objects.get(user=mei, status="active")
    update_memory(
        memory_kinds.LONG_TERM,
        user=mei,
        memory_id=memory.id,
        changes={"value": ["tea", "jam", "salt"]},
        now=timezone.now(),
    )
    items = client.get(path(memory)).context["items"]
    assert [item.text for item in items] == ["tea", "jam", "salt"]
    assert [item.source.message_id for item in items] == [said[0].id, said[2].id, None]
    assert [item.uses for item in items] == [2, 2, 0]
    page = show(client, memory)
    assert "[&quot;" not in page
    assert 'class="chip chip--item"><bdi>jam' in page


def test_an_item_is_removed_and_comes_back_with_undo(client: Client, mei: User) -> None:
    memory = LongTermMemoryFactory(user=mei, key="likes", value=["tea", "jam"])
    response = client.post(path(memory, "remove"), {"index": "0", "text": "tea"}, follow=True)
    memory.refresh_from_db()
    assert memory.value == ["jam"]
    assert client.post(path(memory, "remove"), {"index": "0", "text": "tea"}).status_code == 409
    operation = response.redirect_chain[-1][0].split("operations=")[1]
    client.post(path(memory, "undo"), {"operation": operation})
    memory.refresh_from_db()
    assert memory.value == ["tea", "jam"]
