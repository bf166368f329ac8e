"""What is remembered is listed by the turn itself, from the store, through every model (L9)."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from django.utils import timezone

from apps.chat.inspect.rebuild import rebuild_prompt
from apps.chat.models import Turn
from apps.conversations.models import Work
from apps.core.llm.blocks import read_block
from apps.memory.entries import create_memory
from apps.memory.lifecycle import create_atomic_memory
from apps.memory.models import LongTermMemory
from apps.profile.services import update_profile
from tests.support.answers import answer
from tests.support.http_server import ApiClient
from tests.support.scripted_model import ScriptedModel, refuse_with

pytestmark = [
    pytest.mark.spec("L9"),
    pytest.mark.long_except(
        "test_everything_active_is_listed_in_groups_without_a_model",
        "test_a_temporary_session_lists_nothing",
        "test_what_is_pending_or_ended_is_not_listed",
    ),
]

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)


def remember(client: ApiClient) -> None:
    user = client.user
    update_profile(user=user, changes={"reply_style": "short", "sections": {"family": "two sons"}}, now=NOW)
    create_memory(user=user, category="fact", key="home", value="York", now=NOW)
    create_memory(user=user, category="preference", key="likes", value=["tea", "skiing"], now=NOW)
    create_atomic_memory(user=user, content="My birthday is on 3 May.", timestamp=NOW, now=NOW)
    create_atomic_memory(
        user=user, content="I passed my exam.", timestamp=datetime(2026, 11, 2, 23, tzinfo=UTC), now=NOW
    )


def ask(client: ApiClient, message: str, **session: Any) -> dict[str, Any]:
    turn: dict[str, Any] = client.say(client.new_session(**session), message).raise_for_status().json()
    return turn


def test_everything_active_is_listed_in_groups_without_a_model(
    alice: ApiClient, bob: ApiClient, model: ScriptedModel
) -> None:
    alice.patch("/memory/settings", json={"memory.timezone": "Asia/Shanghai"}).raise_for_status()
    remember(alice)
    create_memory(user=bob.user, category="fact", key="home", value="Rome", now=NOW)
    model.default = refuse_with(400)
    turn = ask(alice, "What do you remember about me?")
    assert turn["assistant_message"]["content"] == (
        "This is everything I remember about you:\n\n"
        "**Profile**\n\n- Reply style: short\n- family: two sons\n\n"
        "**Facts**\n\n- home: York\n\n"
        "**Preferences**\n\n- likes: tea, skiing\n\n"
        "**From your conversations**\n\n2026-11-20\n\n- My birthday is on 3 May.\n\n"
        "2026-11-03\n\n- I passed my exam."
    )
    assert model.chat_requests == []
    assert (turn["commands"], turn["memories_used"], turn["memory_updates"]) == ([], [], [])
    assert turn["working_memory"]["turn_count"] == 1
    # Nothing was put before a model, and nothing is there to learn from.
    assert set(LongTermMemory.objects.values_list("access_count", flat=True)) == {0}
    assert not Work.objects.filter(kind=Work.Kind.EXTRACT).exists()


@pytest.mark.parametrize("question", ["你记得我什么？", "你都知道我些什么"])
def test_the_question_is_answered_in_its_own_language(alice: ApiClient, model: ScriptedModel, question: str) -> None:
    create_memory(user=alice.user, category="preference", key="喜欢", value=["茶", "滑雪"], now=NOW)
    assert ask(alice, question)["assistant_message"]["content"] == (
        "我记得关于你的全部内容如下：\n\n**偏好**\n\n- 喜欢: 茶、滑雪"
    )


def test_what_is_pending_or_ended_is_not_listed(alice: ApiClient, model: ScriptedModel) -> None:
    create_memory(user=alice.user, category="fact", key="home", value="York", now=NOW)
    create_memory(user=alice.user, category="fact", key="home", value="Leeds", now=timezone.now())
    say_so = [{"category": "fact", "key": "job", "value": "nurse", "source": "inferred", "confidence": 0.1}]
    model.script(answer(entries=say_so))
    ask(alice, "I work nights as a nurse, I guess.")
    content = ask(alice, "What do you remember about me?")["assistant_message"]["content"]
    assert "Leeds" in content
    assert "York" not in content
    assert "nurse" not in content


@pytest.mark.long
def test_of_a_long_list_the_newest_are_listed_and_the_rest_counted(alice: ApiClient, model: ScriptedModel) -> None:
    for number in range(53):
        create_atomic_memory(
            user=alice.user, content=f"Fact {number:02}.", timestamp=NOW.replace(minute=number), now=NOW
        )
    content = ask(alice, "What do you remember about me?")["assistant_message"]["content"]
    assert content.count("- Fact") == 50
    assert "Fact 02." not in content
    assert content.endswith("… and 3 more. All of them are in the memory panel: /admin/memory/atomicmemory/")


def test_commands_beside_the_question_are_carried_out_and_told(alice: ApiClient, model: ScriptedModel) -> None:
    remember(alice)
    turn = ask(alice, "Remember that I ski. Forget my birthday. What do you remember about me?")
    content = turn["assistant_message"]["content"]
    assert content.startswith("Stored: I ski.\n\nForgotten: My birthday is on 3 May.\n\nThis is everything")
    assert "- I ski." in content
    assert "- My birthday" not in content
    assert [item["status"] for item in turn["commands"]] == ["stored", "forgotten"]
    assert model.chat_requests == []


def test_a_temporary_session_lists_nothing(alice: ApiClient, model: ScriptedModel) -> None:
    remember(alice)
    content = ask(alice, "What do you remember about me?", temporary=True)["assistant_message"]["content"]
    assert content.startswith("This is a temporary conversation")
    assert model.chat_requests == []


def test_among_other_things_the_model_gets_everything_in_place_of_what_was_recalled(
    alice: ApiClient, model: ScriptedModel
) -> None:
    remember(alice)
    turn = ask(alice, "I am writing a letter to my aunt. What do you remember about me? Use it for the first line.")
    system = model.chat_requests[-1].messages[0]["content"]
    lines = [json.loads(line) for line in (read_block(system, "everything_remembered") or "").splitlines()]
    assert {line.get("key") or line["text"] for line in lines} == {
        "home", "likes", "My birthday is on 3 May.", "I passed my exam.",
    }  # fmt: skip
    assert [line["number"] for line in lines] == [1, 2, 3, 4]
    assert read_block(system, "memories") is None
    assert len(turn["memories_used"]) == 4
    assert set(LongTermMemory.objects.values_list("access_count", flat=True)) == {1}
    kept = Turn.objects.get(user=alice.user)
    assert rebuild_prompt(kept).exact is True


def test_a_composed_reply_has_no_prompt_to_rebuild(alice: ApiClient, model: ScriptedModel) -> None:
    turn = ask(alice, "What do you remember about me?")
    kept = Turn.objects.get(assistant_message=uuid.UUID(turn["assistant_message"]["id"]))
    prompt = rebuild_prompt(kept)
    assert (prompt.sent, prompt.layers, prompt.messages, kept.model) == (False, [], (), "")
