"""Summaries of sessions: when they are written anew, what a person's own words do, what layer 4 gets (S1, S2)."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from apps.accounts.services.people import update_settings
from apps.conversations.models import Session
from apps.conversations.sessions import delete_session
from apps.core.errors import Conflict, InvalidInput
from apps.core.text.clean import estimate_tokens
from apps.memory.changes.undo import undo_operation
from apps.memory.models import Change
from apps.summaries.drafting import PreparedSummaries, SessionDraft, SessionNote
from apps.summaries.models import SessionSummary
from apps.summaries.services import (
    create_session_summary,
    delete_session_summary,
    get_recent_session_summaries,
    prepare_summaries,
    store_summaries,
    update_session_summary,
)
from tests.summaries.conftest import Say, summarize
from tests.support.factories import SessionFactory, UserFactory
from tests.support.http_server import ApiClient
from tests.support.scripted_model import ScriptedModel

pytestmark = [pytest.mark.django_db, pytest.mark.spec("S1", "S2")]


def write(session: Session, *, title: str = "我的标题", snippet: str = "我写的。") -> SessionSummary:
    return create_session_summary(
        user=session.user, session_id=session.id, title=title, snippet=snippet, now=timezone.now()
    )


def edit(summary: SessionSummary, **changes: str) -> None:
    update_session_summary(user=summary.user, summary_id=summary.id, changes=changes, now=timezone.now())


def delete(summary: SessionSummary) -> None:
    delete_session_summary(user=summary.user, summary_id=summary.id, now=timezone.now())


@pytest.fixture
def numbered(session: Session, model: ScriptedModel) -> ScriptedModel:
    """A model server that numbers its summaries; the person wants none of the conversation itself so soon."""
    update_settings(user=session.user, changes={"memory.summary_threshold": 500})
    model.default = lambda _request: json.dumps(
        {"title": f"标题{len(model.chat_requests)}", "snippet": "摘要。"}, ensure_ascii=False
    )
    return model


@pytest.mark.parametrize(
    ("said", "title", "part"),
    [
        (["你好", "我想提前退租，房东不退押金"], "我想提前退租，房东不退押金", "我想提前退租，房东不退押金"),
        (["Hello!", "I am moving my app to Kubernetes."], "I am moving my app to Kubernetes", "I am moving"),
    ],
)
def test_it_is_written_after_the_first_reply_in_the_language_spoken(
    session: Session, say: Say, said: list[str], title: str, part: str
):
    say(session, said)
    summarize(session)
    summary = SessionSummary.objects.get()
    assert (summary.session, summary.user, summary.title) == (session, session.user, title)
    assert part in summary.snippet
    assert (summary.covered_until, summary.edited) == (4, False)


@pytest.mark.long
def test_it_is_refreshed_every_ten_messages_from_what_is_new(session: Session, say: Say, numbered: ScriptedModel):
    titles, ids = [], set()
    for turn in range(12):
        say(session, [f"问题{turn}"])
        summarize(session)
        titles.append(SessionSummary.objects.get().title)
        ids.add(SessionSummary.objects.get().id)
    assert titles == ["标题1"] * 5 + ["标题2"] * 5 + ["标题3"] * 2
    assert len(ids) == 1
    first, second, _third = [request.messages[-1]["content"] for request in numbered.chat_requests]
    assert "<earlier_note>" not in first
    assert "标题1" in second
    assert ["问题0" in second, "问题1" in second, "问题5" in second] == [False, True, True]


def test_one_that_a_person_wrote_or_edited_is_left_alone(session: Session, say: Say, numbered: ScriptedModel):
    other = SessionFactory.create(user=session.user)
    say(session, ["一"])
    summarize(session)
    summary = SessionSummary.objects.get()
    edit(summary, title="我改的")
    write(other)
    for each in (session, other):
        say(each, ["二"] * 8)
        summarize(each)
    assert set(SessionSummary.objects.values_list("title", "snippet", "edited")) == {
        ("我改的", "摘要。", True),
        ("我的标题", "我写的。", True),
    }
    assert len(numbered.chat_requests) == 1


@pytest.mark.parametrize("change", ["edit", "delete", "refresh"])
def test_what_happens_while_the_model_writes_stays(session: Session, say: Say, numbered: ScriptedModel, change: str):
    say(session, ["一"])
    summarize(session)
    summary = SessionSummary.objects.get()
    say(session, ["二"] * 5)
    late = prepare_summaries(user=session.user, session_id=session.id)
    if change == "edit":
        edit(summary, title="我改的")
    elif change == "delete":
        delete(summary)
    else:
        summarize(session)
    before = SessionSummary.objects.values().get()
    store_summaries(user=session.user, prepared=late, now=timezone.now())
    assert SessionSummary.objects.values().get() == before


@pytest.mark.spec("L6")
def test_one_that_was_deleted_is_not_written_again_from_what_was_said_before(
    session: Session, say: Say, numbered: ScriptedModel
):
    say(session, ["我的秘密计划"])
    summarize(session)
    summary = SessionSummary.objects.get()
    delete(summary)
    assert not SessionSummary.objects.exclude(title="", snippet="").exists()
    say(session, ["别的事"] * 4)
    summarize(session)
    assert len(numbered.chat_requests) == 1
    say(session, ["又一件事"])
    summarize(session)
    (again,) = SessionSummary.objects.all()
    assert again.id != summary.id
    assert (again.title, again.deleted) == ("标题2", False)
    prompt = numbered.chat_requests[-1].messages[-1]["content"]
    assert "秘密" not in prompt
    assert "标题1" not in prompt


@pytest.mark.long
def test_a_long_recording_is_read_from_its_opening_and_its_end_in_a_bounded_prompt(
    session: Session, say: Say, numbered: ScriptedModel
):
    say(session, ["这是开头的问题。" * 2000, *["中间的话"] * 60, "结尾的问题是什么" * 2000])
    summarize(session)
    request = numbered.chat_requests[0]
    prompt = "\n".join(message["content"] for message in request.messages)
    assert "这是开头" in prompt
    assert "结尾的问题" in prompt
    assert estimate_tokens(prompt) < 6000
    assert SessionSummary.objects.get().covered_until == 124


def test_a_models_long_words_are_cut(session: Session, say: Say, numbered: ScriptedModel):
    numbered.default = lambda request: json.dumps({"title": "长" * 500, "snippet": "很长的句子。" * 200})
    say(session, ["一"])
    summarize(session)
    summary = SessionSummary.objects.get()
    assert summary.title == "长" * 79 + "…"
    assert summary.snippet == "很长的句子。" * 50


def test_the_most_recently_active_other_sessions_come_first(session: Session, django_assert_num_queries: Any):
    now = timezone.now()
    sessions = [SessionFactory.create(user=session.user, last_active_at=now - timedelta(days=day)) for day in range(4)]
    for number, each in enumerate(reversed(sessions)):
        write(each, title=f"第{3 - number}天前")
    write(SessionFactory.create(user=UserFactory.create()), title="别人的")
    write(session, title="这一个")
    deleted = write(SessionFactory.create(user=session.user), title="删掉的")
    delete(deleted)
    with django_assert_num_queries(2):
        found = get_recent_session_summaries(user=session.user, limit=3, exclude_session_id=session.id)
    assert [summary.title for summary in found] == ["第0天前", "第1天前", "第2天前"]
    assert [summary.session_id for summary in found] == [each.id for each in sessions[:3]]
    assert found[1].last_active_at == now - timedelta(days=1)
    assert get_recent_session_summaries(user=session.user, limit=0) == []
    assert len(get_recent_session_summaries(user=session.user, limit=50)) == 5


@pytest.mark.spec("C7")
def test_a_temporary_session_has_none_and_is_in_nobodys_list(say: Say, db: None):
    session = SessionFactory.create(temporary=True)
    say(session, ["一"])
    summarize(session)
    assert not SessionSummary.objects.exists()
    kept = SessionFactory.create(user=session.user)
    write(kept)
    Session.objects.filter(id=kept.id).update(temporary=True)
    assert get_recent_session_summaries(user=session.user, limit=5) == []


def test_its_title_becomes_that_of_the_session_unless_a_person_gave_it_one(
    session: Session, say: Say, numbered: ScriptedModel
):
    def get_title() -> str:
        return Session.objects.get(id=session.id).title

    def talk(title: str, count: int = 1) -> None:
        numbered.default = lambda _request: json.dumps({"title": title, "snippet": "摘要。"}, ensure_ascii=False)
        say(session, ["好"] * count)
        summarize(session)

    say(session, ["true"])
    Session.objects.filter(id=session.id).update(title="true")  # as it takes it from its first message
    talk("退租")
    assert get_title() == "退租"
    talk("退租和押金", count=8)
    assert get_title() == "退租和押金"
    Session.objects.filter(id=session.id).update(title="房子")
    talk("别的", count=8)
    assert (get_title(), SessionSummary.objects.get().title) == ("房子", "别的")


@pytest.mark.spec("S3")
@pytest.mark.parametrize(
    "echo", ["<memories>\nLives in Oslo\n</memories>", "<user-context>Lives in Oslo</user-context>"]
)
def test_what_another_memory_put_into_a_message_is_in_no_summary(
    session: Session, say: Say, numbered: ScriptedModel, echo: str
):
    say(session, [f"{echo}\nWhich gloves?"] * 3)
    update_settings(user=session.user, changes={"memory.summary_threshold": 4})
    written = {"title": "Gloves", "snippet": "About gloves.", "summary": "The user asks about gloves."}
    numbered.default = lambda _request: json.dumps(written)
    summarize(session)
    assert len(numbered.chat_requests) == 2
    for request in numbered.chat_requests:
        assert "Which gloves?" in request.messages[-1]["content"]
        assert "Oslo" not in request.messages[-1]["content"]


# Every change is recorded and can be undone; what was deleted cannot (L7)


def draft(session: Session, snippet: str, *, since: int, until: int) -> None:
    note = SessionNote(title="trip", snippet=snippet)
    drafted = SessionDraft(note=note, since=since, covered_until=until)
    store_summaries(
        user=session.user, prepared=PreparedSummaries(session_id=session.id, session=drafted), now=timezone.now()
    )


def undo(session: Session, operation: UUID) -> UUID:
    return undo_operation(user=session.user, operation=operation, now=timezone.now())


def shown(session: Session) -> list[str]:
    return [summary.snippet for summary in get_recent_session_summaries(user=session.user, limit=5)]


@pytest.mark.spec("L7")
def test_what_the_machine_and_the_person_write_is_recorded(session: Session) -> None:
    draft(session, "去杭州", since=0, until=2)
    draft(session, "去杭州和上海", since=2, until=12)
    summary = SessionSummary.objects.get()
    edit(summary, snippet="去上海")
    changes = Change.objects.order_by("id")
    assert [(change.action, change.origin, change.actor) for change in changes] == [
        ("create", "extraction", None),
        ("refresh", "extraction", None),
        ("edit", "api", session.user),
    ]
    assert {(change.object_id, change.session_id, change.kind) for change in changes} == {
        (summary.id, session.id, "summary")
    }
    assert changes[2].before == {"title": "trip", "snippet": "去杭州和上海", "edited": False}
    assert changes[2].after == {"title": "trip", "snippet": "去上海", "edited": True}


@pytest.mark.spec("L7")
def test_changes_are_undone_and_done_again(session: Session) -> None:
    summary = write(session, snippet="去杭州")
    creation = Change.objects.get().operation
    undoing = undo(session, creation)
    assert shown(session) == []
    undo(session, undoing)
    assert shown(session) == ["去杭州"]
    edit(summary, snippet="去上海")
    undoing = undo(session, Change.objects.get(action="edit").operation)
    assert shown(session) == ["去杭州"]
    undo(session, undoing)
    assert shown(session) == ["去上海"]


@pytest.mark.spec("L7")
def test_a_deletion_is_final_and_leaves_no_text(session: Session) -> None:
    summary = write(session, snippet="去杭州")
    operation = Change.objects.get().operation
    delete(summary)
    assert not Change.objects.exclude(before=None, after=None).exists()
    with pytest.raises(Conflict):
        undo(session, operation)


@pytest.mark.spec("L7")
def test_the_record_goes_with_the_session(session: Session) -> None:
    write(session, snippet="去杭州")
    delete_session(user=session.user, session_id=session.id)
    assert not Change.objects.exists()


@pytest.mark.spec("D4")
def test_no_summary_holds_a_secret_and_no_model_that_writes_one_is_shown_it(
    session: Session, model: ScriptedModel, say: Say
) -> None:
    model.default = lambda _request: json.dumps(
        {
            "title": "WLAN",
            "snippet": "The password is hunter2.",
            "summary": "The password is hunter2; they live in York.",
        }
    )
    update_settings(user=session.user, changes={"memory.summary_threshold": 4})
    say(session, ["My wifi password is swordfish9, remember the router?"] * 4)
    summarize(session)
    assert not any("swordfish9" in json.dumps(request.body) for request in model.chat_requests)
    assert "My wifi password is [password]" in json.dumps(model.chat_requests[0].body)
    summary = SessionSummary.objects.get(session=session)
    assert summary.snippet == "The password is [password]."
    (content,) = session.messages.filter(role="summary").values_list("content", flat=True)
    assert content == "The password is [password]; they live in York."
    with pytest.raises(InvalidInput, match="looks like a password"):
        edit(summary, title="password: hunter2")


# /summaries: read, written, edited and deleted by hand

BODY = {"title": "退租", "snippet": "用户想提前退租。"}


def create(client: ApiClient, **changes: Any) -> Any:
    return client.post("/summaries", json={"session_id": client.new_session(), **BODY, **changes})


@pytest.mark.spec("R2")
def test_a_summary_is_written_read_and_listed(alice: ApiClient):
    session_id = alice.new_session()
    response = create(alice, session_id=session_id)
    assert response.status_code == 201
    summary = response.json()
    assert list(summary) == ["id", "session_id", "space", "title", "snippet", "created_at"]
    assert (summary["session_id"], summary["title"], summary["snippet"]) == (session_id, "退租", "用户想提前退租。")
    assert alice.get(f"/summaries/{summary['id']}").json() == summary
    second = create(alice, title="另一个").json()
    assert alice.get("/summaries").json()["results"] == [second, summary]
    assert alice.get("/summaries?limit=1").json()["count"] == 2


@pytest.mark.long
@pytest.mark.spec("R2")
def test_a_summary_is_edited_and_then_marked_so(alice: ApiClient):
    summary = create(alice).json()
    path = f"/summaries/{summary['id']}"
    SessionSummary.objects.update(edited=False)
    patched = alice.patch(path, json={"title": "新标题"})
    assert (patched.status_code, patched.json()) == (200, {**summary, "title": "新标题"})
    assert SessionSummary.objects.get().edited
    replaced = alice.put(path, json={**patched.json(), "snippet": "新摘要。"})
    assert (replaced.status_code, replaced.json()["snippet"]) == (200, "新摘要。")
    assert alice.put(path, json={"title": "只有标题"}).status_code == 400


@pytest.mark.long
@pytest.mark.spec("R2")
def test_a_deleted_summary_is_gone_and_another_can_be_written(alice: ApiClient):
    summary = create(alice).json()
    path = f"/summaries/{summary['id']}"
    response = alice.delete(path)
    assert (response.status_code, response.json()) == (200, {"deleted": 1})
    assert [alice.get(path).status_code, alice.delete(path).status_code] == [404, 404]
    assert alice.patch(path, json={"title": "x"}).status_code == 404
    assert alice.get("/summaries").json()["count"] == 0
    again = create(alice, session_id=summary["session_id"])
    assert again.status_code == 201
    assert again.json()["id"] != summary["id"]


def test_a_bad_body_changes_nothing(alice: ApiClient):
    bad: list[dict[str, Any]] = [
        *({"title": title} for title in ("", "x" * 201, "a\u0000b")),
        *({"snippet": snippet} for snippet in ("x" * 2001, None)),
        {"session_id": "none"}, {"edited": False},
    ]  # fmt: skip
    assert {create(alice, **changes).status_code for changes in bad} == {400}
    assert create(alice, session_id=str(uuid4())).status_code == 404
    assert not SessionSummary.objects.exists()
