"""Copies of a deleted memory in the profile, summaries and shared contexts: listed, removed, not learned again (L6)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.serializers.json import DjangoJSONEncoder

from apps.accounts.models import User
from apps.conversations.models import Message, Role, Session, Work
from apps.conversations.queue import claim_session_work, take_work
from apps.conversations.rounds import record_assistant_message, record_summary
from apps.memory.contexts import append_entry, create_context, get_context
from apps.memory.deletion import delete_memories, list_copies
from apps.memory.kinds import LONG_TERM
from apps.memory.models import Change, ConversationEmbedding, LongTermMemory
from apps.memory.vectors.messages import prepare_embeddings, store_embeddings
from apps.profile.document import ProfileSnapshot, ProposedSection
from apps.profile.models import ProfileProposal
from apps.profile.services import (
    accept_proposal,
    get_user_profile,
    list_versions,
    propose_sections,
    restore_version,
    update_profile,
)
from apps.summaries.drafting import PreparedSummaries, SessionDraft, SessionNote
from apps.summaries.models import SessionSummary
from apps.summaries.services import create_session_summary, store_summaries, update_session_summary
from tests.contracts.world import dump
from tests.support.factories import LongTermMemoryFactory, SessionFactory, UserFactory

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.spec("L6"),
    pytest.mark.long_except(
        "test_of_a_sessions_summary_only_the_sentence_goes",
        "test_of_shared_contexts_only_the_sentences_go",
        "test_titles_that_nobody_typed_go",
        "test_they_stay_unless_asked_for",
    ),
]

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
BEFORE, AFTER = NOW - timedelta(minutes=5), NOW + timedelta(minutes=5)
WORD = "紫罗兰"
# In the other script: what a comparison of characters would not find.
SENTENCE = "喜欢紫羅蘭。"


@pytest.fixture
def memory(user: User) -> LongTermMemory:
    return remember(user)


def remember(user: User) -> LongTermMemory:
    return LongTermMemoryFactory(user=user, category="preference", key="花", value=WORD, now=BEFORE)


def forget(user: User, memory: LongTermMemory, *, copies: bool = True) -> None:
    delete_memories(LONG_TERM, user=user, ids=[memory.id], now=NOW, copies=copies)


def found(user: User, memory: LongTermMemory) -> list[tuple[str, Any, str, str]]:
    return [(copy.kind, copy.id, copy.field, copy.text) for copy in list_copies(user, [memory])]


def stored(user: User) -> str:
    """Every row of the person, in one text."""
    return json.dumps(dump(user), cls=DjangoJSONEncoder, ensure_ascii=False, default=str)


def holds_word(user: User) -> bool:
    text = stored(user)
    return WORD in text or "紫羅蘭" in text


def read_profile(user: User) -> ProfileSnapshot:
    return get_user_profile(user=user)


def propose(user: User, section: str, text: str, *, said_at: datetime) -> None:
    proposal = ProposedSection(section=section, text=text, message_id=None, said_at=said_at)
    propose_sections(user=user, proposals=[proposal], now=AFTER)


def summarize_conversation(session: Session, *contents: str) -> list[Message]:
    """Store summaries, each of the one before it."""
    summaries: list[Message] = []
    for content in contents:
        replaces = summaries[-1].id if summaries else None
        arguments = {"user": session.user, "session_id": session.id, "covers": [], "now": BEFORE}
        summaries.append(record_summary(content=content, replaces=replaces, **arguments))
    return summaries


# The profile


def test_of_the_profile_only_the_sentence_goes(user: User, memory: LongTermMemory) -> None:
    background = f"住在北京。{SENTENCE}是律师。"
    update_profile(user=user, changes={"background": background, "sections": {"花园": "种了紫罗兰"}}, now=BEFORE)
    update_profile(user=user, changes={"reply_style": "简短"}, now=BEFORE)
    profile_id = user.profile.id
    assert found(user, memory) == [
        ("profile", profile_id, "background", SENTENCE),
        ("profile", profile_id, "花园", "种了紫罗兰"),
    ]
    forget(user, memory)
    profile = read_profile(user)
    assert (profile.background, profile.reply_style, profile.sections) == ("住在北京。是律师。", "简短", {})
    assert [version.version for version in list_versions(user)] == [3, 2, 1]
    assert not holds_word(user)
    newest = Change.objects.filter(user=user, kind=Change.Kind.PROFILE).latest("id")
    assert (newest.action, newest.object_id, newest.actor) == (Change.Action.DELETE, profile_id, user)
    assert (newest.before, newest.after) == (None, None)


def test_an_earlier_version_does_not_bring_it_back(user: User, memory: LongTermMemory) -> None:
    update_profile(user=user, changes={"background": f"住在北京。{SENTENCE}"}, now=BEFORE)
    update_profile(user=user, changes={"background": "住在上海。"}, now=BEFORE)
    assert [copy[3] for copy in found(user, memory)] == [SENTENCE]
    forget(user, memory)
    assert not holds_word(user)
    assert restore_version(user=user, version=1, now=AFTER).background == "住在北京。"


def test_proposals_go_and_the_section_is_not_written_from_what_was_said_before(
    user: User, memory: LongTermMemory
) -> None:
    update_profile(user=user, changes={"background": "住在北京。"}, now=BEFORE - timedelta(minutes=1))
    propose(user, "background", "住在北京。喜欢紫罗兰。养猫。", said_at=BEFORE)
    assert [copy[2:] for copy in found(user, memory)] == [("background", "喜欢紫罗兰。")]
    forget(user, memory)
    assert list(ProfileProposal.objects.values_list("text", flat=True)) == ["住在北京。养猫。"]
    for section in ("background", "reply_style"):
        propose(user, section, "很喜欢紫罗兰", said_at=NOW)
    assert not holds_word(user)
    propose(user, "reply_style", "又喜欢紫罗兰了", said_at=AFTER)
    profile = read_profile(user)
    assert profile.reply_style == "又喜欢紫罗兰了"


def test_the_words_of_a_proposal_that_was_accepted_in_others_go_from_its_record(
    user: User, memory: LongTermMemory
) -> None:
    update_profile(user=user, changes={"background": "住在北京。"}, now=BEFORE - timedelta(minutes=1))
    propose(user, "background", "喜欢紫罗兰", said_at=BEFORE)
    accept_proposal(user=user, proposal_id=ProfileProposal.objects.get().id, text="爱花", now=BEFORE)
    assert [copy[2:] for copy in found(user, memory)] == [("background", "喜欢紫罗兰")]
    forget(user, memory)
    assert not holds_word(user)
    assert ProfileProposal.objects.get().text == "爱花"
    records = Change.objects.filter(user=user, kind=Change.Kind.PROPOSAL)
    assert list(records.values_list("action", "before", "after")) == [("accept", None, None)]  # it was not deleted


def test_a_section_of_that_name_goes_whole(user: User, memory: LongTermMemory) -> None:
    update_profile(user=user, changes={"sections": {"紫罗兰": "每天浇水", "猫": "一只"}}, now=BEFORE)
    assert [copy[2:] for copy in found(user, memory)] == [("紫罗兰", "每天浇水")]
    forget(user, memory)
    profile = read_profile(user)
    assert profile.sections == {"猫": "一只"}
    assert not holds_word(user)


# Summaries


def test_of_a_sessions_summary_only_the_sentence_goes(user: User, session: Session, memory: LongTermMemory) -> None:
    for text in ("你好", "再见"):
        record_assistant_message(user=user, session_id=session.id, content=text, now=BEFORE)
    arguments = {"user": user, "now": BEFORE}
    summary = create_session_summary(session_id=session.id, title="租房", snippet=f"谈了租房。{SENTENCE}", **arguments)
    assert found(user, memory) == [("summary", summary.id, "snippet", SENTENCE)]
    forget(user, memory)
    summary.refresh_from_db()
    assert (summary.title, summary.snippet, summary.covered_until) == ("租房", "谈了租房。", 2)
    assert not holds_word(user)
    newest = Change.objects.filter(user=user, kind=Change.Kind.SUMMARY).latest("id")
    assert (newest.action, newest.object_id, newest.after) == (Change.Action.DELETE, summary.id, None)


def test_a_title_and_an_earlier_state_of_a_summary_do_not_keep_it(user: User, memory: LongTermMemory) -> None:
    title, other = SessionFactory(user=user), SessionFactory(user=user)
    arguments = {"user": user, "now": BEFORE}
    named = create_session_summary(session_id=title.id, title="紫罗兰怎么养", snippet="谈了浇水。", **arguments)
    edited = create_session_summary(session_id=other.id, title="租房", snippet=SENTENCE, **arguments)
    update_session_summary(summary_id=edited.id, changes={"snippet": "谈了租房。"}, **arguments)
    assert found(user, memory) == [("summary", named.id, "title", "紫罗兰怎么养")]
    forget(user, memory)
    named.refresh_from_db()
    assert (named.title, named.snippet) == ("…", "谈了浇水。")
    assert not holds_word(user)


def test_a_summary_a_model_wrote_meanwhile_is_not_stored(user: User, session: Session, memory: LongTermMemory) -> None:
    create_session_summary(user=user, session_id=session.id, title="租房", snippet=SENTENCE, now=BEFORE)
    SessionSummary.objects.update(edited=False)
    record_assistant_message(user=user, session_id=session.id, content="你好", now=BEFORE)
    draft = SessionDraft(note=SessionNote(title="租房", snippet=SENTENCE), since=0, covered_until=1)
    forget(user, memory)
    store_summaries(user=user, prepared=PreparedSummaries(session_id=session.id, session=draft), now=AFTER)
    assert not holds_word(user)


def test_a_run_that_has_read_the_old_summary_starts_again(user: User, session: Session, memory: LongTermMemory) -> None:
    summary, theirs = (summarize_conversation(each, SENTENCE)[0] for each in (session, SessionFactory()))
    work = {}
    for message in (summary, theirs):
        owner = {"user": message.user, "session": message.session, "message": message}
        Work.objects.create(kind=Work.Kind.SUMMARIZE, due_at=BEFORE, **owner)
    for token in ("first", "second"):
        (claimed,) = claim_session_work(
            kind="summarize", token=token, now=NOW, lease=timedelta(minutes=1), limit=5, max_characters=None
        )
        work[claimed.message_id] = token, claimed
    forget(user, memory)
    taken = {message_id: take_work(work=[claimed], token=token) for message_id, (token, claimed) in work.items()}
    assert taken == {summary.id: False, theirs.id: True}


def test_summaries_of_a_conversation_are_cut_and_embedded_anew(
    user: User, session: Session, memory: LongTermMemory
) -> None:
    first, second = summarize_conversation(session, SENTENCE, f"谈了租房。{SENTENCE}")
    (unchanged,) = summarize_conversation(SessionFactory(user=user), "谈了天气。")
    store_embeddings(prepare_embeddings([first, second, unchanged]))
    held = Work.objects.filter(kind=Work.Kind.EMBED)
    held.filter(message=unchanged).delete()
    old = set(held.values_list("id", flat=True))
    assert found(user, memory) == [
        ("summary", message.id, "content", SENTENCE)
        for message in sorted((first, second), key=lambda message: message.id, reverse=True)
    ]
    forget(user, memory)
    contents = dict(Message.objects.filter(role=Role.SUMMARY).values_list("id", "content"))
    assert contents == {first.id: "…", second.id: "谈了租房。", unchanged.id: "谈了天气。"}
    assert set(ConversationEmbedding.objects.values_list("message_id", flat=True)) == {unchanged.id}
    assert set(held.values_list("message_id", flat=True)) == {first.id, second.id}
    assert not old & set(held.values_list("id", flat=True))
    assert not holds_word(user)


def test_what_was_said_stays(user: User, session: Session, memory: LongTermMemory) -> None:
    message = record_assistant_message(user=user, session_id=session.id, content=SENTENCE, now=BEFORE)
    assert found(user, memory) == []
    forget(user, memory)
    message.refresh_from_db()
    assert message.content == SENTENCE


# Shared contexts


def test_of_shared_contexts_only_the_sentences_go(user: User, memory: LongTermMemory) -> None:
    context = create_context(user=user, title="合同", content=f"甲方违约。{SENTENCE}", now=BEFORE)
    for text in (f"{SENTENCE}定金已付。", "紫罗兰"):
        append_entry(user=user, context_id=context.id, text=text, author="律师", now=BEFORE)
    assert found(user, memory) == [
        ("context", context.id, "content", SENTENCE),
        ("context", context.id, "entry", SENTENCE),
        ("context", context.id, "entry", "紫罗兰"),
    ]
    forget(user, memory)
    left = get_context(user, context.id)
    assert (left.title, left.content) == ("合同", "甲方违约。")
    assert [(entry.author, entry.text) for entry in left.entries.all()] == [("律师", "定金已付。"), ("律师", "…")]
    assert not holds_word(user)


# All of them


def fill(user: User) -> None:
    update_profile(user=user, changes={"background": SENTENCE}, now=BEFORE)
    propose(user, "background", "种紫罗兰", said_at=NOW)
    session = SessionFactory(user=user)
    create_session_summary(user=user, session_id=session.id, title="花", snippet=SENTENCE, now=BEFORE)
    summarize_conversation(session, SENTENCE)
    context = create_context(user=user, title="花", content=SENTENCE, now=BEFORE)
    append_entry(user=user, context_id=context.id, text=SENTENCE, now=BEFORE)


def test_another_persons_stay_as_they_are(user: User, memory: LongTermMemory) -> None:
    other = UserFactory()
    fill(user)
    fill(other)
    theirs = remember(other)
    before = stored(other)
    assert holds_word(user)
    assert {copy.kind for copy in list_copies(user, [memory])} == {"profile", "summary", "context"}
    mine = {copy.id for copy in list_copies(user, [memory])}
    assert not mine & {copy.id for copy in list_copies(other, [theirs])}
    forget(user, memory)
    assert not holds_word(user)
    assert stored(other) == before


def test_they_stay_unless_asked_for(user: User, memory: LongTermMemory) -> None:
    fill(user)
    places = found(user, memory)
    again = LongTermMemoryFactory(user=user, key="另一种花", value=WORD, now=BEFORE)
    forget(user, memory, copies=False)
    assert [place for place in found(user, again) if place[0] != "long_term"] == places


@pytest.mark.parametrize("times", [1, 5])
def test_listing_takes_as_many_queries_however_much_there_is(
    user: User, memory: LongTermMemory, times: int, django_assert_num_queries: Callable[..., Any]
) -> None:
    for _time in range(times):
        fill(user)
    with django_assert_num_queries(14):
        list_copies(user, [memory])


def test_titles_that_nobody_typed_go(user: User, memory: LongTermMemory) -> None:
    made, given, typed = (SessionFactory(user=user, title=f"{SENTENCE} {at}") for at in range(3))
    Message.objects.create(session=made, user=user, role=Role.USER, content=made.title, position=1)
    create_session_summary(user=user, session_id=given.id, title=given.title, snippet="别的。", now=BEFORE)
    found = [copy.id for copy in list_copies(user, [memory]) if copy.kind == "title"]
    assert set(found) == {made.id, given.id}
    delete_memories(LONG_TERM, user=user, ids=[memory.id], copies=True, now=NOW)
    titles = dict(Session.objects.filter(user=user).values_list("id", "title"))
    assert not any("羅蘭" in titles[session.id] for session in (made, given))
    assert titles[typed.id] == f"{SENTENCE} 2"
    assert Message.objects.get(session=made).content == f"{SENTENCE} 0"
