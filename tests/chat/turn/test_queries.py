"""How many queries a turn takes, from the request's arrival to the stored reply."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db.backends.utils import CursorWrapper

from tests.support.answers import answer
from tests.support.factories import LongTermMemoryFactory
from tests.support.http_server import ApiClient
from tests.support.scripted_model import ScriptedModel

pytestmark = pytest.mark.long
# From the request's arrival to the stored reply, however much is remembered. Three of them find past rounds, two ask
# which model answers and which files the session has.
QUERIES = 19
# What storing new memories takes besides: whether remembering was paused, the session's space, the lock, tombstones,
# the rows under the same keys, one UPDATE and one INSERT, one INSERT of the audit records, the sentences that say what
# was replaced, and which models have vectors and their INSERT.
STORING = 11


@contextmanager
def recorded_queries(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Record every statement of every thread of this process."""
    statements: list[str] = []

    def recording(run: Callable[..., Any]) -> Callable[..., Any]:
        def record(self: CursorWrapper, sql: Any, params: Any = None) -> Any:
            statements.append(str(sql))
            return run(self, sql, params)

        return record

    with monkeypatch.context() as patch:
        for name in ("execute", "executemany"):
            patch.setattr(CursorWrapper, name, recording(getattr(CursorWrapper, name)))
        yield statements


def turn_queries(
    client: ApiClient, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, *, entries: list[dict[str, Any]]
) -> list[str]:
    session = client.new_session()
    client.say(session, "你好，我住在上海，对虾过敏，喜欢红色").raise_for_status()
    model.script(answer("蓝色", entries=entries, topic="颜色", variables={"a": 1}))
    with recorded_queries(monkeypatch) as statements:
        turn = client.say(session, "我喜欢的颜色是什么").raise_for_status().json()
    assert turn["memories_used"]
    assert len(turn["memory_updates"]) == len(entries)
    return statements


def remember(client: ApiClient, count: int) -> None:
    for number in range(count):
        LongTermMemoryFactory(user=client.user, key=f"喜欢的颜色{number}", value="蓝色")


def test_a_turn_that_recalls_takes_few_queries_and_no_more_with_more_memories(
    alice: ApiClient, bob: ApiClient, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
):
    remember(alice, 10)
    remember(bob, 100)
    few = turn_queries(alice, model, monkeypatch, entries=[])
    many = turn_queries(bob, model, monkeypatch, entries=[])
    assert len(few) == len(many)
    assert len(few) == QUERIES, "\n".join(few)


def test_a_turn_that_stores_memories_takes_little_more(
    alice: ApiClient, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
):
    remember(alice, 10)
    entries = [
        {"category": "preference", "key": "喜欢的颜色1", "value": "红色"},
        {"category": "fact", "key": "居住地", "value": "上海"},
        {"category": "fact", "key": "过敏", "value": "虾", "mode": "add"},
    ]
    statements = turn_queries(alice, model, monkeypatch, entries=entries)
    assert len(statements) == QUERIES + STORING, "\n".join(statements)
