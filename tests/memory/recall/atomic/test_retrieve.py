"""Hybrid retrieval of atomic memories from end to end (A4)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from apps.accounts.models import User
from apps.accounts.services.people import update_settings
from apps.conversations.sessions import create_session
from apps.core.times import TimeRange
from apps.memory.lifecycle import create_atomic_memories
from apps.memory.models import AtomicEmbedding, AtomicMemory
from apps.memory.recall.atomic import find_similar_memories, retrieve_atomic_memories
from apps.memory.recall.both import get_relevant_memories, search_memories
from apps.memory.types import AtomicDraft, ScoredAtomicMemory
from apps.memory.vectors.queries import QueryEmbedding, embed_query
from tests.memory.recall.atomic.conftest import NOW, Remember, asked
from tests.support.factories import LongTermMemoryFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("A4")]


def retrieve(
    user: User, query: str, embedding: QueryEmbedding | None = None, **options: Any
) -> list[ScoredAtomicMemory]:
    return retrieve_atomic_memories(user=user, query=query, query_embedding=embedding, **{"limit": 5, **options})


def contents(found: list[ScoredAtomicMemory]) -> list[str]:
    return [memory.candidate.content for memory in found]


def test_words_and_meaning_count_alike(user: User, remember: Remember) -> None:
    remember("tea tea tea", at=(-1, 0))
    remember("The user likes tea.", at=(1, 0.2))
    remember("A hot drink in the morning.", at=(1, 0.1))
    found = retrieve(user, "tea", asked(1))
    assert contents(found)[0] == "The user likes tea."  # good in both, best in neither
    assert [memory.score for memory in found] == sorted((memory.score for memory in found), reverse=True)
    drink = next(memory for memory in found if memory.candidate.content.startswith("A hot"))
    assert drink.keyword_score == 0
    assert drink.semantic_score == pytest.approx(0.995, abs=1e-3)


def test_without_a_vector_words_alone_answer(user: User, remember: Remember) -> None:
    remember("用户在学钢琴。")
    remember("用户在学钢琴，老师姓王，每周六上午上课，已经学了三年。")
    remember("The user lives in Berlin.")
    found = retrieve(user, "我的钢琴课怎么样了")
    assert set(contents(found)) == {"用户在学钢琴。", "用户在学钢琴，老师姓王，每周六上午上课，已经学了三年。"}
    assert {memory.semantic_score for memory in found} == {0.0}


def test_no_absolute_similarity_decides(user: User, remember: Remember) -> None:
    remember("The user lives in Berlin.", at=(0.1, 1))
    found = retrieve(user, "unrelated", asked(1, min_similarity=0.99), only_outstanding=True)
    assert contents(found) == ["The user lives in Berlin."]
    assert retrieve(user, "unrelated") == []  # without a vector only words can tell


@pytest.mark.long
def test_among_many_only_what_stands_out_is_shown(user: User, remember: Remember) -> None:
    drafts = [AtomicDraft(content=f"Remark {number}.") for number in range(200)]
    create_atomic_memories(user=user, drafts=drafts, now=NOW)
    for number, embedding in enumerate(AtomicEmbedding.objects.all()):
        near = 0.5 + 0.05 * (-1) ** number
        AtomicEmbedding.objects.filter(pk=embedding.pk).update(embedding=[near, 1.0, *[0.0] * 1534])
    assert retrieve(user, "unrelated", asked(1), only_outstanding=True) == []
    assert len(retrieve(user, "unrelated", asked(1))) == 5  # a search ranks whatever there is
    remember("The flight leaves at 7:40.", at=(1, 0.1))
    found = retrieve(user, "unrelated", asked(1), only_outstanding=True)
    assert contents(found) == ["The flight leaves at 7:40."]
    remember("Number 5 has a garden.", at=(0.4, 1))
    worded = retrieve(user, "garden", asked(0, 0, 1), only_outstanding=True)
    assert contents(worded)[0] == "Number 5 has a garden."


def test_a_paraphrase_is_found_by_the_local_embedder(user: User, remember: Remember) -> None:
    remember("用户养了一只猫。")
    remember("The user works as a nurse in a hospital.")
    remember("用户住在上海。")
    for query, content in [
        ("I have a kitten at home", "用户养了一只猫。"),
        ("她是一名护士", "The user works as a nurse in a hospital."),
    ]:
        embedding = embed_query(query, deadline=30)
        found = retrieve(user, query, embedding)
        assert contents(found)[:1] == [content]
        assert found[0].keyword_score == 0


def test_a_query_may_be_a_whole_dialogue(user: User, remember: Remember) -> None:
    remember("Bart practised a magic trick for the school party.")
    remember("Bart ate an apple.")
    dialogue = "Bart: Guess what!\nAssistant: What is it?\nBart: I will show a magic trick at the party, a magic one!"
    assert contents(retrieve(user, dialogue))[0] == "Bart practised a magic trick for the school party."


def test_the_limit_and_the_order_of_equals(user: User, remember: Remember) -> None:
    for days in (1, 3, 2):
        remember("The user drank tea.", timestamp=NOW + timedelta(days=days))
    found = retrieve(user, "tea", limit=2)
    assert [memory.candidate.timestamp for memory in found] == [NOW + timedelta(days=3), NOW + timedelta(days=2)]
    assert [retrieve(user, "tea", limit=limit) for limit in (0, -1)] == [[], []]


def test_by_name_it_answers_as_a_turn_does(user: User, remember: Remember) -> None:
    for number in range(7):
        remember(f"用户喝了{number}杯咖啡。")
    assert len(get_relevant_memories(user=user, query="咖啡")) == 5
    assert len(get_relevant_memories(user=user, query="咖啡", top_n=7)) == 7
    update_settings(user=user, changes={"memory.rag_top_n": 3})
    assert len(get_relevant_memories(user=user, query="咖啡")) == 3


def test_a_search_by_name_finds_both_kinds_within_the_time(user: User, remember: Remember) -> None:
    for days in (0, 10):
        remember(f"第{days}天喝了咖啡。", timestamp=NOW + timedelta(days=days))
        LongTermMemoryFactory.create(user=user, key=f"第{days}天的咖啡", value="拿铁", now=NOW + timedelta(days=days))
    LongTermMemoryFactory.create(key="咖啡", value="别人的")
    kinds = [memory.kind for memory in search_memories(user=user, keyword="咖啡")]
    assert kinds == ["long_term", "atomic", "long_term", "atomic"]
    for bounds, day in (({"since": NOW + timedelta(days=1)}, 10), ({"until": NOW + timedelta(days=1)}, 0)):
        found = search_memories(user=user, keyword="咖啡", time_range=TimeRange(**bounds))
        assert {memory.text for memory in found} == {f"第{day}天喝了咖啡。", f"第{day}天的咖啡: 拿铁"}
        assert {memory.time for memory in found} == {NOW + timedelta(days=day)}
    nobody = User.objects.create(username="nobody")
    assert search_memories(user=nobody, keyword="咖啡") == []


def test_bounds_of_time_are_included_and_statistics_know_none(user: User, remember: Remember) -> None:
    for days in range(4):
        remember(f"tea {days}", timestamp=NOW + timedelta(days=days), at=(1, days))
    every = {memory.candidate.content: memory.keyword_score for memory in retrieve(user, "tea")}
    bounds = {"since": NOW + timedelta(days=1), "until": NOW + timedelta(days=2)}
    found = retrieve(user, "tea", asked(1), **bounds)
    assert set(contents(found)) == {"tea 1", "tea 2"}
    assert {memory.candidate.content: memory.keyword_score for memory in found} == {
        content: every[content] for content in ("tea 1", "tea 2")
    }


@pytest.mark.parametrize("query", ["上个月我喝了什么？", "what tea did I have last month"])
def test_a_time_that_is_named_is_seen_from_now(user: User, remember: Remember, query: str) -> None:
    for month in (2, 3, 4):
        remember(f"茶 {month} 月", timestamp=NOW.replace(month=month))
    found = retrieve(user, f"{query} 茶", now=NOW.replace(month=4, day=20))
    assert contents(found)[0] == "茶 3 月"


def test_in_a_conversation_the_answer_need_not_have_the_words(user: User) -> None:
    session_id = create_session(user=user, title="").id
    texts = ["Ann: Which tea do you drink?", "Bo: Sencha.", "Ann: Nice.", "Bo: And rain again.", "Ann: Yes.", "Bo: Hm."]
    drafts = [AtomicDraft(content=text, timestamp=NOW, session_id=session_id) for text in texts]
    create_atomic_memories(user=user, drafts=drafts, now=NOW)
    AtomicEmbedding.objects.all().delete()
    assert contents(retrieve(user, "Which tea does Bo drink?"))[0] == "Bo: Sencha."


@pytest.mark.spec("A3")
def test_what_is_most_like_a_text_is_found_by_words_and_meaning_alone(user: User, remember: Remember) -> None:
    both = remember("The user likes tea.", at=(1, 0.2))
    long = remember(f"The user likes tea, and {'very much else of no interest ' * 5}", at=(0.2, 1))
    meaning = remember("A hot drink in the morning.", at=(1, 0))
    muted = remember("tea again", at=(1, 0.1))
    AtomicMemory.objects.filter(id=muted.id).update(muted=True)
    found = find_similar_memories(user=user, text="likes tea", limit=9, query_embedding=asked(1))
    assert found[0] == both.id
    assert set(found) == {both.id, long.id, meaning.id}
    everything = find_similar_memories(user=user, text="tea", limit=9, query_embedding=asked(1), with_withheld=True)
    assert muted.id in everything
    assert find_similar_memories(user=user, text="tea", limit=1, query_embedding=None) == [both.id]
    assert find_similar_memories(user=user, text="", limit=9, query_embedding=None) == []


@pytest.mark.parametrize(
    "question", ["What did I do yesterday?", "我昨天做了什么？", "What happened yesterday?", "昨天有什么事？"]
)
def test_a_question_of_a_time_alone_finds_what_is_from_then(user: User, remember: Remember, question: str) -> None:
    yesterday = NOW - timedelta(days=1)
    remember("I painted the fence.", timestamp=yesterday, at=(0, 1))
    remember("We had dinner with Lin.", timestamp=NOW, event_start=yesterday, at=(0, 0, 1))
    remember("I did a lot of things.", timestamp=NOW - timedelta(days=9), at=(1,))
    found = retrieve(user, question, asked(1), only_outstanding=True, now=NOW)
    assert set(contents(found)) == {"I painted the fence.", "We had dinner with Lin."}
