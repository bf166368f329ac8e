"""A run: what it looks at, what it writes, what becomes of it when something fails (D1, D2)."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.services.people import update_settings
from apps.accounts.spaces import create_space
from apps.conversations.models import Message
from apps.core.errors import Conflict, ModelUnavailable
from apps.core.llm.client import ask_for_object
from apps.memory.changes.records import Origin, changed_by
from apps.memory.changes.undo import undo_operation
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.judge.review import accept_memory
from apps.memory.kinds import ATOMIC
from apps.memory.lifecycle import create_atomic_memories, update_memory
from apps.memory.models import AtomicMemory, Change, LongTermMemory, Status
from apps.memory.types import AtomicDraft
from apps.profile.models import ProfileProposal
from apps.profile.services import update_profile
from apps.tidying import writing
from apps.tidying.models import Tidying
from apps.tidying.run import claim_run
from apps.tidying.services import request_for_idle, request_tidying, undo_tidying
from tests.support.factories import SessionFactory, UserFactory, open_message
from tests.tidying.conftest import Connect, do_next, tidy
from tests.tidying.world import CapableModel, World, make_world, read_shown, remember

pytestmark = [pytest.mark.django_db, pytest.mark.spec("D1", "D2")]


class StandIn:
    """Answers what a test makes of the texts that it is shown."""

    name = "stand-in"

    def __init__(self, make: Any) -> None:
        self._make = make
        self.shown: list[list[str]] = []

    async def stream(self, request: Any) -> Any:
        texts = read_shown(request.messages[-1].content)
        self.shown.append(list(texts.values()))
        made = self._make({text: number for number, text in texts.items()})
        if isinstance(made, Exception):
            raise made
        yield made if isinstance(made, str) else json.dumps(made, ensure_ascii=False)


def learn(user: User, *texts: str, **fields: Any) -> list[AtomicMemory]:
    """Store what was extracted from messages, a day apart, the last of them now."""
    now = timezone.now()
    drafts = [
        AtomicDraft(content=text, timestamp=now - timedelta(days=len(texts) - at), **fields)
        for at, text in enumerate(texts)
    ]
    with changed_by(origin=Origin.EXTRACTION, actor=None):
        return create_atomic_memories(user=user, drafts=drafts, now=now)


def after_the_answer(monkeypatch: pytest.MonkeyPatch, happen: Any) -> None:
    """Let something happen between the model's answer and the writing."""

    def answer(request: Any) -> Any:
        found = ask_for_object(request)
        happen()
        return found

    monkeypatch.setattr("apps.tidying.run.ask_for_object", answer)


def list_active(user: User) -> set[str]:
    return set(AtomicMemory.objects.filter(user=user, status=Status.ACTIVE).values_list("content", flat=True))


LEEDS, YORK = "The user lives in Leeds.", "The user lives in York."
RUNS = ("The user ran along the canal on Monday.", "The user ran along the canal on Tuesday.",
        "The user ran along the canal on Friday.")  # fmt: skip
RUNNING = "The user often runs along the canal."


def replace_leeds(numbers: dict[str, int]) -> Any:
    return {"changes": [{"action": "replace", "memories": [numbers[LEEDS]], "keep": numbers[YORK], "reason": "Moved."}]}


def derive(numbers: dict[str, int]) -> Any:
    return {"changes": [{"action": "pattern", "memories": [numbers[text] for text in RUNS], "text": RUNNING}]}


def test_what_ends_names_what_took_its_place_and_why(user: User, connect: Connect) -> None:
    leeds, york = learn(user, LEEDS, YORK)
    connect(StandIn(replace_leeds))
    run = tidy(user)
    leeds.refresh_from_db()
    change = Change.objects.get(operation__in=run.operations)
    assert (leeds.status, leeds.superseded_by_id) == (Status.SUPERSEDED, york.id)
    assert (change.origin, change.actor, change.reason) == (Origin.TIDYING, None, "Moved.")
    assert (run.state, run.shown) == ("done", 2)


def test_what_its_owner_takes_back_is_left_alone_from_then_on(user: User, connect: Connect) -> None:
    learn(user, LEEDS, YORK)
    model = connect(StandIn(replace_leeds))
    (operation,) = tidy(user).operations
    undo_operation(user=user, operation=operation, now=timezone.now())
    assert tidy(user).operations == []
    assert len(model.shown) == 2  # undoing is news, and was looked at
    assert list_active(user) == {LEEDS, YORK}


def test_nothing_new_asks_nobody_and_writes_no_letter(user: User, connect: Connect) -> None:
    learn(user, LEEDS, YORK)
    model = connect(StandIn(lambda _numbers: {"changes": []}))
    assert tidy(user).state == "done"
    update_settings(user=user, changes={"memory.tidy_after_hours": 1})
    later = timezone.now() + timedelta(days=2)
    assert request_for_idle(now=later) == 0
    assert tidy(user).shown == 0
    assert len(model.shown) == 1
    learn(user, "The user has a cat called Miso.")
    assert tidy(user).shown >= 1


