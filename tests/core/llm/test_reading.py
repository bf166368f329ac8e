"""What a model answered is read, however badly it is written (E5, E6, C6)."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from apps.core.llm.reading import ReadResult, TextStream, read_json_object
from apps.core.text.clean import MAX_DEPTH

ANSWER: dict[str, Any] = {"response": "你好，Mel!", "memory_update": {"should_store": True, "entries": []}}
JSON_LIKE = st.lists(st.sampled_from([*"{}[]\":,\\'`\n ab1-.#/*(", "```json\n", "null", "NaN", "\ud800", "\0"]))


@pytest.mark.spec("E5")
@pytest.mark.parametrize(
    "written",
    [
        json.dumps(ANSWER),
        json.dumps(ANSWER, ensure_ascii=False, indent=2),
        "\ufeff \n" + json.dumps(ANSWER) + "\n\n",
        "```json\n" + json.dumps(ANSWER) + "\n```",
        "```\n" + json.dumps(ANSWER) + "\n```\n",
        "```json" + json.dumps(ANSWER),
        "<think>\n\n</think>\n\n" + json.dumps(ANSWER),
        '<think>也许 {"response": "草稿"}？</think>\n```json\n' + json.dumps(ANSWER) + "\n```",
        "Okay, they greet me.\n</think>\n\n" + json.dumps(ANSWER),
    ],
)
def test_valid_json_needs_no_repair_fenced_or_after_reasoning(written: str) -> None:
    assert read_json_object(written) == ReadResult(value=ANSWER, repaired=False)


@pytest.mark.spec("E5")
@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('{"response": "你好", "topic": "天', {"response": "你好", "topic": "天"}),
        ('{"response": "hi", "emotion": {"primary": "happy"', {"response": "hi", "emotion": {"primary": "happy"}}),
        ("{'response': 'hi'}", {"response": "hi"}),
        ('{response: "hi"}', {"response": "hi"}),
        ('{"response": "hi",}', {"response": "hi"}),
        ('Sure, here it is: {"response": "hi"}', {"response": "hi"}),
        ('```json\n{"response": "hi"}\n```\nAnything else?', {"response": "hi"}),
        ('{"response": "他说"你好"，然后走了"}', {"response": '他说"你好"，然后走了'}),
        ('{"response": "a\nb"}', {"response": "a\nb"}),
    ],
)
def test_broken_json_is_repaired_and_says_so(written: str, value: dict[str, Any]) -> None:
    assert read_json_object(written) == ReadResult(value=value, repaired=True)


@pytest.mark.spec("E5")
@pytest.mark.parametrize(
    "written",
    [
        "Sure! Here is the JSON:\n\n```json\n{}\n```\n\nLet me know if you need anything else.",
        "好的，{}",
        "{} Done.",
        "The user says {{hello}}, so:\n{}",
        '{{"result": {}}}',
        "[{}]",
        "<answer>{}</answer>",
        "[DRAFT] {{}} [/DRAFT]{}",
        '{{"thought": "hm"}}\n{}',
        "{0}\n{0}",
    ],
)
def test_one_object_with_the_wanted_keys_is_whole_whatever_stands_around_it(written: str) -> None:
    text = written.format(json.dumps(ANSWER, ensure_ascii=False))

    assert read_json_object(text, keys=ANSWER) == ReadResult(value=ANSWER, repaired=False)


@pytest.mark.spec("E5")
@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('Draft {"response": "a"} or {"response": "b"}', {"response": "b"}),
        ('{"response": "a"} or {"response": "b"}', {"response": "a"}),
        ('{"response": "a", "emotion": {"response": "x"}, "memory_update": {"should', None),
        ('So: {"response": "a", "more": [{"response": "x"}, {"response": "y"', None),
    ],
)
def test_of_several_objects_or_half_of_one_nothing_is_taken_without_repair(
    written: str, value: dict[str, Any] | None
) -> None:
    result = read_json_object(written, keys=("response", "memory_update"))

    assert result.repaired
    if value is not None:
        assert result.value == value


@pytest.mark.spec("E5")
@pytest.mark.parametrize("text", ["</think>", "<think>{}</think>", "a </reasoning> {b}"])
def test_a_tag_inside_the_object_is_text(text: str) -> None:
    written = json.dumps({"response": text})

    assert read_json_object(written) == ReadResult(value={"response": text}, repaired=False)
    assert read_json_object(f"好的：{written}") == ReadResult(value={"response": text}, repaired=True)


@pytest.mark.spec("E5")
def test_a_draft_before_reasoning_ends_is_not_taken_as_written_without_repair() -> None:
    assert read_json_object('Maybe {"response": "draft"}\n</think>\n{"response": "hi"}').repaired


@pytest.mark.spec("E5")
@pytest.mark.parametrize(
    "written",
    [
        "",
        "  ",
        '<think>{"response": "hi"}',
        "你好，很高兴认识你。",
        "[1, 2]",
        '"response"',
        "null",
        "12",
        "```python\nprint(1)\n```",
        '[{"a": 1}]',
    ],
)
def test_only_an_object_counts(written: str) -> None:
    assert read_json_object(written).value is None


@pytest.mark.spec("E5")
@pytest.mark.parametrize(
    ("literal", "value", "repaired"),
    [
        ("1e15", 1e15, False),
        ("-0.5", -0.5, False),
        ("1e999", None, True),
        ("-1e999", None, True),
    ],
)
def test_a_number_that_cannot_be_held_becomes_null(literal: str, value: float | None, repaired: bool) -> None:
    assert read_json_object(f'{{"confidence": {literal}}}') == ReadResult(
        value={"confidence": value}, repaired=repaired
    )


@pytest.mark.spec("E5")
@pytest.mark.parametrize("literal", ["NaN", "Infinity", "9" * 5_000])
def test_what_is_no_number_counts_as_repaired_and_is_not_kept_as_one(literal: str) -> None:
    result = read_json_object(f'{{"confidence": {literal}, "response": "hi"}}')

    assert result == ReadResult(value={"confidence": literal, "response": "hi"}, repaired=True)


@pytest.mark.spec("E5")
def test_nul_and_lone_surrogates_are_removed_from_keys_and_values() -> None:
    result = read_json_object(r'{"na\u0000me": ["咪\ud800咪", "\ud83d\ude00"], "\udc00": "\u0000"}')

    assert result == ReadResult(value={"name": ["咪咪", "😀"], "": ""}, repaired=False)


@pytest.mark.spec("E5")
@pytest.mark.parametrize(("depth", "kept"), [(MAX_DEPTH, True), (MAX_DEPTH + 1, False), (5_000, False)])
def test_an_object_nested_too_deep_is_none(depth: int, kept: bool) -> None:
    result = read_json_object('{"a": ' * depth + "1" + "}" * depth)

    assert (result.value is not None, result.repaired) == (kept, False)


@pytest.mark.long
@pytest.mark.spec("E5")
@pytest.mark.parametrize(
    "junk",
    [
        "{" * 1_000_000,
        '{"a":' * 200_000,
        '{"a":' + "[" * 1_000_000,
        '{"a": "' + '\\"' * 500_000,
        "{'" + "a' " * 330_000,
        "{" * 60_000,
        "<think></think>" * 66_000,
        "a</think>" * 110_000,
        '{"a":' + "(" * 60_000,
        "{'" + "a' " * 5_333,
        "{" + '"' * 60_000,
        "{" + "a " * 30_000,
        '{"response": "' + 'he "said", ' * 5_000 + '"}',
    ],
    ids=lambda junk: f"{junk[:8]}…{len(junk)}",
)
def test_hostile_input_ends_in_bounded_time(junk: str) -> None:
    started = time.process_time()

    read_json_object(junk)

    assert time.process_time() - started < 60  # under 2 s on a quick machine; unbounded, several of these take minutes


@pytest.mark.long
@pytest.mark.spec("E5")
@settings(deadline=None)
@given(st.one_of(st.text(), JSON_LIKE.map("".join)))
@example('{"a": 1e400}')
@example("{\ud800")
def test_any_text_gives_an_object_that_can_be_stored_or_none(text: str) -> None:
    value = read_json_object(text).value

    assert value is None or isinstance(value, dict)
    written = json.dumps(value, ensure_ascii=False, allow_nan=False)
    assert "\\u0000" not in written
    written.encode("utf-8")


def run(*pieces: str) -> list[str]:
    """Feed the pieces; return what came out for each, and at the end."""
    stream = TextStream()
    return [*(stream.feed(piece) for piece in pieces), stream.close()]


@pytest.mark.spec("E6", "C6")
@pytest.mark.parametrize(
    ("pieces", "out"),
    [
        (["你好", "，Mel", "!"], ["你好", "，Mel", "!", ""]),
        (["<think>嗯", "</think>\n", "\n你好", "!"], ["", "", "你好", "!", ""]),
        (["<think>never ", "closed"], ["", "", ""]),
        (["a\ud83d", "\ude00b"], ["a", "😀b", ""]),
        (["\ud83d", "\0", "\ude00"], ["", "", "😀", ""]),
        (["a\ud83d", "b\ude00", "c\0\ud83d"], ["a", "b", "c", ""]),
        (["<thi"], ["", "<thi"]),
        (['{"a": 1}'], ['{"a": 1}', ""]),
    ],
)
def test_text_goes_out_as_it_comes_without_reasoning_and_what_is_no_text(pieces: list[str], out: list[str]) -> None:
    assert run(*pieces) == out
