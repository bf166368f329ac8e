"""Another embedding model in place: complete, resumable, and search goes on."""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from apps.accounts.models import User
from apps.connections.models import ConnectedModel, ModelServer
from apps.connections.services import save_server, set_default
from apps.core.db import fetch_rows
from apps.core.errors import Conflict, ModelUnavailable
from apps.memory.models import AtomicEmbedding, AtomicMemory, ConversationEmbedding, EmbeddingModel, LongTermEmbedding
from apps.memory.tasks import change_embedding_model
from apps.memory.vectors import reembedding
from apps.memory.vectors.embedders import check_active_model, check_embedding_model
from apps.memory.vectors.memories import fill_missing
from apps.memory.vectors.queries import search_conversations
from apps.memory.vectors.reembedding import (
    Progress,
    Stage,
    begin_reembedding,
    continue_reembedding,
    hold_reembedding,
    reembed,
)
from tests.memory.vectors.conftest import REMOTE, Say, refuse
from tests.support.factories import LongTermMemoryFactory
from tests.support.scripted_model import ScriptedModel, refuse_with

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.spec("V2"),
    pytest.mark.long_except(
        "test_everything_gets_a_vector_of_the_new_model_and_the_old_ones_go",
        "test_a_run_that_was_stopped_goes_on_where_it_was",
        "test_workers_do_it_bit_by_bit",
    ),
]

LOCAL, CHOSEN = "local/use-m3-512", "chosen"
Embed = Callable[..., int]


def run(*arguments: str) -> str:
    """Run the command; return what it printed."""
    output = io.StringIO()
    call_command("reembed", *arguments, stdout=output, stderr=output)
    return output.getvalue()


def models() -> dict[str, str]:
    return dict(EmbeddingModel.objects.values_list("name", "state"))


def count_rows(table: Any) -> dict[str, int]:
    """How many vectors there are of each model."""
    counts: dict[str, int] = {}
    for (name,) in table.objects.values_list("model__name"):
        counts[name] = counts.get(name, 0) + 1
    return counts


def begin(*, batch: int, steps: int = 1) -> None:
    """Leave a run after so many steps."""
    with hold_reembedding():
        progress = reembed(name=REMOTE, batch=batch)
        for _ in range(steps):
            next(progress, None)
        progress.close()


@pytest.fixture
def filled(say: Say, embed: Embed, user: User, session: object) -> None:
    """Six messages, one of them in parts, and memories of both kinds, embedded by the local model."""
    messages = [say(f"message {number} 第{number}句") for number in range(4)]
    messages += [say("要点", "summary"), say("一句很长的话，说的是天气。" * 100)]
    embed(*messages)
    LongTermMemoryFactory.create(user=user, key="颜色", value="蓝色")
    for content in ("用户住在北京。", "The user has a cat."):
        AtomicMemory.objects.create(user=user, content=content, normalized_content=content, terms=[], term_count=0)
    fill_missing()


def test_everything_gets_a_vector_of_the_new_model_and_the_old_ones_go(filled: None, remote: ScriptedModel) -> None:
    assert count_rows(ConversationEmbedding) == {LOCAL: 7}

    output = run("--batch", "2")

    assert models() == {REMOTE: "active"}
    assert count_rows(ConversationEmbedding) == {REMOTE: 6}  # the long one in one part: this model reads more at once
    assert count_rows(AtomicEmbedding) == {REMOTE: 2}
    assert count_rows(LongTermEmbedding) == {REMOTE: 1}
    assert output == (f"Search uses {REMOTE}. Embedded now: 6 messages, 3 memories; 10 old vectors deleted.\n")
    assert max(len(request.body["input"]) for request in remote.embedding_requests) == 2


@pytest.mark.spec("R1")
def test_a_message_without_a_vector_gets_none(filled: None, remote: ScriptedModel) -> None:
    kept = ConversationEmbedding.objects.get(content="message 0 第0句")
    ConversationEmbedding.objects.exclude(id=kept.id).delete()

    run()

    assert list(ConversationEmbedding.objects.values_list("message", flat=True)) == [kept.message_id]


