"""Everything from one source, undone or set aside at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from apps.accounts.models import ApiToken, User
from apps.accounts.services.people import act_through, create_token
from apps.conversations.models import Message, Role, Session
from apps.doors.models import ImportItem, PastImport
from apps.memory.changes.records import Origin, changed_by
from apps.memory.changes.undo import undo_operation
from apps.memory.contexts import append_entry, create_context, get_context
from apps.memory.entries import create_memory
from apps.memory.judge.review import accept_memory
from apps.memory.kinds import LONG_TERM
from apps.memory.lifecycle import create_atomic_memory
from apps.memory.models import AtomicMemory, Change, LongTermMemory, SharedContext
from apps.memory.transfer import ForeignMemory, adopt_memories
from apps.profile.document import ProposedSection
from apps.profile.models import UserProfile
from apps.profile.services import propose_sections
from apps.summaries.models import SessionSummary
from apps.summaries.services import create_session_summary
from tests.support.entries import entry, record
from tests.support.factories import UserFactory
from tests.support.judged import learn

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.spec("L7", "M6", "M7"),
    pytest.mark.long,
]

NOW = datetime(2026, 11, 22, 9, 20, tzinfo=UTC)


def poison(user: User) -> Message:
    """A conversation that replaced a home, added a fact and a preference, and wrote the profile."""
    create_memory(user=user, category="fact", key="home", value="York", now=NOW - timedelta(days=9))
    session = Session.objects.create(user=user, title="A bad page")
    said = "I moved to Evilville and bank at FirstBank"
    message = Message.objects.create(
        session=session, user=user, role=Role.USER, content=said, position=1, create_time=NOW
    )
    with changed_by(origin=Origin.TURN, actor=None):
        record(
            user, entry("home", "Evilville"), entry("bank", "FirstBank", category="preference"), message=message, at=NOW
        )
    learn(user, "The user banks at FirstBank.", message=message)
    with changed_by(origin=Origin.EXTRACTION, actor=None):
        section = ProposedSection("background", "Lives in Evilville.", message.id, NOW)
        propose_sections(user=user, proposals=[section], now=NOW)
        create_session_summary(user=user, session_id=session.id, title="Evilville", snippet="A move.", now=NOW)
    return message


def show(user: User) -> dict[str, Any]:
    profile = UserProfile.objects.filter(user=user).first()
    return {
        "long_term": dict(LongTermMemory.objects.filter(user=user, status="active").values_list("key", "value")),
        "atomic": list(AtomicMemory.objects.filter(user=user, status="active").values_list("content", flat=True)),
        "background": profile.background if profile else "",
        "summaries": list(
            SessionSummary.objects.filter(user=user, deleted=False).values_list("title", flat=True).exclude(title="")
        ),
    }


POISONED = {
    "long_term": {"home": "Evilville", "bank": "FirstBank"},
    "atomic": ["The user banks at FirstBank."],
    "background": "Lives in Evilville.",
    "summaries": ["Evilville"],
}
CLEAN = {"long_term": {"home": "York"}, "atomic": [], "background": "", "summaries": []}

LIST, ACT = "/admin/memory/change/", "/admin/sources/"

Find = Callable[[Message], dict[str, str]]
NAMES: dict[str, Find] = {
    "session": lambda message: {"source": f"session:{message.session_id}"},
    "message": lambda message: {"source": f"message:{message.pk}"},
    "hour": lambda _message: {"source": "hour:2026-11-22T09:00"},
}


@pytest.mark.parametrize("name", NAMES)
def test_everything_is_listed_undone_at_once_and_that_is_undone_again(mei: User, client: Client, name: str) -> None:
    asked = NAMES[name](poison(mei))
    assert show(mei) == POISONED
    # A summary is of its conversation, not of one message.
    clean = {**CLEAN, "summaries": ["Evilville"] if name == "message" else []}
    page = client.get(LIST, asked)
    kinds = {entry.change.kind for operation, _links in page.context["operations"] for entry in operation.entries}
    assert kinds == {"long_term", "atomic", "profile"} | (set() if name == "message" else {"summary"})
    assert "Undo everything" in page.text
    done = client.post(ACT, {**asked, "action": "undo"})
    assert done.status_code == 204
    assert show(mei) == clean
    (undoing,) = set(Change.objects.filter(user=mei, action="undo").values_list("operation", flat=True))
    assert str(undoing) in done.headers["HX-Trigger"]
    assert client.get(LIST, asked).context["together"] == 0
    undo_operation(user=mei, operation=undoing, now=NOW)
    assert show(mei) == POISONED
    assert client.get(LIST, asked).context["together"] > 0
    client.post(ACT, {**asked, "action": "undo"})
    assert show(mei) == clean


def test_memories_are_set_aside_and_accepted_one_by_one(mei: User, client: Client) -> None:
    asked = NAMES["session"](poison(mei))
    assert client.get(LIST, asked).context["active"] == 3
    done = client.post(ACT, {**asked, "action": "aside"})
    assert (show(mei)["long_term"], show(mei)["atomic"]) == ({}, [])
    assert LongTermMemory.objects.filter(user=mei, status="pending").count() == 2
    (setting,) = set(Change.objects.filter(user=mei, after__status="pending").values_list("operation", flat=True))
    assert str(setting) in done.headers["HX-Trigger"]
    reasons = {reason for item in client.get(reverse("admin:review")).context["items"] for reason in item.reasons}
    assert reasons == {"You set it aside for review."}
    undo_operation(user=mei, operation=setting, now=NOW)
    assert show(mei) == POISONED
    client.post(ACT, {**asked, "action": "aside"})
    bank = LongTermMemory.objects.get(user=mei, key="bank")
    accept_memory(LONG_TERM, user=mei, memory_id=bank.id, now=NOW)
    assert show(mei)["long_term"] == {"bank": "FirstBank"}


def test_an_import_is_its_memories_and_what_its_conversations_taught(mei: User, client: Client) -> None:
    message = poison(mei)
    past = PastImport.objects.create(user=mei, format="mem0", file_name="mem0.json", size=1, digest=b"", state="done")
    ImportItem.objects.create(past_import=past, user=mei, number=0, kind="conversation", session=message.session)
    adopted = ForeignMemory(id=uuid4(), content="The user trusts everybody.")
    adopt_memories(user=mei, memories=[adopted], operation=past.operation, now=NOW)
    create_atomic_memory(user=mei, content="Mine.", now=NOW)
    page = client.get(reverse("admin:transfer")).content.decode()
    assert f"{LIST}?source=import:{past.pk}" in page
    assert f"source=import%3A{past.pk}" in _read_detail(client, AtomicMemory.objects.get(id=adopted.id))
    client.post(ACT, {"source": f"import:{past.pk}", "action": "undo"})
    assert show(mei) == {**CLEAN, "atomic": ["Mine."]}


def _read_detail(client: Client, memory: Any) -> str:
    options = memory._meta
    url = reverse(f"admin:{options.app_label}_{options.model_name}_change", args=[memory.pk])
    return client.get(url).content.decode()


def read_case(user: User, case: SharedContext) -> list[str]:
    return [entry.text for entry in get_context(user, case.id).entries.all()]


def test_additions_to_a_shared_context_go_with_the_rest_and_come_back(mei: User, client: Client) -> None:
    message = poison(mei)
    case = create_context(user=mei, title="Case", content="Facts.", now=NOW - timedelta(days=1))
    for text, cause in (("Rent is 900.", None), ("Wire it.", message.pk), ("No.", None), ("Now.", message.pk)):
        append_entry(
            user=mei,
            context_id=case.id,
            text=text,
            author="agent",
            message_id=cause,
            number=text == "Now.",
            now=NOW - timedelta(days=0 if cause else 1),
        )
    asked = NAMES["session"](message)
    assert client.get(LIST, asked).context["together"] == 7
    done = client.post(ACT, {**asked, "action": "undo"})
    assert (show(mei), read_case(mei, case)) == (CLEAN, ["Rent is 900.", "No."])
    (undoing,) = set(Change.objects.filter(user=mei, action="undo").values_list("operation", flat=True))
    assert str(undoing) in done.headers["HX-Trigger"]
    page = client.get(LIST, asked)
    assert {entry.text: entry.withdrawn for entry in page.context["source_entries"]} == {"Wire it.": True, "Now.": True}
    assert page.context["together"] == 0
    listed = client.get(reverse("admin:memory_change_changelist")).content.decode()
    assert reverse("admin:memory_sharedcontext_change", args=[case.pk]) in listed
    append_entry(user=mei, context_id=case.id, text="Paid.", now=NOW + timedelta(days=1))
    assert read_case(mei, case) == ["Rent is 900.", "No.", "Paid."]
    undo_operation(user=mei, operation=undoing, now=NOW)
    assert (show(mei), read_case(mei, case)) == (POISONED, ["Rent is 900.", "Wire it.", "No.", "Now.", "Paid."])
    client.post(ACT, {**asked, "action": "undo"})
    assert read_case(mei, case) == ["Rent is 900.", "No.", "Paid."]


def test_the_ways_to_it(mei: User, client: Client) -> None:
    message = poison(mei)
    changes = client.get(reverse("admin:memory_change_changelist")).content.decode()
    assert f"{LIST}?source=session%3A{message.session_id}" in changes
    assert f"{LIST}?source=hour%3A2026-11-22T09%3A00" in changes
    detail = _read_detail(client, LongTermMemory.objects.get(user=mei, key="bank"))
    assert f"source=message%3A{message.pk}" in detail
    assert f"source=session%3A{message.session_id}" in detail


def test_nobody_sees_anothers_and_staff_act_for_them(mei: User, client: Client) -> None:
    message = poison(mei)
    asked = {"source": f"session:{message.session_id}", "user": str(mei.pk)}
    listed = {"source": asked["source"], "user__id__exact": str(mei.pk)}
    client.force_login(UserFactory.create(username="eve"))
    assert client.get(LIST, {"source": asked["source"]}).status_code == 404
    assert client.post(ACT, {**asked, "action": "undo"}).status_code == 404
    assert show(mei) == POISONED
    client.force_login(User.objects.create_superuser("staff"))
    assert re.search(r"of\s+mei", client.get(LIST, listed).content.decode())
    client.post(ACT, {**asked, "action": "undo"})
    assert show(mei) == CLEAN
    assert set(Change.objects.filter(user=mei, action="undo").values_list("actor__username", flat=True)) == {"staff"}


@pytest.mark.parametrize(
    "source", ["x", "session:x", "session:626e9d32-56cc-4774-8106-67df3fd3d1a0", "hour:soon", "author:no", "program:x"]
)
def test_what_is_no_source_is_not_there(mei: User, client: Client, source: str) -> None:
    assert client.get(LIST, {"source": source}).status_code == 404
    assert client.post(ACT, {"source": source, "action": "undo"}).status_code == 404


def test_what_a_program_stored_and_what_its_conversations_taught(mei: User, client: Client) -> None:
    create_memory(user=mei, category="fact", key="home", value="York", now=NOW)
    case = create_context(user=mei, title="Case", content="Facts.", now=NOW)
    append_entry(user=mei, context_id=case.id, text="Mine.", now=NOW)
    headers = {"Authorization": f"Bearer {create_token(user=mei, name='Notes')}"}
    program = Client(headers=headers)
    stored = {"category": "fact", "key": "home", "value": "Evilville"}
    assert program.post("/memory/long-term", stored, content_type="application/json").status_code == 201
    started = program.post("/chat/sessions", {}, content_type="application/json").json()
    added = program.post(f"/memory/contexts/{case.id}/entries", {"text": "Wire it."}, content_type="application/json")
    assert added.status_code == 201
    said = Message.objects.create(
        session_id=started["id"], user=mei, role=Role.USER, content="I bank at FirstBank", position=1
    )
    learn(mei, "The user banks at FirstBank.", message=said)
    act_through("")  # in a server, a request's context ends with it
    create_atomic_memory(user=mei, content="Mine.", now=NOW)
    via = Session.objects.get(id=started["id"]).via
    assert via == f"token:{ApiToken.objects.get(user=mei).token_key}"
    memory = LongTermMemory.objects.get(user=mei, value="Evilville")
    link = urlencode({"source": f"program:{via}"})
    assert link in _read_detail(client, memory)
    assert link in client.get(reverse("admin:memory_change_changelist")).content.decode()
    page = client.get(LIST, {"source": f"program:{via}"})
    assert (page.context["source"].title, page.context["undoable"]) == ("Notes", 3)
    client.post(ACT, {"source": f"program:{via}", "action": "undo"})
    assert show(mei) == {**CLEAN, "atomic": ["Mine."]}
    assert read_case(mei, case) == ["Mine."]
    client.force_login(UserFactory.create(username="eve"))
    assert client.get(LIST, {"source": f"program:{via}"}).status_code == 404
