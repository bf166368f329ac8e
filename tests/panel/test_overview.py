"""The overview: whose figures it shows, that they are right, and what it costs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from apps.chat.models import Turn
from apps.conversations.models import Message, Session, Work
from apps.memory.contexts import create_context
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.kinds import LONG_TERM
from apps.memory.lifecycle import create_atomic_memory, update_memory
from apps.memory.models import Change, LongTermMemory
from apps.profile.models import ProfileProposal
from tests.support.factories import LongTermMemoryFactory, UserFactory

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.spec("M5", "M6"),
    pytest.mark.long_except("test_a_newcomer_is_told_what_to_do"),
]


def make_turns(user: User, *, number: int, memories: list[LongTermMemory], days_ago: int = 0, **fields: Any) -> None:
    """Replies of one session, each of which rested on these memories."""
    session = Session.objects.create(user=user)
    when = timezone.now() - timedelta(days=days_ago)
    messages = Message.objects.bulk_create(
        Message(session=session, user=user, role="assistant", content="好", position=position)
        for position in range(number)
    )
    used = [{"id": str(memory.id), "kind": "long_term", "score": 1.0} for memory in memories]
    values = {"emotion": {"primary": "happy"}, "timings": {"opening_ms": 20.0, "model_ms": 480.0}} | fields
    Turn.objects.bulk_create(
        Turn(
            assistant_message=message,
            session=session,
            user=user,
            model="m",
            memories_used=used,
            created_at=when,
            **values,
        )
        for message in messages
    )


def look(client: Client, **asked: Any) -> Any:
    response = client.get(reverse("admin:index"), asked)
    assert response.status_code == 200
    return response.context


def tile(context: Any, icon: str) -> Any:
    return next(tile for tile in context["tiles"] if tile["icon"] == icon)


def chart(context: Any, name: str) -> Any:
    return next(chart for chart in context["charts"] if chart.title == name)


def test_a_newcomer_is_told_what_to_do(client: Client, mei: User) -> None:
    page = client.get(reverse("admin:index"), headers={"host": "localhost"}).content.decode()
    assert "No memories yet" in page
    for name in ("chat", "docs", "admin:accounts_apitoken_add"):
        assert f'href="{reverse(name)}"' in page


def test_memories_are_counted_by_category_and_status(client: Client, mei: User) -> None:
    LongTermMemoryFactory.create_batch(3, user=mei, category="fact")
    waiting = LongTermMemoryFactory.create(user=mei, category="preference")
    LongTermMemory.objects.filter(pk=waiting.pk).update(status="pending")
    LongTermMemoryFactory.create(category="fact")
    context = look(client)
    shown = {
        stack["label"]: [(part["status"], part["count"], part["share"]) for part in stack["parts"]]
        for stack in context["stacks"]
    }
    assert shown == {
        "Preferences": [("pending", 1, pytest.approx(1 / 3))],
        "Facts": [("active", 3, 1.0)],
        "Habits": [],
        "Atomic memories": [],
    }
    assert tile(context, "neurology")["value"] == "3"
    assert (tile(context, "rule")["value"], tile(context, "rule")["tone"]) == ("1", "amber")
    listed = client.get(context["stacks"][0]["parts"][0]["link"], follow=True).content.decode()
    shown_there = {memory.pk for memory in LongTermMemory.objects.all() if str(memory.pk) in listed}
    assert shown_there == {waiting.pk}


def test_use_emotions_and_latency_come_from_the_turns_of_the_period(client: Client, mei: User) -> None:
    favourite, other = LongTermMemoryFactory.create_batch(2, user=mei)
    make_turns(mei, number=3, memories=[favourite, other])
    make_turns(mei, number=1, memories=[favourite], days_ago=2, emotion={"primary": "sad"})
    make_turns(mei, number=1, memories=[], days_ago=50, timings={"opening_ms": 0, "model_ms": 9000.0})
    context = look(client)
    uses = chart(context, "Replies and recalled memories")
    assert [numbers[-3:] for _label, _colour, numbers in uses.series] == [[1, 0, 3], [1, 0, 6]]
    emotions = chart(context, "Emotions")
    assert emotions.totals == [("Happy", 3), ("Sad", 1)]
    assert [(row["text"], row["uses"]) for row in context["most_used"]] == [
        (f"{favourite.key}: value", 4),
        (f"{other.key}: value", 3),
    ]
    assert tile(context, "timer")["value"] == "500 ms"
    assert tile(context, "manage_search")["value"] == "7"
    wider = look(client, days="90")
    assert (len(chart(wider, "Replies and recalled memories").days), tile(wider, "timer")["note"]) == (
        90,
        "95% within 7.3 s",
    )


def test_people_see_their_own_and_staff_everybodys_or_somebodys(client: Client) -> None:
    mei, lin = UserFactory.create(username="mei"), UserFactory.create(username="lin")
    staff = UserFactory.create(username="tang", is_staff=True)
    LongTermMemoryFactory.create_batch(2, user=mei)
    LongTermMemoryFactory.create_batch(3, user=lin)

    def count(who: User, **asked: Any) -> str:
        client.force_login(who)
        return str(tile(look(client, **asked), "neurology")["value"])

    assert count(mei) == count(mei, user=lin.pk) == "2"
    assert count(staff) == "5"
    assert count(staff, user=lin.pk) == "3"
    assert f"user={lin.pk}" in tile(look(client, user=lin.pk), "neurology")["link"]


def test_what_was_learned_lately_is_told_with_its_words(client: Client, mei: User) -> None:
    now = timezone.now()
    memory, _action = create_memory(user=mei, category="fact", key="city", value=["Berlin", "Bonn"], now=now)
    walk, _new = create_atomic_memory(user=mei, content="The user walked.", now=now + timedelta(seconds=1))
    create_memory(user=UserFactory.create(), category="fact", key="theirs", value="no", now=now)
    context = look(client)
    assert [(told["text"], told["link"].split("/")[-3]) for told in context["new"]] == [
        ("The user walked.", str(walk.pk)),
        ("city: Berlin, Bonn", str(memory.pk)),
    ]


def test_what_changed_is_told_with_the_message_that_caused_it(client: Client, mei: User) -> None:
    now = timezone.now() - timedelta(days=1)
    session = Session.objects.create(user=mei)
    message = Message.objects.create(session=session, user=mei, role="user", content="I moved to Hamburg.", position=1)
    create_memory(user=mei, category="fact", key="city", value="Berlin", now=now)
    create_memory(user=mei, category="fact", key="city", value="Hamburg", now=now + timedelta(hours=1))
    Change.objects.filter(action="supersede").update(message=message)
    job, _action = create_memory(user=mei, category="fact", key="job", value="nurse", now=now)
    update_memory(LONG_TERM, user=mei, memory_id=job.pk, changes={"value": "doctor"}, now=now + timedelta(hours=2))
    update_memory(LONG_TERM, user=mei, memory_id=job.pk, changes={"confidence": 0.5}, now=now + timedelta(hours=3))
    response = client.get(reverse("admin:index"))
    changed = response.context["changed"]
    assert [(one.name, one.label, one.before, one.after) for one in changed] == [
        ("job", "confidence", "1.0", "0.5"),
        ("job", "", "nurse", "doctor"),
        ("city", "", "Berlin", "Hamburg"),
    ]
    page = " ".join(response.content.decode().split())
    assert "<ins>Hamburg</ins> instead of <del>Berlin</del>" in page
    assert f"{session.pk}/change/?at={message.pk}#message-{message.pk}" in page
    assert "I moved to Hamburg." in page
    delete_memories(LONG_TERM, user=mei, ids=[job.pk], now=timezone.now())
    (deleted,) = (one for one in look(client)["changed"] if one.change.action == "delete")
    assert (deleted.name, deleted.link, deleted.before, deleted.after) == ("", "", "", "")


def test_what_waits_is_told_in_words(client: Client, mei: User) -> None:
    waiting = LongTermMemoryFactory.create(user=mei, key="tea")
    LongTermMemory.objects.filter(pk=waiting.pk).update(status="pending")
    ProfileProposal.objects.create(user=mei, section="reply_style", text="Short answers.")
    session = Session.objects.create(user=mei)
    for position in (1, 2):
        message = Message.objects.create(session=session, user=mei, role="user", content="x", position=position)
        error = "model_unavailable: unreachable"
        Work.objects.create(user=mei, session=session, message=message, kind="extract", state="failed", error=error)
    page = client.get(reverse("admin:index"))
    context = page.context
    assert {told["text"] for told in context["waiting"]} == {"tea: value", "Reply style: Short answers."}
    assert (context["waiting_memories"], context["waiting_proposals"]) == (1, 1)
    (failed,) = context["failed"]
    assert (failed["label"], failed["count"]) == ("Extracting memories", 2)
    assert "The model server could not be reached." in page.content.decode()
    assert "1 memory to review" in page.content.decode()
    Work.objects.all().delete()
    ProfileProposal.objects.all().delete()
    LongTermMemory.objects.update(status="active")
    assert "All clear: nothing to review, no failures." in client.get(reverse("admin:index")).content.decode()


def test_what_was_used_is_told_of_the_last_replies(client: Client, mei: User) -> None:
    favourite, other, gone = LongTermMemoryFactory.create_batch(3, user=mei)
    make_turns(mei, number=1, memories=[favourite, gone])
    turn = Turn.objects.get()
    said = Message.objects.create(session=turn.session, user=mei, role="user", content="What do I like?", position=9)
    weak = {"id": str(other.pk), "kind": "long_term", "score": 0.9, "keyword_score": 0.1, "semantic_score": 0.1}
    used = [{**item, "keyword_score": 0.8} for item in turn.memories_used]
    Turn.objects.update(user_message=said, memories_used=[*used, weak])
    gone.delete()
    (reply,) = look(client)["used"]
    assert (reply["said"], reply["id"], reply["more"]) == ("What do I like?", turn.pk, 0)
    assert [told["text"] for told in reply["memories"]] == [
        f"{favourite.key}: value"
    ]  # what carried weight and is there


def test_only_what_can_be_undone_offers_it(client: Client, mei: User) -> None:
    now = timezone.now()
    kept, gone = (
        create_memory(user=mei, category="fact", key=key, value="yes", now=now)[0] for key in ("kept", "gone")
    )
    create_context(user=mei, title="Deposit", content="1,800 euros", now=now)
    update_memory(LONG_TERM, user=mei, memory_id=kept.pk, changes={"value": "no"}, now=now)
    delete_memories(LONG_TERM, user=mei, ids=[gone.id], now=now)
    page = client.get(reverse("admin:index"))
    buttons = page.content.decode()
    offered = [
        one.change.object_id for one in page.context["changed"] if f'"operations": "{one.change.operation}"' in buttons
    ]
    assert (len(page.context["changed"]), offered) == (2, [kept.id])
