"""Benchmarks read each layout as it is published, count what is lost, and invent the same each time."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI
from rich.console import Console

from apps.core.beir import InvalidFolder
from benchmarks.answers import make_table, measure
from benchmarks.questions import BM25, DataSet, Question, average, compute_recall, read_data_set, read_score
from benchmarks.running import Spread, get_spread
from benchmarks.scale import BIG, ORDINARY, STEADY_GROUP, list_groups, share_memories
from benchmarks.turn_overhead import Comparison, compare
from tests.benchmarks.folders import write_folder
from tests.support.scripted_model import ScriptedModel, refuse_with, reply_with

REPLIES = ("Lovely. Shall I remind you?", "I would take the night train; it leaves at nine.", "Congratulations!")
ASKED = {
    "information_extraction": [
        {
            "question": "What is the name of my cat?",
            "rubric": ["says Momo", "says nothing of a dog"],
            "source_chat_ids": [0],
        }
    ],
    "multi_session_reasoning": [
        {
            "question": "Which train did you recommend for Vienna?",
            "ideal_answer": "the night train",
            "source_chat_ids": {"first": [2], "second": [3, 99, 7]},
        }
    ],
    "abstention": [
        {"question": "What do I think of golf?", "ideal_response": "You never said.", "source_chat_ids": []}
    ],
}


def write_beam(folder: Path, *, asked: dict[str, Any] = ASKED) -> Path:
    """One person with two sessions, the first with its date, as BEAM is published."""
    said = ("My cat is called Momo. ->-> 1,1", "How do I get to Vienna?", "I passed my exam.")
    turns = [
        [
            {"id": 2 * at, "role": "user", "content": text, "time_anchor": None},
            {"id": 2 * at + 1, "role": "assistant", "content": REPLIES[at]},
        ]
        for at, text in enumerate(said)
    ]
    sessions = [{"batch_number": 1, "time_anchor": "March-15-2024", "turns": turns[:2]}, turns[2:]]
    sessions.append([[{"id": 7, "role": "user", "content": "Hm."}, {"id": 7, "role": "user", "content": "Well."}]])
    (folder / "1" / "probing_questions").mkdir(parents=True)
    (folder / "1" / "chat.json").write_text(json.dumps(sessions))
    (folder / "1" / "probing_questions" / "probing_questions.json").write_text(json.dumps(asked))
    return folder


@pytest.fixture
def beam(tmp_path: Path) -> DataSet:
    return read_data_set(write_beam(tmp_path / "BEAM"))


def test_beam_is_read(beam: DataSet) -> None:
    (person,) = beam.people
    first, second, third = person.sessions
    assert [(row.where, row.role, row.text) for row in first[:2]] == [
        ("0", "user", "My cat is called Momo."),
        ("1", "assistant", REPLIES[0]),
    ]
    assert [f"{rows[0].timestamp:%Y-%m-%d}" for rows in (first, second, third)] == [
        f"2024-03-{day}" for day in (15, 16, 17)
    ]
    assert person.questions == [
        Question(
            "What is the name of my cat?",
            "information_extraction",
            frozenset({first[0].id}),
            ("says Momo", "says nothing of a dog"),
        ),
        Question(
            "Which train did you recommend for Vienna?",
            "multi_session_reasoning",
            frozenset({first[2].id, first[3].id}),
            ("the night train",),
        ),
        Question("What do I think of golf?", "abstention", frozenset(), ("You never said.",)),
    ]
    assert beam.losses == {"evidence that is not in the data": 2}  # 99 is nowhere, 7 is twice


def test_locomo_is_read(tmp_path: Path) -> None:
    talk = {
        "speaker_a": "Ann",
        "speaker_b": "Bo",
        "session_2_date_time": "1:56 pm on 8 May, 2023",
        "session_2": [
            {"speaker": "Bo", "dia_id": "D2:1", "text": "Look!", "blip_caption": "a red kite"},
            {"speaker": "Ann", "dia_id": "D2:2", "text": "Nice."},
        ],
        "session_10_date_time": "9:00 am on 1 June, 2023",
        "session_10": [{"speaker": "Ann", "dia_id": "D10:1", "text": "I moved."}],
        "session_11_date_time": "9:00 am on 2 June, 2023",
    }
    asked = [
        {"question": "Which colour?", "answer": "red", "evidence": ["D2:01; D10:1", "D:9:9"], "category": 4},
        {"question": "Whose kite?", "adversarial_answer": "Ann's", "evidence": ["D2:1"], "category": 5},
    ]
    (tmp_path / "locomo10.json").write_text(json.dumps([{"sample_id": "c-1", "conversation": talk, "qa": asked}]))
    data = read_data_set(tmp_path)
    (person,) = data.people
    assert [[(row.role, row.text) for row in rows] for rows in person.sessions] == [
        [("assistant", "Look! [a red kite]"), ("user", "Nice.")],
        [("user", "I moved.")],
    ]
    known, adversarial = person.questions
    assert (known.category, known.evidence, known.criteria) == ("single-hop", {"c-1/D2:1", "c-1/D10:1"}, ("red",))
    assert (adversarial.category, adversarial.criteria) == (
        "adversarial",
        ("Says that this was not mentioned or is not known.",),
    )
    assert data.losses == {"evidence that is not in the data": 1}


def test_beir_is_read_with_references_and_a_limit(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tea", people={"ann": 2, "bo": 3})
    rows = [json.loads(line) for line in (folder / "corpus.jsonl").read_text().splitlines()]
    rows[3]["metadata"]["speaker"] = "Zoe"  # bo talks with somebody; ann's rows are memories
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    asked = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    asked[1]["metadata"]["answer"] = "Green tea."
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, asked)))
    ann, bo = read_data_set(folder).people
    assert [row.role for rows in ann.sessions for row in rows] == ["memory", "memory"]
    assert [row.role for rows in bo.sessions for row in rows] == ["user", "assistant", "user"]
    assert [question.criteria for person in (ann, bo) for question in person.questions] == [(), ("Green tea.",)]
    assert sum(len(person.questions) for person in read_data_set(folder, limit=1).people) == 1


@pytest.mark.parametrize("content", ["{", '[{"conversation": 1}]', "[]", "3"])
def test_a_folder_that_is_none_of_these_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "locomo.json").write_text(content)
    with pytest.raises(InvalidFolder, match=tmp_path.name):
        read_data_set(tmp_path)


def test_rare_words_count_more_and_what_shares_none_is_not_found() -> None:
    words = BM25({("a", "b"): "The red kite\nNice kite", ("c",): "A red car", ("d",): "A red house", ("e",): "Tea"})
    assert words.search("the red kites", limit=3) == [("a", "b"), ("c",), ("d",)]
    assert words.search("the red kites", limit=1) == [("a", "b")]
    assert words.search("golf", limit=3) == []


def test_recall_is_of_all_evidence_and_of_what_either_said(beam: DataSet) -> None:
    (person,) = beam.people
    rows = {row.id: row for session in person.sessions for row in session}
    cat, _reply, asked, advice, exam, *_others = rows
    found = [(exam,), *[(cat,)] * 4, (asked, advice)]
    assert compute_recall(person.questions[1], found[1:], rows)["all"] == {"recall@5": 1.0, "recall@10": 1.0}
    assert compute_recall(person.questions[1], [*found[:5], (asked,)], rows) == {
        "all": {"recall@5": 0.0, "recall@10": 0.5},
        "said by the user": {"recall@5": 0.0, "recall@10": 1.0},
        "said by the assistant": {"recall@5": 0.0, "recall@10": 0.0},
    }
    assert compute_recall(person.questions[2], found, rows) == {}
    assert average([("b", {"x": 1.0}), ("all", {"x": 1.0}), ("all", {"x": 0.0, "y": 3.0}), ("b", {})]) == {
        "all": {"questions": 2, "x": 0.5, "y": 3.0},
        "b": {"questions": 1, "x": 1.0},
    }


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ('{"grades": [1, 0.5]}', 0.75),
        ('<think>hm</think>Here:\n```json\n{"grades": [0, 1]}\n```', 0.5),
        ('{"grades": [1]}', None),
        ('{"grades": [1, 2]}', None),
        ('{"grades": ["1", "0"]}', None),
        ('{"grades": [1, 0.5', None),
        ("Both are met.", None),
    ],
)
def test_grades_are_read_without_a_guess(text: str, score: float | None) -> None:
    assert read_score(text, count=2) == score


@pytest.mark.django_db(transaction=True)
def test_recall_and_answers_are_measured_and_losses_count_as_nothing(
    beam: DataSet, scripted_model: ScriptedModel
) -> None:
    scripted_model.script(
        *(reply_with("Momo"), reply_with('{"grades": [1, 0.5]}')),  # the first question: rounds by Jiyi, then by BM25
        *(reply_with("Momo"), reply_with("All are met.")),
        refuse_with(401),  # the second
        *(reply_with("The night train."), refuse_with(404)),
        *(reply_with("You never said."), reply_with('{"grades": [1]}')),  # the third
        reply_with("<think>Golf?</think>"),
    )  # from then on, answers that no grades can be read from
    client = OpenAI(base_url=scripted_model.base_url, api_key="x", max_retries=0)
    report = measure(beam, console=Console(quiet=True), client=client, model="m", judge="j")
    sides = report["sides"]
    assert list(sides) == ["rounds: Jiyi", "rounds: BM25", "memories: Jiyi", "memories: BM25"]
    assert (report["questions"], report["losses"]) == (
        3,
        {"evidence that is not in the data": 2, "questions without evidence": 1},
    )
    for side in sides.values():
        assert side["groups"]["all"]["recall@10"] == 1.0
        assert side["groups"]["information_extraction"]["recall@5"] == 1.0
        assert {"said by the user", "said by the assistant", "abstention"} <= side["groups"].keys()
    assert (sides["rounds: Jiyi"]["groups"]["all"]["score"], sides["rounds: BM25"]["groups"]["all"]["score"]) == (
        0.5833,  # of 0.75, 0 and 1
        0.0,
    )
    assert sides["rounds: Jiyi"]["losses"] == {"model failed: AuthenticationError": 1}
    assert sides["rounds: BM25"]["losses"] == {
        "unreadable grades": 1,
        "judge failed: NotFoundError": 1,
        "empty answer": 1,
    }
    assert sides["memories: Jiyi"]["losses"] == {"unreadable grades": 3}
    assert {"seconds", "tokens in", "tokens out", "tokens of the judge"} <= sides["memories: BM25"]["groups"][
        "all"
    ].keys()
    asked = scripted_model.chat_requests[0].messages
    assert "[2024-03-15] My cat is called Momo." in asked[1]["content"]
    assert make_table("BEAM", report).row_count > 8


def test_percentiles_are_interpolated_whatever_the_order() -> None:
    assert get_spread([3.0, 1.0, 2.0]) == Spread(p50=2.0, p95=2.9)
    assert get_spread([float(value) for value in range(101)]) == Spread(p50=50.0, p95=95.0)


def test_the_overhead_is_of_pairs_and_not_of_percentiles() -> None:
    # The machine was slow during the second pair: both took longer, and what was added did not.
    assert compare([(30.0, 10.0), (130.0, 110.0), (31.0, 11.0)]) == Comparison(
        turn=Spread(p50=31.0, p95=120.1), direct=Spread(p50=11.0, p95=100.1), overhead=Spread(p50=20.0, p95=20.0)
    )


def test_shares_add_up_and_never_shrink() -> None:
    sizes = [10_000, 100_000, 1_000_000]
    shares, groups = share_memories(sizes, users=2_000, big=50_000), list_groups(2_000)
    assert [sum(counts) for counts in shares] == sizes
    assert [counts[0] for counts in shares] == [5_000, 50_000, 50_000]
    for before, after in pairwise(shares):
        assert all(few <= many for few, many in zip(before, after, strict=True))
        assert [before[member] for member in groups[STEADY_GROUP]] == [after[member] for member in groups[STEADY_GROUP]]
    assert {shares[-1][member] for member in groups[ORDINARY]} <= {475, 476}
    assert sorted(member for name in (ORDINARY, STEADY_GROUP, BIG) for member in groups[name]) == list(range(2_000))
