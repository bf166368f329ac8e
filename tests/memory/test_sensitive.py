"""Sensitive facts (D4): a model marks them, their owner's choice decides whether they are remembered."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.utils.translation import override

from apps.accounts.models import User
from apps.accounts.services.people import update_settings
from apps.accounts.types import Handling, Sensitive, SensitiveHandling
from apps.chat.models import Turn
from apps.conversations.models import Message
from apps.memory.changes.undo import undo_operation
from apps.memory.entries import create_memory
from apps.memory.judge.review import accept_memory, find_reason, reject_memory
from apps.memory.judge.types import (
    JudgedOperation,
    KnownMemory,
    Operation,
    Reason,
    Relation,
    Verdict,
)
from apps.memory.kinds import ATOMIC, KINDS, LONG_TERM
from apps.memory.lifecycle import count_marked, create_atomic_memory, merge_memories, update_memory
from apps.memory.marks import read_marks
from apps.memory.models import AtomicMemory, Change, LongTermMemory, Status
from apps.memory.recall.rounds import find_withheld
from apps.memory.transfer import export_memories, import_memories
from apps.memory.types import KindName
from apps.panel.turns import find_turn_effects
from tests.support import judged as judged_support
from tests.support.answers import answer
from tests.support.entries import entry, record
from tests.support.factories import UserFactory
from tests.support.http_server import ApiClient
from tests.support.judged import NOW, cite, say
from tests.support.scripted_model import ScriptedModel

pytestmark = [pytest.mark.django_db, pytest.mark.spec("D4")]

HEALTH = SensitiveHandling(health=Handling.EXCLUDE)
LITHIUM = "The user takes lithium."
YORK = "The user lives in York."


def hear(content: str = "I see a doctor.") -> Message:
    return say(UserFactory(), content)


def state(message: Message, *contents: tuple[str, list[str]], sensitive: SensitiveHandling, **verdict: Any) -> None:
    """Record what a judge made of a message; of each statement its content and its marks."""
    known, judged = verdict.pop("known", []), Verdict(**verdict)
    statements = [
        judged_support.state(message, content, verdict=judged, sensitive=marks) for content, marks in contents
    ]
    judged_support.record(message.user, statements, known=known, sensitive=sensitive)


def propose(message: Message, sensitive: SensitiveHandling, *, value: Any = "lithium", **fields: Any) -> list[Any]:
    """Record an entry that a model marked as health."""
    proposed = entry("medication", value, sensitive=["health"], **fields)
    return record(message.user, proposed, message=message, sensitive=sensitive, now=NOW)


@pytest.mark.parametrize("category", [*Sensitive])
@pytest.mark.parametrize("choice", [*Handling])
def test_each_choice_decides_for_its_category_in_both_kinds(category: Sensitive, choice: Handling) -> None:
    message = hear(content="I take lithium.")
    chosen = SensitiveHandling(**{category: choice})
    state(message, (LITHIUM, [category.value]), (YORK, []), sensitive=chosen)
    told = entry("told", "lithium", sensitive=[category.value])
    record(message.user, told, message=message, sensitive=chosen, now=NOW)
    marked = [row for kind in KINDS for row in kind.model.objects.all() if row.sensitive]
    statuses = {"remember": ["active"] * 2, "review": ["pending"] * 2, "exclude": []}
    assert [row.status for row in marked] == statuses[choice]
    assert all(row.sensitive == [category] for row in marked)
    assert AtomicMemory.objects.get(content=YORK).status == Status.ACTIVE
    message.refresh_from_db()
    assert message.not_remembered == ([category] if choice == Handling.EXCLUDE else None)
    # What waits or is left out comes back in no past round either.
    assert bool(find_withheld(message.user, [message.id])) is (choice != Handling.REMEMBER)


def test_the_strictest_of_several_marks_counts() -> None:
    chosen = SensitiveHandling(health=Handling.REVIEW, minors=Handling.EXCLUDE)
    assert chosen.decide(["health", "money"]) is Handling.REVIEW
    assert chosen.decide(["health", "minors"]) is Handling.EXCLUDE
    assert chosen.decide([]) is Handling.REMEMBER
    message = hear()
    state(message, ("The user's son has asthma.", ["health", "minors"]), sensitive=chosen)
    message.refresh_from_db()
    assert message.not_remembered == ["minors"]


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (["money", "health", "health"], ("health", "money")),
        ("Faith", ("faith",)),
        (["weather", 3, None], ()),
        (None, ()),
        ({"health": True}, ()),
    ],
)
def test_of_a_models_marks_what_is_a_category_counts(given: object, read: tuple[str, ...]) -> None:
    assert read_marks(given) == read


def test_what_is_excluded_still_ends_what_it_contradicts() -> None:
    message = hear("I stopped taking lithium.")
    user = message.user
    atomic, _new = create_atomic_memory(user=user, content="The user takes lithium. The user fences.", now=NOW)
    stated, _action = create_memory(user=user, category="fact", key="medication", value="lithium", now=NOW)
    known = [
        KnownMemory(KindName.ATOMIC, atomic.id, atomic.content, number=1),
        KnownMemory(KindName.LONG_TERM, stated.id, "medication: lithium", number=2),
    ]
    verdict = {"relation": Relation.CONTRADICTS, "targets": (1, 2), "left": "The user fences."}
    state(message, ("The user stopped lithium.", ["health"]), sensitive=HEALTH, known=known, **verdict)
    assert [row.content for row in ATOMIC.active(user)] == ["The user fences."]
    assert not LONG_TERM.active(user).exists()
    assert not AtomicMemory.objects.filter(content__contains="stopped").exists()
    (operation,) = set(Change.objects.filter(message=message).values_list("operation", flat=True))
    undo_operation(user=user, operation=operation, now=NOW)
    assert LONG_TERM.active(user).exists()


def test_what_its_owner_wrote_is_not_ended_by_what_is_excluded() -> None:
    message = hear()
    atomic, _new = create_atomic_memory(user=message.user, content=LITHIUM, now=NOW)
    known = [KnownMemory(KindName.ATOMIC, atomic.id, atomic.content, number=1, by_owner=True)]
    verdict = {"relation": Relation.CONTRADICTS, "targets": (1,)}
    state(message, ("The user stopped lithium.", ["health"]), sensitive=HEALTH, known=known, **verdict)
    assert [(row.content, row.status) for row in AtomicMemory.objects.all()] == [(LITHIUM, "active")]


@pytest.mark.parametrize(
    ("operation", "contents"),
    [
        (Operation.REPLACE, []),  # what it was is no longer true, and what it is now is excluded
        (Operation.ADD, [LITHIUM]),
        (Operation.END, []),
    ],
)
def test_an_excluded_change_ends_and_writes_nothing(operation: Operation, contents: list[str]) -> None:
    message = hear()
    atomic, _new = create_atomic_memory(user=message.user, content=LITHIUM, now=NOW)
    text = None if operation is Operation.END else "The user takes valproate."
    asked = JudgedOperation(operation=operation, targets=(1,), source=cite(message), text=text, sensitive=["health"])
    known = [KnownMemory(KindName.ATOMIC, atomic.id, atomic.content, number=1)]
    judged_support.record(message.user, [], operations=[asked], known=known, sensitive=HEALTH)
    assert [row.content for row in ATOMIC.active(message.user)] == contents
    message.refresh_from_db()
    assert message.not_remembered == (None if operation is Operation.END else ["health"])


@pytest.mark.parametrize("relation", [Relation.SAME, Relation.NEW])
@pytest.mark.parametrize("choice", [Handling.REVIEW, Handling.EXCLUDE])
def test_what_its_owner_had_remembered_stays_and_gets_the_mark(relation: Relation, choice: Handling) -> None:
    message = hear(content=f"Remember that: {LITHIUM}")
    atomic, _new = create_atomic_memory(user=message.user, content=LITHIUM, now=NOW)
    known = [KnownMemory(KindName.ATOMIC, atomic.id, atomic.content, number=1)]
    targets = (1,) if relation is Relation.SAME else ()
    chosen = SensitiveHandling(health=choice)
    state(message, (LITHIUM, ["health"]), sensitive=chosen, known=known, relation=relation, targets=targets)
    (row,) = AtomicMemory.objects.all()
    assert (row.status, row.sensitive) == (Status.ACTIVE, ["health"])
    message.refresh_from_db()
    assert message.not_remembered is None


def test_what_waits_says_why_and_becomes_a_memory_with_a_yes() -> None:
    message = hear()
    chosen = SensitiveHandling(health=Handling.REVIEW)
    state(message, (LITHIUM, ["health"]), ("The user has asthma.", ["health"]), sensitive=chosen)
    yes, no = AtomicMemory.objects.filter(status=Status.PENDING).order_by("-content")
    assert find_reason(yes) is Reason.SENSITIVE
    accept_memory(ATOMIC, user=message.user, memory_id=yes.id, now=NOW)
    reject_memory(ATOMIC, user=message.user, memory_id=no.id, now=NOW)
    assert [(row.content, row.sensitive) for row in ATOMIC.active(message.user)] == [(LITHIUM, ["health"])]
    (update,) = propose(message, chosen)
    assert update.action == "pending"
    accepted = accept_memory(LONG_TERM, user=message.user, memory_id=update.id, now=NOW)
    assert (accepted.status, accepted.sensitive) == (Status.ACTIVE, ["health"])
    # Said again it is known, and nobody is asked twice.
    assert [one.action for one in propose(message, chosen)] == ["refreshed"]


def test_taking_away_is_never_excluded() -> None:
    message = hear()
    create_memory(user=message.user, category="fact", key="medication", value=["lithium", "iron"], now=NOW)
    assert propose(message, HEALTH) == []
    propose(message, HEALTH, mode="remove")
    assert LONG_TERM.active(message.user).get().value == ["iron"]


def test_a_list_keeps_the_mark_of_what_it_holds() -> None:
    message = hear()
    propose(message, SensitiveHandling(), mode="add")
    record(message.user, entry("medication", "tea", mode="add"), at=NOW)
    found = LONG_TERM.active(message.user).get()
    assert (found.value, found.sensitive) == (["lithium", "tea"], ["health"])


def test_what_its_owner_does_by_hand_is_not_filtered(user: User) -> None:
    update_settings(user=user, changes={"memory.sensitive": {"health": "exclude"}})
    create_memory(user=user, category="fact", key="medication", value="lithium", sensitive=["health"], now=NOW)
    create_atomic_memory(user=user, content=LITHIUM, sensitive=["minors", "health", "health"], now=NOW)
    assert [kind.active(user).get().sensitive for kind in KINDS] == [["health"], ["health", "minors"]]
    assert count_marked(user) == {"health": 2, "minors": 1}


def test_marks_have_a_history_and_travel_with_files(user: User) -> None:
    for kind in KINDS:
        values = (
            {"content": LITHIUM} if kind is ATOMIC else {"category": "fact", "key": "medication", "value": "lithium"}
        )
        make = create_atomic_memory if kind is ATOMIC else create_memory
        memory, _how = make(user=user, now=NOW, **values)  # type: ignore[operator]
        update_memory(kind, user=user, memory_id=memory.id, changes={"sensitive": ["health"]}, now=NOW)
        edit = Change.objects.filter(object_id=memory.id, action=Change.Action.EDIT).latest("id")
        assert "sensitive" not in edit.before
        assert edit.after["sensitive"] == ["health"]
        (row,) = json.loads(b"".join(export_memories(user, kind)))
        assert row["sensitive"] == ["health"]
        undo_operation(user=user, operation=edit.operation, now=NOW)
        assert kind.get(user, memory.id).sensitive == []
        import_memories(user=user, kind=kind, items=[row], now=NOW)
        assert kind.get(user, memory.id).sensitive == ["health"]


def test_one_of_two_merged_gives_its_marks_to_the_other(user: User) -> None:
    kept, _new = create_atomic_memory(user=user, content=YORK, now=NOW)
    other, _new = create_atomic_memory(user=user, content=LITHIUM, sensitive=["health"], now=NOW)
    merge_memories(ATOMIC, user=user, kept_id=kept.id, merged_id=other.id, text=f"{YORK} {LITHIUM}", now=NOW)
    assert ATOMIC.active(user).get().sensitive == ["health"]


# The doors


def choose(user: User, **choices: str) -> None:
    update_settings(user=user, changes={"memory.sensitive": choices})


def test_a_turn_asks_for_marks_only_where_one_is_not_remembered(alice: ApiClient, model: ScriptedModel) -> None:
    session = alice.new_session()

    def ask() -> Any:
        alice.say(session, "Hello there").raise_for_status()
        return model.chat_requests[-1]

    plain = ask()
    assert "sensitive" not in json.dumps(plain.body)
    choose(alice.user, health="exclude")
    asked = ask()
    # What everybody's instructions are comes first, so that a server has it ready (C4).
    before, after = (one.body["messages"][0]["content"] for one in (plain, asked))
    assert after.startswith(before)
    assert 'of the kinds "health" into' in after
    assert "sensitive" in json.dumps(asked.body["response_format"])


@pytest.mark.parametrize(
    ("language", "sentence"),
    [("en", "Not remembered: “Health” is excluded."), ("zh-hans", "没有记住：已排除“健康”。")],
)
def test_what_a_turn_left_out_is_told(alice: ApiClient, model: ScriptedModel, language: str, sentence: str) -> None:
    choose(alice.user, health="exclude", money="review")
    entries = [
        {"category": "fact", "key": "medication", "value": "lithium", "sensitive": ["health"]},
        {"category": "fact", "key": "salary", "value": "4,000", "sensitive": ["money"]},
        {"category": "fact", "key": "home", "value": "York"},
    ]
    model.script(answer("I see.", entries=entries))
    session = alice.new_session()
    said = alice.say(session, "I take lithium, earn a salary of 4,000 and my home is York.").json()
    assert said["user_message"]["not_remembered"] == ["health"]
    assert [(one["key"], one["action"]) for one in said["memory_updates"]] == [
        ("salary", "pending"),
        ("home", "created"),
    ]
    assert not LongTermMemory.objects.filter(key="medication").exists()
    (shown, _reply) = alice.get(f"/chat/sessions/{session}/messages").json()["results"]
    assert shown["not_remembered"] == ["health"]
    with override(language):
        effects = find_turn_effects(Turn.objects.get())
        (category,) = map(str, effects["left_out"])
    assert category in sentence


def test_rest_takes_marks_filters_by_them_and_refuses_others(alice: ApiClient) -> None:
    for kind, body in (
        (LONG_TERM, {"category": "fact", "key": "medication", "value": "lithium"}),
        (ATOMIC, {"content": LITHIUM}),
    ):
        path = f"/memory/{kind.slug}"
        made = alice.post(path, json={**body, "sensitive": ["minors", "health"]}).json()
        assert made["sensitive"] == ["health", "minors"]
        assert [row["id"] for row in alice.get(path, params={"sensitive": "health"}).json()["results"]] == [made["id"]]
        assert alice.get(path, params={"sensitive": "money"}).json()["results"] == []
        now = {"sensitive": "health", "as_of": "2027-01-01"}
        assert len(alice.get(path, params=now).json()["results"]) == 1
        assert alice.post(path, json={**body, "sensitive": ["weather"]}).status_code == 400
        assert alice.get(path, params={"sensitive": "weather"}).status_code == 400
        changed = alice.patch(f"{path}/{made['id']}", json={"sensitive": []}).json()
        assert changed["sensitive"] == []