def test_a_plan_is_over_from_its_day_on_and_what_happened_stays(user: User, connect: Connect) -> None:
    past = timezone.now() - timedelta(days=3)
    (plan,) = learn(user, "The user will fly to Oslo.", event_start=past, event_end=past + timedelta(hours=2))
    connect(StandIn(lambda numbers: {"changes": [{"action": "end", "memories": list(numbers.values())}]}))
    run = tidy(user)
    plan.refresh_from_db()
    assert (plan.status, plan.valid_until) == (Status.ACTIVE, plan.event_end)
    undo_tidying(user, run.id, now=timezone.now())
    plan.refresh_from_db()
    assert plan.valid_until is None


def test_a_pattern_waits_with_what_shows_it_and_keeps_no_copy(user: User, connect: Connect) -> None:
    shown = learn(user, *RUNS)
    connect(StandIn(derive))
    tidy(user)
    pending = AtomicMemory.objects.get(user=user, status=Status.PENDING)
    assert pending.content == RUNNING
    assert {target["id"] for target in pending.proposal["targets"]} == {str(memory.id) for memory in shown}
    assert not any(text in json.dumps(pending.proposal) for text in RUNS)
    assert (pending.event_start, pending.event_end) == (shown[0].timestamp, shown[-1].timestamp)
    accept_memory(ATOMIC, user=user, memory_id=pending.id, now=timezone.now())
    assert list_active(user) == {*RUNS, RUNNING}


def test_what_its_owner_wrote_waits_and_ends_when_they_accept(user: User, connect: Connect) -> None:
    (leeds, _york) = learn(user, LEEDS, YORK)
    update_memory(ATOMIC, user=user, memory_id=leeds.id, changes={"tags": ["home"]}, now=timezone.now())
    connect(StandIn(replace_leeds))
    tidy(user)
    assert list_active(user) == {LEEDS, YORK}
    pending = AtomicMemory.objects.get(user=user, status=Status.PENDING)
    accept_memory(ATOMIC, user=user, memory_id=pending.id, now=timezone.now())
    assert list_active(user) == {YORK}
    assert LEEDS not in {row.content for row in AtomicMemory.objects.filter(user=user, status=Status.ACTIVE)}


def test_entries_and_statements_are_looked_at_together(user: User, connect: Connect) -> None:
    learn(user, LEEDS)
    with changed_by(origin=Origin.TURN, actor=None):
        create_memory(user=user, category="fact", key="home", value="York", now=timezone.now())
    answer = {"action": "replace", "reason": "You moved to York."}
    connect(StandIn(lambda numbers: {"changes": [
        answer | {"memories": [numbers[LEEDS]], "keep": numbers["home: York"]}]}))  # fmt: skip
    run = tidy(user)
    assert list_active(user) == set()
    assert Change.objects.get(operation__in=run.operations).reason == ""  # it names what may be deleted alone
    assert LongTermMemory.objects.get(user=user).status == Status.ACTIVE


def test_spaces_are_not_mixed(user: User, connect: Connect) -> None:
    space = create_space(user=user, name="The novel")
    learn(user, LEEDS)
    learn(user.within(space.id), YORK)
    model = connect(StandIn(lambda _numbers: {"changes": []}))
    tidy(user)
    assert sorted(model.shown) == [[LEEDS], [YORK]]


def test_the_profile_is_proposed_and_withdrawn(user: User, connect: Connect) -> None:
    update_profile(user=user, changes={"background": "Lives in Leeds."}, now=timezone.now())
    learn(user, YORK)
    sections = [{"section": "background", "text": "Lives in York."}, {"section": "secret", "text": "x"}]
    connect(StandIn(lambda _numbers: {"profile": sections}))
    run = tidy(user)
    proposal = ProfileProposal.objects.get(user=user)
    assert (run.proposals, proposal.text, proposal.status) == ([proposal.id], "Lives in York.", "pending")
    undo_tidying(user, run.id, now=timezone.now())
    assert not ProfileProposal.objects.filter(user=user).exists()


def test_a_deleted_memory_leaves_no_word_in_the_letter(user: User, connect: Connect) -> None:
    leeds, _york = learn(user, LEEDS, YORK)
    connect(StandIn(replace_leeds))
    (operation,) = tidy(user).operations
    delete_memories(ATOMIC, user=user, ids=[leeds.id], now=timezone.now())
    change = Change.objects.filter(operation=operation).earliest("id")
    assert (change.before, change.after, change.reason) == (None, None, "")


