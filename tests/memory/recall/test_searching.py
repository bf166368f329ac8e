"""What people look for in memories is found, whatever its form: in lists and by rank, in both kinds (K1, K3, A4)."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime

import pytest

from apps.accounts.models import User
from apps.memory.entries import create_memory
from apps.memory.kinds import ATOMIC, LONG_TERM
from apps.memory.lifecycle import create_atomic_memory
from apps.memory.recall.atomic import retrieve_atomic_memories
from apps.memory.recall.long_term import retrieve_relevant_memories

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)

SOUGHT = [
    ("🐱", "我养了一只🐱叫咪咪"),
    ("咪", "我养了一只🐱叫咪咪"),
    ("咪？", "我养的猫是小咪"),
    ("养", "我养了一只🐱叫咪咪"),
    ("👍", "They said 👍🏽 to it"),
    ("🇫🇷", "She has a 🇫🇷 passport"),
    ("cafe", "We met in the café"),
    ("café", "We met in the cafe"),
    ("cafe", f"We met in the {unicodedata.normalize('NFD', 'café')}"),
    ("jose", "Su nombre es José"),
    ("1605", "The part is ASR1605"),
    ("2077", "在玩Cyberpunk2077"),
    ("ＡＳＲ1605", "The part is asr1605"),
    ("パナソニック", "ﾊﾟﾅｿﾆｯｸのテレビ"),
]


@pytest.mark.spec("A4")
@pytest.mark.parametrize(("query", "text"), SOUGHT)
def test_an_atomic_memory_is_found(user: User, query: str, text: str) -> None:
    for content in (text, "用户在学钢琴。", "The user plays tennis on 16 May."):
        create_atomic_memory(user=user, content=content, now=NOW)
    assert [memory.content for memory in ATOMIC.search(ATOMIC.rows(user), query)] == [text]
    found = retrieve_atomic_memories(user=user, query=query, limit=5, query_embedding=None)
    assert [memory.candidate.content for memory in found][:1] == [text]


@pytest.mark.long
@pytest.mark.spec("K1", "K3", "M1")
@pytest.mark.parametrize(("query", "text"), SOUGHT)
def test_an_entry_is_found(user: User, query: str, text: str) -> None:
    for key, value in (("note", text), ("hobby", "钢琴"), ("sport", "tennis on 16 May")):
        create_memory(user=user, category="fact", key=key, value=value, now=NOW)
    assert [memory.value for memory in LONG_TERM.search(LONG_TERM.rows(user), query)] == [text]
    found = retrieve_relevant_memories(user=user, message=query, limit=5)
    assert [memory.candidate.value for memory in found] == [text]


@pytest.mark.spec("A4")
def test_one_character_is_found_wherever_it_is(user: User) -> None:
    for content in ("咪是猫", "小咪很乖", "它叫咪咪", "The cat"):
        create_atomic_memory(user=user, content=content, now=NOW)
    found = retrieve_atomic_memories(user=user, query="咪", limit=5, query_embedding=None)
    assert {memory.candidate.content for memory in found} == {"咪是猫", "小咪很乖", "它叫咪咪"}
    assert ATOMIC.search(ATOMIC.rows(user), "咪").count() == 3