def test_a_run_that_was_stopped_goes_on_where_it_was(filled: None, remote: ScriptedModel) -> None:
    begin(batch=2)

    assert models() == {LOCAL: "active", REMOTE: "building"}
    assert count_rows(ConversationEmbedding) == {LOCAL: 7, REMOTE: 2}
    remote.requests.clear()

    assert "4 messages, 3 memories" in run("--batch", "2")
    texts = [text for request in remote.embedding_requests for text in request.body["input"]]
    assert len(texts) == len(set(texts)) == 4 + 3 + 1  # and the trial at the start
    assert models() == {REMOTE: "active"}
    assert count_rows(ConversationEmbedding) == {REMOTE: 6}


@pytest.mark.parametrize("steps", range(1, 12))
def test_wherever_it_was_stopped_it_can_be_run_again(filled: None, remote: ScriptedModel, steps: int) -> None:
    begin(batch=1, steps=steps)
    run()

    assert models() == {REMOTE: "active"}
    assert (count_rows(ConversationEmbedding), count_rows(AtomicEmbedding)) == ({REMOTE: 6}, {REMOTE: 2})


def test_search_answers_throughout(filled: None, remote: ScriptedModel, user: User) -> None:
    with hold_reembedding():
        for _step in reembed(name=REMOTE, batch=1):
            found = search_conversations(user=user, query="message 2 第2句", top_k=1, threshold=0.9)
            assert [match.content for match in found] == ["message 2 第2句"]


def test_what_is_said_meanwhile_is_not_lost(
    filled: None, remote: ScriptedModel, say: Say, embed: Embed, user: User
) -> None:
    with hold_reembedding():
        steps = reembed(name=REMOTE, batch=3)
        next(steps)
        embed(say("said meanwhile 一"))
        late = say("said meanwhile 二")
        embed(late)
        # As a worker leaves it that made its vectors before there was a second model.
        ConversationEmbedding.objects.filter(message=late, model__name=REMOTE).delete()
        for _step in steps:
            pass

    for text in ("said meanwhile 一", "said meanwhile 二"):
        (found,) = search_conversations(user=user, query=text, top_k=1, threshold=0.99)
        assert found.content == text
    assert count_rows(ConversationEmbedding) == {REMOTE: 8}


def test_a_text_that_the_new_model_refuses_does_not_stop_it(filled: None, remote: ScriptedModel) -> None:
    remote.embed = refuse("message 1", "cat")
    run()

    assert models() == {REMOTE: "active"}
    assert (count_rows(ConversationEmbedding), count_rows(AtomicEmbedding)) == ({REMOTE: 5}, {REMOTE: 1})


def test_what_was_refused_before_it_was_stopped_is_offered_again(filled: None, remote: ScriptedModel) -> None:
    remote.embed = refuse("颜色", "cat")
    with hold_reembedding():
        steps = reembed(name=REMOTE)
        while (step := next(steps)).stage is not Stage.MEMORIES or step.done < step.total:
            pass
        steps.close()
    assert (count_rows(AtomicEmbedding), count_rows(LongTermEmbedding)) == ({LOCAL: 2, REMOTE: 1}, {LOCAL: 1})

    remote.embed = refuse()
    assert "0 messages, 2 memories" in run()
    assert models() == {REMOTE: "active"}
    assert (count_rows(AtomicEmbedding), count_rows(LongTermEmbedding)) == ({REMOTE: 2}, {REMOTE: 1})