def test_what_waits_about_a_deleted_memory_goes_with_it(user: User, connect: Connect) -> None:
    leeds, _york = learn(user, LEEDS, YORK)
    update_memory(ATOMIC, user=user, memory_id=leeds.id, changes={"tags": ["home"]}, now=timezone.now())
    end = {"action": "end"}
    connect(StandIn(lambda numbers: {"changes": [end | {"memories": [numbers[LEEDS]]}, *derive(numbers)["changes"]]}))
    runs = learn(user, *RUNS)
    tidy(user)
    assert AtomicMemory.objects.filter(user=user, status=Status.PENDING).count() == 2
    delete_memories(ATOMIC, user=user, ids=[leeds.id, runs[0].id], now=timezone.now())
    (pattern,) = AtomicMemory.objects.filter(user=user, status=Status.PENDING)
    assert [target["id"] for target in pattern.proposal["targets"]] == [str(runs[1].id), str(runs[2].id)]
    assert not AtomicMemory.objects.filter(user=user, content=LEEDS).exists()


# What fails


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ('{"changes": [{"action": "replace", "memories": [1], "keep": 2', "bad_answer"),
        (ModelUnavailable("Away.", fields={"reason": "unreachable"}), "unreachable"),
        (ModelUnavailable("Away.", fields={"reason": "timeout"}), "timeout"),
    ],
)
def test_a_run_by_hand_fails_at_once_and_one_of_the_schedule_is_tried_again(
    user: User, connect: Connect, answer: Any, error: str
) -> None:
    learn(user, LEEDS, YORK)
    connect(StandIn(lambda _numbers: answer))
    run = tidy(user)
    assert (run.state, run.error, list_active(user)) == ("failed", f"model_unavailable: {error}", {LEEDS, YORK})
    claimed = tidy(user, by_hand=False)
    assert (claimed.state, claimed.claim) == ("waiting", None)
    assert claimed.due_at > timezone.now()
    assert claim_run(token="test", now=timezone.now()) is None


