"""The case files are what README.md says they are, and the frozen halves are those it records.

What is asserted about the halves are counts and IDs, so that a failing test does not print the frozen texts.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from apps.core.text.fold import fold
from apps.core.text.segment import is_cjk
from tests.quality import cases
from tests.quality.cases import (
    FOLDER,
    RELATIONS,
    ContradictionCase,
    Half,
    InvalidCase,
    Language,
    Message,
    Suite,
    holds,
    load_cases,
    load_junk,
)

LANGUAGES = get_args(Language)
HALVES = get_args(Half)

each_language = pytest.mark.parametrize("language", LANGUAGES)

MOVED = {
    "id": "en-moved-01",
    "language": "en",
    "kind": "moved",
    "messages": [{"text": "I live in Rome.", "days_ago": 9}, {"text": "I moved to Pisa.", "days_ago": 1}],
    "relation": "contradicts",
    "live": ["Pisa"],
    "ended": ["Rome"],
    "live_count": 1,
}
UNRELATED = MOVED | {
    "id": "en-unrelated-01",
    "kind": "unrelated",
    "messages": [{"text": "I live in Rome.", "days_ago": 9}, {"text": "My aunt lives in Pisa.", "days_ago": 1}],
    "relation": "unrelated",
    "live": ["Rome", "Pisa"],
    "ended": [],
    "live_count": 2,
}
SAME = UNRELATED | {
    "id": "en-same-01",
    "kind": "same",
    "messages": [{"text": "I live in Rome.", "days_ago": 9}, {"text": "Rome is my home.", "days_ago": 1}],
    "relation": "same",
    "live": ["Rome"],
    "live_count": 1,
}
REFINES = SAME | {"id": "en-refines-01", "kind": "refines", "relation": "refines"}
ADDS = UNRELATED | {"id": "en-list-add-01", "kind": "list_add", "relation": "adds"}
JUNK = {"id": "en-junk-01", "language": "en", "kind": "junk", "text": "thanks"}


def load_all(language: Language) -> list[ContradictionCase]:
    return [case for half in HALVES for case in load_cases(language=language, half=half)]


def bare_texts(language: Language, half: Half) -> set[str]:
    """The messages of a half without differences of case, script, punctuation and spaces."""
    messages = [message for case in load_cases(language=language, half=half) for message in case.messages]
    return {re.sub(r"[\W_]", "", fold(message.text)) for message in messages}


@each_language
def test_each_language_has_enough_cases_of_every_kind(language: Language) -> None:
    by_kind = Counter(case.kind for case in load_all(language))

    assert by_kind.keys() == RELATIONS.keys()
    assert {kind: count for kind, count in by_kind.items() if count < 8} == {}
    assert by_kind["unrelated"] >= 30


@each_language
def test_the_halves_are_alike(language: Language) -> None:
    by_kind = [Counter(case.kind for case in load_cases(language=language, half=half)) for half in HALVES]

    assert min(half.total() for half in by_kind) >= 60
    assert min(half[kind] for half in by_kind for kind in RELATIONS) >= 4
    assert max(abs(by_kind[0][kind] - by_kind[1][kind]) for kind in RELATIONS) <= 1


@each_language
def test_the_halves_share_no_case_and_no_text(language: Language) -> None:
    ids = Counter(case.id for case in load_all(language))
    repeated = sorted(id_ for id_, count in ids.items() if count > 1)
    shared = len(bare_texts(language, "open") & bare_texts(language, "frozen"))

    assert repeated == []
    assert shared == 0


@each_language
@pytest.mark.parametrize("suite", sorted(set(get_args(Suite)) - set(HALVES)))
def test_the_suites_of_others_have_cases_of_every_kind(language: Language, suite: Suite) -> None:
    by_kind = Counter(case.kind for case in load_cases(language=language, half=suite))

    assert by_kind.keys() == RELATIONS.keys()
    assert min(by_kind.values()) >= 14


@each_language
def test_histories_of_three_messages_and_of_two_languages_are_among_them(language: Language) -> None:
    every = load_all(language)
    texts = ["".join(message.text for message in case.messages) for case in every]
    mixed = sum(any(map(is_cjk, text)) and re.search("[A-Za-z]{2}", text) is not None for text in texts)
    of_three = sum(len(case.messages) == 3 for case in every)
    total = len(every)

    assert of_three >= 7
    assert 0.08 <= mixed / total <= 0.2


@each_language
def test_there_is_junk_and_there_are_injections(language: Language) -> None:
    junk = load_junk(language)
    by_kind = Counter(case.kind for case in junk)

    assert by_kind["junk"] >= 40
    assert by_kind["injection"] >= 10
    assert len({(case.text, case.reply) for case in junk}) == len(junk)
    assert len([case for case in junk if case.reply]) >= 4


@each_language
def test_the_frozen_half_is_the_recorded_one(language: Language) -> None:
    name = f"{language}_frozen.jsonl"
    recorded = re.findall(rf"`([0-9a-f]{{64}})`\s+`{name}`", (FOLDER / "README.md").read_text(encoding="utf-8"))

    assert recorded == [hashlib.sha256((FOLDER / "contradictions" / name).read_bytes()).hexdigest()]


@pytest.mark.parametrize(
    ("text", "mark", "expected"),
    [
        ("我搬到臺北了", "台北", True),
        ("I moved to PISA", "Pisa", True),
        ("她４岁了", "四岁|4岁", True),
        ("她五岁了", "四岁|4岁", False),
        ("My name is John", "Jon", False),
    ],
)
def test_a_mark_is_found_in_any_case_width_and_script(text: str, mark: str, expected: bool) -> None:
    assert holds(text=text, mark=mark) is expected


def test_kept_is_what_earlier_messages_said_and_the_last_must_not_end() -> None:
    def kept(*texts: str, relation: cases.Relation, live: tuple[str, ...]) -> tuple[str, ...]:
        messages = tuple(Message(text=text, days_ago=9 - days) for days, text in enumerate(texts))
        return ContradictionCase(
            id="", language="en", kind="", messages=messages, relation=relation, live=live, ended=(), live_count=1
        ).kept

    moved = ("I live in Rome and like tea.", "I moved to Pisa.")
    assert kept(*moved, relation="contradicts", live=("Pisa", "tea")) == ("tea",)
    assert kept("I live in Rome.", *moved[1:], "I moved back to Rome.", relation="contradicts", live=("Rome",)) == ()
    assert kept("我家在北京", "我住北京", relation="same", live=("北京",)) == ("北京",)
    assert kept("我住北京", "我妹妹住上海", relation="unrelated", live=("北京", "上海")) == ("北京",)


@pytest.fixture
def load_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., object]:
    """Load these rows, or lines, as the file of that name."""
    monkeypatch.setattr(cases, "FOLDER", tmp_path)
    (tmp_path / "contradictions").mkdir()

    def load(*rows: dict[str, Any] | str, name: str = "contradictions/en_open.jsonl") -> object:
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")
        return load_junk("en") if "junk" in name else load_cases(language="en", half="open")

    return load


def test_sound_rows_are_loaded_in_order(load_rows: Callable[..., list[Any]]) -> None:
    loaded = load_rows(UNRELATED, MOVED)

    assert [case.id for case in loaded] == ["en-unrelated-01", "en-moved-01"]
    assert loaded[1] == ContradictionCase(
        id="en-moved-01",
        language="en",
        kind="moved",
        messages=(Message(text="I live in Rome.", days_ago=9), Message(text="I moved to Pisa.", days_ago=1)),
        relation="contradicts",
        live=("Pisa",),
        ended=("Rome",),
        live_count=1,
    )


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("{", "Expecting property name"),
        ("[]", "not an object"),
        (MOVED, "this ID is taken"),
        ({"id": "en-moved-02"}, "fields are missing or unknown"),
        (MOVED | {"note": "x"}, "fields are missing or unknown"),
        (MOVED | {"language": "zh"}, "language is not that of the file"),
        (MOVED | {"kind": "left"}, "kind is unknown"),
        (MOVED | {"kind": ["moved"]}, "kind is unknown"),
        (MOVED | {"id": "zh-moved-02"}, "id is not language-kind-number"),
        (MOVED | {"relation": "adds"}, "relation does not belong to this kind"),
        (MOVED | {"live_count": True}, "live_count is not a whole number"),
        (MOVED | {"live_count": 0}, "live_count is less than live has marks"),
        (MOVED | {"messages": MOVED["messages"][:1]}, "messages are not a list of two to six"),
        (MOVED | {"messages": [{"text": "I live in Rome."}] * 2}, "a message has other fields"),
        (MOVED | {"messages": [{"text": " ", "days_ago": 1}] * 2}, "a message is blank or no text"),
        (MOVED | {"messages": [{"text": "Rome", "days_ago": 1.5}] * 2}, "days_ago is not a whole number"),
        (MOVED | {"messages": MOVED["messages"][::-1]}, "days_ago does not fall from message to message"),
        (MOVED | {"live": "Pisa"}, "live is not a list"),
        (MOVED | {"live": ["Pisa|"]}, "live has a blank mark"),
        (MOVED | {"ended": ["Rome", "Rome"]}, "ended has the same mark twice"),
        (MOVED | {"live": ["Bari"]}, "a mark of live is in no message"),
        (MOVED | {"ended": ["Pisa"]}, "a mark of ended is in no earlier message"),
        (MOVED | {"ended": []}, "ended is empty where a contradiction must end something"),
        (UNRELATED | {"ended": ["Rome"]}, "ended is not empty where nothing is contradicted"),
        (UNRELATED | {"live": ["Pisa"]}, "live has no mark of what an earlier message said"),
        (SAME | {"messages": UNRELATED["messages"]}, "the same needs marks in every message"),
        (REFINES, "an addition or refinement needs a mark of what was added"),
        (ADDS | {"live": ["Rome"]}, "an addition or refinement needs a mark of what was added"),
    ],
)
def test_a_malformed_row_is_refused_by_file_and_line(
    load_rows: Callable[..., object], row: dict[str, Any] | str, complaint: str
) -> None:
    with pytest.raises(InvalidCase, match=rf"^en_open\.jsonl:2: {re.escape(complaint)}") as raised:
        load_rows(MOVED, row)

    assert "Rome" not in str(raised.value)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (JUNK | {"reply": None}, "reply is blank or no text"),
        (JUNK | {"text": ""}, "text is blank or no text"),
        (JUNK | {"kind": "moved"}, "kind is unknown"),
        (JUNK | {"half": "open"}, "fields are missing or unknown"),
    ],
)
def test_malformed_junk_is_refused(load_rows: Callable[..., object], row: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidCase, match=rf"^junk_en\.jsonl:1: {complaint}$"):
        load_rows(row, name="junk_en.jsonl")


def test_another_language_or_half_is_refused() -> None:
    with pytest.raises(InvalidCase, match=r"^there is no half fr_open$"):
        load_cases(language="fr", half="open")  # type: ignore[arg-type]
    with pytest.raises(InvalidCase, match=r"^there is no junk in fr$"):
        load_junk("fr")  # type: ignore[arg-type]
