"""What speaks for a memory, by hand: each feature on a few rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.memory.recall.atomic import load_weights, rank, weigh
from apps.memory.recall.features import (
    EARLIER,
    FEATURES,
    AtomicRecall,
    compute_features,
    compute_keyword_scores,
    find_named,
    find_turns,
    standardize,
)
from apps.memory.recall.query import AtomicQuery
from benchmarks import train_ranking

pytestmark = pytest.mark.spec("A4")

DAY = 86_400.0

TALK = [
    "Anna: What did you do at the weekend?",
    "Ben: I built a canoe.",
    "Anna: Wow! How long did it take?",
    "Ben: Two months, mostly evenings.",
    "Anna: I should get out more, too.",
    "Ben: Come along, the lake is lovely.",
]


def make_recall(
    contents: Sequence[str],
    query: str = "",
    *,
    earlier: str = "",
    sessions: Sequence[int] | None = None,
    **columns: Any,
) -> AtomicRecall:
    """Memories with these contents, in this order; of one session unless said."""
    asked = AtomicQuery(query, earlier=earlier)
    return train_ranking.make_recall(contents, asked, sessions=sessions or [0] * len(contents), **columns)


def feature(name: str, recall: AtomicRecall, query: str, *, times: Sequence[tuple[float, float]] = ()) -> list[float]:
    return compute_features(recall, AtomicQuery(query), times=times)[name].round(6).tolist()


def test_bm25_by_hand() -> None:
    # A term in two of four memories, whose average length is 3: idf = ln(1 + (4 − 2 + ½) / (2 + ½)) = ln 2.
    contents = ["tea tea tea", "tea rain sun moon rain sun", "rain sun", "moon"]
    scores = compute_keyword_scores(make_recall(contents, "tea"), AtomicQuery("tea"))
    # The norms are 0.9, and for twice the average length 0.9 · (1 − 0.4 + 0.4 · 2) = 1.26.
    assert scores == pytest.approx([math.log(2) * 5.7 / 3.9, math.log(2) * 1.9 / 2.26, 0, 0])


@pytest.mark.parametrize(
    ("numbers", "scores"),
    [
        ([2.0, 4, 4, 4, 5, 5, 7, 9], [-1.5, -0.5, -0.5, -0.5, 0, 0, 1, 2]),
        ([1, np.nan, 3], [-1, 0, 1]),  # what is not known is average
        ([np.nan, np.nan], [0, 0]),
        *(([score] * 3, [0, 0, 0]) for score in (0.0, 0.1, 1e-12, 1234.5)),  # equal ones say nothing
        *(([score, score * (1 + 1e-15)], [0, 0]) for score in (0.0, 0.1, 1e-12, 1234.5)),
    ],
)
def test_standard_scores_by_hand(numbers: list[float], scores: list[float]) -> None:
    assert standardize(np.array(numbers)).tolist() == scores


def test_meaning_is_how_far_a_memory_stands_out() -> None:
    recall = make_recall(["a", "b", "c"], cosine=[0.1, 0.2, 0.6])
    assert np.argmax(feature("meaning", recall, "")) == 2


def test_words_of_earlier_lines_count_half() -> None:
    lines = "my cat has fleas\nwhich shampoo did we buy"
    weights = AtomicQuery(lines).weights
    assert (weights["shampoo"], weights["flea"]) == (1.0, 0.5)
    recall = make_recall(["a shampoo", "the fleas", "the sun"], lines)
    shampoo, fleas, sun = feature("words", recall, lines)
    assert shampoo > fleas > sun


def test_in_a_conversation_the_words_around_a_turn_count() -> None:
    query = "canoe"
    recall = make_recall(TALK, query)
    assert feature("words_near", recall, query) == [1, 1, 1, 1, 0, 0]
    # Not across the border of a session.
    assert feature("words_near", make_recall(TALK, query, sessions=[0, 1, 2, 2, 2, 2]), query) == [0, 1, 0, 0, 0, 0]


def test_where_nobody_takes_turns_they_do_not() -> None:
    query = "canoe"
    statements = [content.partition(": ")[2] for content in TALK]
    notes = [f"Note: {content}" for content in statements]
    fields = [f"{name}: {content}" for name, content in zip("abcdef", statements, strict=True)]
    long = [f"{content} {'word ' * 150}" for content in TALK]
    for contents in (statements, notes, fields, long):
        recall = make_recall(contents, query)
        for name in ("words_near", "length", "question", "answer", "speaker"):
            assert feature(name, recall, query) == [0] * 6, name


def test_whether_rows_are_turns_is_one_answer_for_all_of_a_person() -> None:
    # In the last session one person speaks alone, and one row is nobody's.
    contents = [*TALK, "Anna: The canoe is lovely.", "Anna: Hello?", "The user builds canoes."]
    recall = make_recall(contents, "canoe", sessions=[0] * 6 + [1] * 3)
    assert find_turns(recall.rows).tolist() == [True] * 8 + [False]


def test_a_turn_of_a_few_words_loses_points_and_a_long_one_gains_none() -> None:
    said = ["Anna: Yes.", "Ben: " + "canoe lake " * 15, "Anna: " + "paddle river " * 40, *TALK]
    short, enough, long, *_ = feature("length", make_recall(said, "canoe"), "canoe")
    assert short < enough == long == 0


def test_a_question_is_no_answer_and_what_follows_it_may_be_one() -> None:
    query = "How long did Ben's canoe take?"
    recall = make_recall(TALK, query)
    assert feature("question", recall, query) == [1, 0, 1, 0, 0, 0]
    answer = feature("answer", recall, query)
    assert answer[3] > 0
    assert answer[:3] + answer[4:] == [0] * 5


def test_who_is_named_counts_unless_everybody_is() -> None:
    assert feature("speaker", make_recall(TALK, (query := "What did Ben build?")), query) == [0, 1, 0, 1, 0, 1]
    assert feature("speaker", make_recall(TALK, (query := "What did Ben tell Anna?")), query) == [0] * 6
    assert feature("speaker", make_recall(TALK, (query := "Who built it? Benjamin?")), query) == [0] * 6


def test_names_are_words_or_stand_in_chinese_text() -> None:
    names = {"Ben", "Mary Ann", "张曼婷", "AI", "王"}
    assert find_named("what did ben's wife, mary ann, say", names) == {"Ben", "Mary Ann"}
    assert find_named("张曼婷喜欢什么？王者荣耀吗", names) == {"张曼婷"}
    assert find_named("the main point", names) == set()


def test_a_time_that_is_named_counts() -> None:
    newest = datetime(2026, 5, 20, tzinfo=UTC)
    times = AtomicQuery("what did I do on May 3rd?").list_times(said_at=newest)
    first = datetime(2026, 5, 2, 23, tzinfo=UTC).timestamp()
    recall = make_recall(["a", "b", "c"], times=[first, first + DAY, first + 2 * DAY])
    assert feature("time", recall, "", times=times) == [0, 1, 0]
    assert feature("time", recall, "") == [0, 0, 0]


@pytest.mark.parametrize(("is_turn", "kind"), [(False, "statement"), (True, "turn")])
def test_the_points_add_up_to_the_score_by_the_weights_of_the_kind(is_turn: bool, kind: str) -> None:
    features = compute_features(make_recall(TALK, "canoe"), AtomicQuery("canoe"), times=[])
    parts, weights = weigh(features, np.full(len(TALK), is_turn)), getattr(load_weights(), kind)
    assert list(parts) == [*FEATURES, *EARLIER] == list(weights)
    for name, points in parts.items():
        assert points == pytest.approx(features[name] * weights[name])


def test_weights_have_the_sign_that_people_would_give_them() -> None:
    weights = load_weights()
    assert {name for name, weight in weights.turn.items() if weight < 0} == {"question", "said_before"}
    assert {name for name, weight in weights.statement.items() if weight > 0} == {
        *("meaning", "words", "time", "earlier_meaning", "earlier_words")
    }


@pytest.mark.spec("K7")
def test_a_follow_up_is_looked_for_with_the_lines_before_it() -> None:
    earlier = "Which noodle shops in Hangzhou did I mention?\nKuiyuan: you liked its shrimp noodles."
    contents = ["Kuiyuan has good shrimp noodles.", "Juying's noodles in Hangzhou have a queue.", "My bike was stolen."]
    query = AtomicQuery("any others?", earlier=earlier)
    recall = make_recall(contents, query.text, earlier=earlier, earlier_cosine=[0.7, 0.6, 0.1])
    features = compute_features(recall, query, times=[])
    scores = np.sum(list(weigh(features, find_turns(recall.rows)).values()), axis=0)
    assert np.argmax(scores) == 1
    assert features["said_before"].round(2).tolist() == [0.75, 0.5, 0]
    assert features["words"].tolist() == [0, 0, 0]
    nothing = compute_features(make_recall(contents, query.text), AtomicQuery(query.text), times=[])
    assert all((nothing[name] == 0).all() for name in EARLIER)


def test_equal_scores_are_ordered_by_time() -> None:
    assert rank(np.array([1.0, 2.0, 1.0]), times=np.array([5.0, 1.0, 9.0])).tolist() == [1, 2, 0]


contents = st.lists(
    st.builds("{}: {}".format, st.sampled_from(["Anna", "Ben", "", "王芳"]), st.sampled_from(["tea", "茶？", "x", ""])),
    min_size=1,
    max_size=12,
)
cosines = st.floats(min_value=-1, max_value=1, width=32) | st.just(float("nan"))


@pytest.mark.long
@given(contents=contents, query=st.sampled_from(["tea", "茶", "Anna tea", "", "😀", "tea\n茶"]), data=st.data())
def test_whatever_there_is_every_feature_is_a_number(contents: list[str], query: str, data: st.DataObject) -> None:
    count = len(contents)
    sessions = sorted(data.draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)))
    known = data.draw(st.lists(cosines, min_size=count, max_size=count))
    recall = make_recall(contents, query, sessions=sessions, cosine=known)
    features = compute_features(recall, AtomicQuery(query), times=[(0, DAY)])
    for name, values in features.items():
        assert values.shape == (count,), name
        assert np.isfinite(values).all(), name