def test_the_database_goes_in_the_middle_of_writing(
    user: User, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn(user, LEEDS, YORK, *RUNS)
    connect(StandIn(lambda numbers: {"changes": [*replace_leeds(numbers)["changes"], *derive(numbers)["changes"]]}))
    whole, calls = writing._hold, []

    def fail_once(*args: Any) -> None:
        whole(*args)
        calls.append(args)
        if len(calls) == 1:
            raise OperationalError("the connection is lost")

    monkeypatch.setattr(writing, "_hold", fail_once)
    with pytest.raises(OperationalError):
        tidy(user)
    assert list_active(user) == {LEEDS, YORK, *RUNS}
    assert not Change.objects.filter(origin=Origin.TIDYING).exists()
    again = do_next()  # the task is tried again under its name
    assert (again.state, len(again.operations)) == ("done", 2)


def test_a_run_that_another_took_over_writes_nothing(
    user: User, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn(user, LEEDS, YORK)
    connect(StandIn(replace_leeds))
    after_the_answer(monkeypatch, lambda: Tidying.objects.filter(user=user).update(claim="other"))
    run = tidy(user)
    assert (run.state, run.claim) == ("waiting", "other")
    assert list_active(user) == {LEEDS, YORK}


def test_what_was_edited_meanwhile_stays_and_the_rest_is_done(
    user: User, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    leeds, *_others = learn(user, LEEDS, YORK, *RUNS)
    edited = {"content": "Lived in Leeds."}
    connect(StandIn(lambda numbers: {"changes": [*replace_leeds(numbers)["changes"], *derive(numbers)["changes"]]}))
    after_the_answer(
        monkeypatch,
        lambda: update_memory(ATOMIC, user=user, memory_id=leeds.id, changes=edited, now=timezone.now()),
    )
    assert len(tidy(user).operations) == 1
    assert "Lived in Leeds." in list_active(user)


def test_a_run_whose_workers_die_each_time_fails(user: User, connect: Connect) -> None:
    connect(StandIn(lambda _numbers: {"changes": []}))
    request_tidying(user, now=timezone.now(), by_hand=False)
    Tidying.objects.update(attempts=5)
    run = do_next()
    assert (run.state, run.error) == ("failed", "worker_lost")


# Who is asked, and when


def test_without_a_model_nobody_is_asked(user: User) -> None:
    with pytest.raises(Conflict, match="Connect a model"):
        request_tidying(user, now=timezone.now())


def test_one_waits_at_a_time(user: User, connect: Connect) -> None:
    connect(StandIn(lambda _numbers: {"changes": []}))
    first = request_tidying(user, now=timezone.now(), by_hand=False)
    again = request_tidying(user, now=timezone.now())
    assert (again.id, again.by_hand) == (first.id, True)


def test_the_budget_of_a_run_leaves_the_rest_for_the_next(user: User, connect: Connect) -> None:
    update_settings(user=user, changes={"memory.tidying_tokens": 2_000})
    learn(user, *(f"The user keeps thing number {number} in drawer {number * 7}." for number in range(100)))
    model = connect(StandIn(lambda _numbers: {"changes": []}))
    for _run in range(6):
        tidy(user)
    seen = {text for texts in model.shown for text in texts}
    assert len(seen) == 100
    assert max(map(len, model.shown)) <= 80


def say(user: User, at: datetime) -> None:
    open_message(SessionFactory.create(user=user))
    Message.objects.filter(user=user).update(create_time=at)


def test_people_who_want_it_are_tidied_for_once_they_are_idle(user: User, connect: Connect) -> None:
    connect(StandIn(lambda _numbers: {"changes": []}))
    other: User = UserFactory.create()
    for one in (user, other):
        learn(one, LEEDS, YORK)
        say(one, timezone.now())
    update_settings(user=user, changes={"memory.tidy_after_hours": 3})
    now = timezone.now()
    assert request_for_idle(now=now + timedelta(hours=2)) == 0
    assert request_for_idle(now=now + timedelta(hours=4)) == 1
    assert request_for_idle(now=now + timedelta(hours=4)) == 0
    assert list(Tidying.objects.values_list("user", "by_hand")) == [(user.pk, False)]


def test_a_spent_budget_of_the_month_lets_it_wait(
    user: User, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(StandIn(lambda _numbers: {"changes": []}))
    request_tidying(user, now=timezone.now())
    monkeypatch.setattr("apps.tidying.run.list_paused", lambda **_now: [user.pk])
    assert claim_run(token="test", now=timezone.now()) is None


# 200 memories and a capable model: what is twice, untrue or over goes, and no fact is lost


def snapshot(user: User) -> dict[Any, Any]:
    """Every memory that is active, and all that is recorded of it but when it was touched."""
    rows = AtomicMemory.objects.filter(user=user, status=Status.ACTIVE).values()
    return {row["id"]: {name: value for name, value in row.items() if name != "updated_at"} for row in rows}


def list_recalled(user: User, *, now: datetime) -> list[str]:
    active = AtomicMemory.objects.filter(user=user, status=Status.ACTIVE)
    return list(active.exclude(valid_until__lte=now).values_list("content", flat=True))


def measure(user: User, world: World, *, before: dict[Any, Any]) -> dict[str, float]:
    now = timezone.now()
    left = list_recalled(user, now=now)
    twice = sum(text in world.same for text in left) - len({world.tells(text) for text in left if text in world.same})
    patterns = AtomicMemory.objects.filter(user=user, status=Status.PENDING).values_list("content", flat=True)
    return {
        "duplicates": twice / (len(world.same) * 2 / 3),
        "lost": len(world.facts - {world.tells(text) for text in left}),
        "untrue": sum(text in world.replaced for text in left) / len(world.replaced),
        "past": sum(text in world.past for text in left) / len(world.past),
        "patterns": len(set(patterns) & set(world.shows.values())) / len(set(world.shows.values())),
        "new": len({row["content"] for row in snapshot(user).values()} - {row["content"] for row in before.values()}),
    }


def check(user: User, connect: Connect, *, share: float) -> dict[str, float]:
    now = timezone.now()
    world = make_world(now=now, share=share)
    remember(user, world, now=now)
    before = snapshot(user)
    model = connect(CapableModel(world))
    run = tidy(user)
    assert run.state == "done", run.error
    figures = measure(user, world, before=before) | {"calls": len(model.requests), "memories": len(before)}
    undone = undo_tidying(user, run.id, now=timezone.now())
    assert undone.kept == 0
    assert snapshot(user) == before
    return figures


def test_a_capable_model_tidies_and_all_of_it_is_undone(user: User, connect: Connect) -> None:
    figures = check(user, connect, share=0.2)
    assert figures["lost"] == 0
    assert figures["new"] == 0
    assert figures["duplicates"] <= 0.2
    assert figures["untrue"] <= 0.2
    assert figures["past"] == 0
    assert figures["patterns"] == 1


@pytest.mark.long
def test_thirty_people_with_200_memories_each(db: None, connect: Connect) -> None:
    found = [check(UserFactory.create(), connect, share=1.0) for _person in range(30)]
    mean = {name: sum(one[name] for one in found) / len(found) for name in found[0]}
    print(mean)
    assert sum(one["lost"] for one in found) == 0
    assert sum(one["new"] for one in found) == 0
    assert max(one["duplicates"] for one in found) <= 0.2
    assert mean["untrue"] <= 0.2
    assert mean["past"] == 0