def test_a_worker_that_met_a_refusal_meanwhile_does_not_hide_the_memory(
    filled: None, remote: ScriptedModel, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written after its kind was done, and refused when a worker's sweep offered it to the new model."""
    switch = reembedding._switch

    def write_first(**given: Any) -> bool:
        monkeypatch.setattr(reembedding, "_switch", switch)
        AtomicMemory.objects.create(user=user, content="late", normalized_content="late", terms=[], term_count=0)
        remote.embed = refuse("late")
        fill_missing()
        remote.embed = refuse()
        return switch(**given)

    monkeypatch.setattr(reembedding, "_switch", write_first)
    run()

    assert models() == {REMOTE: "active"}
    assert count_rows(AtomicEmbedding) == {REMOTE: 3}


def test_nothing_to_do(filled: None, scripted_model: ScriptedModel) -> None:
    before = ConversationEmbedding.objects.count()
    assert "0 messages, 0 memories; 0 old vectors" in run()

    assert (models(), ConversationEmbedding.objects.count()) == ({LOCAL: "active"}, before)


def test_a_model_that_was_begun_can_be_given_up(filled: None, remote: ScriptedModel) -> None:
    begin(batch=2)
    output = run("--model", LOCAL)

    assert models() == {LOCAL: "active"}
    assert count_rows(ConversationEmbedding) == {LOCAL: 7}
    assert f"Set EMBEDDING_MODEL={LOCAL}" in output


def test_a_model_that_cannot_be_asked_changes_nothing(filled: None, remote: ScriptedModel) -> None:
    remote.embed = lambda texts: refuse_with(401)
    with pytest.raises(CommandError, match="Check OPENAI_API_KEY"):
        run()

    assert models() == {LOCAL: "active"}


@pytest.mark.parametrize("batch", ["0", "1001"])
def test_a_batch_of_a_size_that_makes_no_sense(batch: str) -> None:
    with pytest.raises(CommandError, match="from 1 to 1000"):
        run("--batch", batch)


@pytest.fixture
def elsewhere(transactional_db: None) -> Callable[[Callable[[], object]], list[Exception]]:
    """Run something in another thread, with a connection of its own; return what it raised."""

    def call(work: Callable[[], object]) -> list[Exception]:
        raised: list[Exception] = []

        def target() -> None:
            try:
                work()
            except Exception as error:
                raised.append(error)
            finally:
                connection.close()

        thread = threading.Thread(target=target)
        thread.start()
        thread.join(200)
        return raised

    return call


LOCKED_BY_OTHERS = """
SELECT state FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE locktype = 'advisory' AND datname = current_database() AND pid <> pg_backend_pid()
"""


def test_two_runs_at_once_are_refused(elsewhere: Callable[[Callable[[], object]], list[Exception]]) -> None:
    def hold() -> None:
        with hold_reembedding():
            pass

    with hold_reembedding():
        assert fetch_rows(LOCKED_BY_OTHERS, {}) == [("idle in transaction",)]  # which a pooler leaves its connection
        (error,) = elsewhere(hold)
    assert isinstance(error, Conflict)
    assert elsewhere(hold) == []


END_LOCK = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE state = 'idle in transaction' AND datname = current_database() AND pid <> pg_backend_pid()
"""

LOST = r"^The database failed \(terminating connection.*\)\. Progress is kept; run the command again to continue\.$"


def test_a_run_whose_lock_is_lost_ends_and_can_be_run_again(
    filled: None, remote: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[Any] = []
    with monkeypatch.context() as patch:
        end_lock = nullcontext(lambda _progress: ended.extend(fetch_rows(END_LOCK, {})))
        patch.setattr("apps.memory.management.commands.reembed._show", lambda: end_lock)
        with pytest.raises(CommandError, match=LOST):
            run("--batch", "2")
    assert (ended, models()) == ([(True,)], {LOCAL: "active", REMOTE: "building"})
    run()
    assert models() == {REMOTE: "active"}


def test_so_does_one_that_loses_the_connection_it_works_on(
    elsewhere: Callable[[Callable[[], object]], list[Exception]],
    filled: None,
    remote: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended: list[Any] = []

    def end(_progress: Progress) -> None:
        ((pid,),) = fetch_rows("SELECT pg_backend_pid()", {})
        other = connection.copy()
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
            ended.extend(cursor.fetchall())
        other.close()

    with monkeypatch.context() as patch:
        patch.setattr("apps.memory.management.commands.reembed._show", lambda: nullcontext(end))
        (error,) = elsewhere(lambda: run("--batch", "2"))
    assert isinstance(error, CommandError)
    assert re.match(LOST, str(error))
    assert (ended, models()) == ([(True,)], {LOCAL: "active", REMOTE: "building"})
    run()
    assert models() == {REMOTE: "active"}


# What is configured, and what is stored


def test_the_check_says_in_plain_words_that_the_model_was_changed(filled: None, remote: ScriptedModel) -> None:
    (warning,) = check_active_model(databases=["default"])
    assert warning.msg == f"EMBEDDING_MODEL selects {REMOTE}, but the stored vectors are of {LOCAL}."
    assert warning.hint == f"Search uses {LOCAL} until you run `manage.py reembed`."

    run()
    assert check_active_model(databases=["default"]) == []


def test_before_the_first_vector_there_is_nothing_to_say_or_to_change() -> None:
    assert check_active_model(databases=["default"]) == []
    assert check_active_model(databases=None) == []
    assert not begin_reembedding(CHOSEN)
    assert not continue_reembedding(seconds=60)
    assert models() == {}


def test_an_address_without_a_model_is_told(settings: Any) -> None:
    settings.EMBEDDING_MODEL, settings.EMBEDDING_BASE_URL = "", "http://127.0.0.1:1/v1"
    (warning,) = check_embedding_model()
    assert "the local embedding model is used" in warning.msg

    settings.EMBEDDING_MODEL = "x"
    assert check_embedding_model() == []


# A change that was decided in the panel, carried out by workers


@pytest.fixture
def chosen(filled: None, scripted_model: ScriptedModel) -> ScriptedModel:
    """A connected embedding model, which somebody chose."""
    save_server(name="Here", base_url=scripted_model.base_url, api_key=None, chat=[], embedding=[CHOSEN])
    set_default(kind="embedding", model_id=ConnectedModel.objects.get().pk)
    assert begin_reembedding(CHOSEN)
    return scripted_model


def finish(seconds: float = 0) -> int:
    """Run the task as often as it asks for; return how often."""
    for times in range(1, 100):
        if not continue_reembedding(seconds=seconds):
            return times
    raise AssertionError("it never ends")


def test_workers_do_it_bit_by_bit(chosen: ScriptedModel) -> None:
    assert models() == {LOCAL: "active", CHOSEN: "building"}
    assert check_active_model(databases=["default"]) == []  # a change under way is no finding
    assert finish() > 2
    assert models() == {CHOSEN: "active"}
    assert set(ConversationEmbedding.objects.values_list("model__name", flat=True)) == {CHOSEN}
    assert set(LongTermEmbedding.objects.values_list("model__name", flat=True)) == {CHOSEN}
    assert not continue_reembedding(seconds=0)


def test_the_task_calls_for_itself_while_some_is_left(chosen: ScriptedModel, monkeypatch: Any) -> None:
    called: list[bool] = []
    monkeypatch.setattr("apps.memory.tasks.SECONDS_AT_ONCE", 0)
    monkeypatch.setattr(change_embedding_model, "delay", lambda: called.append(True))
    while change_embedding_model():
        assert len(called) < 100
    assert called
    assert models() == {CHOSEN: "active"}


def test_a_model_that_does_not_answer_is_asked_again_later(chosen: ScriptedModel) -> None:
    chosen.script_embeddings(refuse_with(401), refuse_with(401))
    with pytest.raises(ModelUnavailable):
        continue_reembedding(seconds=60)
    assert change_embedding_model() is False  # the task ends quietly
    assert models() == {LOCAL: "active", CHOSEN: "building"}
    assert finish(seconds=60) == 1
    assert models() == {CHOSEN: "active"}


@pytest.mark.django_db(transaction=True)
def test_two_workers_do_not_do_it_twice(chosen: ScriptedModel) -> None:
    with hold_reembedding():
        chosen.requests.clear()
        assert not continue_reembedding(seconds=60)
    assert chosen.embedding_requests == []
    assert models() == {LOCAL: "active", CHOSEN: "building"}


def test_what_was_begun_by_hand_is_left_to_hands(filled: None, scripted_model: ScriptedModel, settings: Any) -> None:
    settings.EMBEDDING_BASE_URL = scripted_model.base_url
    steps = reembed(name="by-hand", batch=1)
    next(steps)
    steps.close()
    assert not continue_reembedding(seconds=60)
    assert models() == {LOCAL: "active", "by-hand": "building"}


def test_a_choice_may_be_taken_back_halfway(chosen: ScriptedModel) -> None:
    assert continue_reembedding(seconds=0)
    set_default(kind="embedding", model_id=None)
    assert begin_reembedding(LOCAL)
    assert models() == {LOCAL: "active", CHOSEN: "retired"}
    with pytest.raises(Conflict):
        begin_reembedding(CHOSEN)
    finish()
    assert models() == {LOCAL: "active"}
    assert set(ConversationEmbedding.objects.values_list("model__name", flat=True)) == {LOCAL}
    ModelServer.objects.all().delete()
