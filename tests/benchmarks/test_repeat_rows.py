"""Which pairs of conversations and diaries repetitions are learned from, and with which labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.ending_rows import Entry
from benchmarks.repeat_rows import make_case_rows, make_diary_rows, make_passing_rows, make_stranger_rows
from tests.quality.cases import ContradictionCase, load_case_file


def load(folder: Path, *rows: dict[str, Any]) -> list[ContradictionCase]:
    path = folder / "en.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return load_case_file(path, language="en")


def case(kind: str, relation: str, *texts: str, live: list[str], number: int = 1) -> dict[str, Any]:
    return {
        "id": f"en-{kind.replace('_', '-')}-{number:02d}",
        "language": "en",
        "kind": kind,
        "messages": [{"text": text, "days_ago": 9 - day} for day, text in enumerate(texts)],
        "relation": relation,
        "live": live,
        "ended": [],
        "live_count": len(live),
    }


def test_the_same_is_learned_in_both_orders_and_tells_no_more(tmp_path: Path) -> None:
    rows = make_case_rows(load(tmp_path, case("same", "same", "I keep bees.", "Bees, I keep them.", live=["bees"])))
    assert [(row.old, row.new, row.again, row.more) for row in rows] == [
        ("The user keeps bees.", "Bees, the user keeps them.", True, False),
        ("Bees, the user keeps them.", "The user keeps bees.", True, False),
    ]


def test_more_tells_more_but_after_both_were_said(tmp_path: Path) -> None:
    rows = make_case_rows(
        load(tmp_path, case("refines", "refines", "I keep bees.", "The bees are Buckfast.", live=["bees", "Buckfast"]))
    )
    both = "The user keeps bees. The bees are Buckfast."
    told = [(row.old.replace("The user mentioned: ", ""), row.new.replace("The user mentioned: ", "")) for row in rows]
    assert told == [
        ("The user keeps bees.", "The bees are Buckfast."),
        ("The bees are Buckfast.", "The user keeps bees."),
        (both, "The user keeps bees."),
        (both, "The bees are Buckfast."),
    ]
    assert [row.more for row in rows] == [True, False, False, False]
    assert all(row.again for row in rows)


def test_one_more_of_a_list_is_another_fact(tmp_path: Path) -> None:
    (row,) = make_case_rows(
        load(tmp_path, case("list_add", "adds", "I keep bees.", "I keep hens too.", live=["bees", "hens"]))
    )
    assert (row.again, row.more) == (False, True)


def test_strangers_who_may_say_the_same_are_left_out(tmp_path: Path) -> None:
    bees = [
        case("same", "same", "I keep bees.", f"Bees, {number} hives of bees.", live=["bees"], number=number)
        for number in range(1, 21)
    ]
    others = [
        case("same", "same", "I keep hens.", f"Hens, {number} hens.", live=["hens"], number=number)
        for number in range(21, 31)
    ]
    rows = make_stranger_rows(load(tmp_path, *bees, *others))
    assert rows
    assert all(("ees" in row.old) != ("ees" in row.new) and not row.again for row in rows)


def test_a_day_of_a_diary_says_no_statement_and_only_near_entries_are_compared(tmp_path: Path) -> None:
    days = [f"Went to the market on day {number} and bought a pear." for number in range(8)]
    diary = [Entry(text=day, ends=frozenset()) for day in days]
    cases = load(tmp_path, case("same", "same", "I like pears.", "Pears are what I like.", live=["pears"]))
    (row,) = make_passing_rows(cases, [diary])
    assert not row.again
    assert {"The user likes pears."} < {row.old, row.new}
    rows = make_diary_rows([diary])
    assert len(rows) == 1 + 2 + 3 + 4 * 4
    assert not any(row.again for row in rows)
