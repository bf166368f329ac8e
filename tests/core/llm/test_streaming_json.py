"""Decoding the reply out of streamed JSON (E5, C6): joined deltas equal the reply, however the answer is cut up."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from apps.core.llm.reading import ReadResult, read_json_object
from apps.core.llm.streaming_json import DecodedField, FieldStream

KEYS = ("emotion", "topic", "context_variables", "memory_update")
ANSWER = json.dumps({"response": "你好\n“朋友”", "emotion": {"primary": "happy"}, "topic": None}, ensure_ascii=False)


def decode(*pieces: str) -> tuple[list[str], DecodedField]:
    """Feed the pieces; return the deltas and what the end said."""
    stream = FieldStream("response", other_keys=KEYS)
    deltas = [stream.feed(piece) for piece in pieces]
    return deltas, stream.close()


def decode_whole(text: str) -> tuple[str, str]:
    """Return the reply text and its source."""
    _, decoded = decode(text)
    return decoded.text, decoded.source


@pytest.mark.spec("E5", "C6")
def test_the_reply_goes_out_as_it_comes() -> None:
    deltas, decoded = decode('{"resp', 'onse": "你', "好，", 'Mel!"', ', "emotion": {"primary": "hap', 'py"}}')

    assert deltas == ["", "你", "好，", "Mel!", "", ""]
    assert decoded.tail == ""
    assert decoded.text == "你好，Mel!"
    assert decoded.source == "field"
    assert decoded.raw == '{"response": "你好，Mel!", "emotion": {"primary": "happy"}}'


@pytest.mark.spec("E5")
def test_text_that_is_no_json_is_shown_at_its_end_as_an_object_may_follow() -> None:
    deltas, decoded = decode("\n ", "你好", "，我是", " {x", "} 和 ", "`code`", " 。")

    assert deltas == [""] * 7
    assert (decoded.tail, decoded.source) == ("你好，我是 {x} 和 `code` 。", "raw")


@pytest.mark.spec("E5", "C6")
@pytest.mark.parametrize(
    "before",
    [
        "Sure! Here is the JSON you asked for:\n\n```json\n",
        "好的：",
        '[THINK]They say {hello}. Perhaps {"response": "draft"}.[/THINK]',
        "[PLAN]They greet me.[/PLAN]",
        '<|channel|>analysis<|message|>Or {"response": "DRAFT"}.<|end|><|channel|>final<|message|>',
        "Okay, they greet me. " * 50 + "\n</think>\n\n",
        "I answer as asked.\n",
    ],
)
def test_a_reply_streams_after_thought_and_talk_that_is_not_shown(before: str) -> None:
    deltas, decoded = decode(*before, '{"response": "你', "好", '！", "topic": null}', "\n```\n\nAnything else?")

    assert [delta for delta in deltas if delta] == ["你", "好", "！"]
    assert (decoded.text, decoded.source) == ("你好！", "field")
    assert read_json_object(decoded.raw, keys=("response", *KEYS)).repaired is False


@pytest.mark.spec("E5")
@pytest.mark.parametrize(
    "before",
    [
        'I could say {"response": "draft"} here. ',
        "They greet me, so I greet them. " * 20 + 'Perhaps:\n{"response": "draft", "topic": "x"}\n',
        '[DRAFT]{"response": "draft"}[/DRAFT]',
        'The form is {"response": ...}. ',
        "<answer>",
    ],
)
def test_a_draft_in_a_thought_is_not_the_reply(before: str) -> None:
    assert decode_whole(before + ANSWER) == ("你好\n“朋友”", "field")


@pytest.mark.spec("E5")
@pytest.mark.parametrize(
    "text",
    [
        '{"emotion": {"primary": "happy", "indicators": ["}", "{\\"response\\": \\"no\\"}"]}, "response": "你好"}',
        '{"topic": null, "n": -1.5e3, "ok": true, "response": "你好", "response": "other"}',
        '```json\n{"response": "你好"}\n```',
        '```\n{"response": "你好"}\n```\n\nHope this helps {"response": "no"}',
        '\ufeff \n\t{ "response" : "你好" } trailing',
        '{"\\u0072esponse": "你好"}',
        "{'response': \"你好\", 'topic': null}",
        '{response: "你好", topic: null}',
        "{'response': '你好', 'topic': None}",
        '{"response": null, "response": "你好"}',
        '{"response": "你好"',
        '{"response": "你好',
        '{"response": "你好\\',
        '{"response": "你好\\u4f',
        '{"response": "你好",',
    ],
)
def test_the_field_is_found_in_any_order_fence_and_state(text: str) -> None:
    assert decode_whole(text) == ("你好", "field")


@pytest.mark.spec("E5")
@pytest.mark.parametrize(
    ("written", "reply"),
    [
        (r"\u4f60\u597d", "你好"),
        (r"\ud83d\ude00!", "😀!"),
        (r"a\ud83db", "ab"),
        (r"a\ude00b", "ab"),
        (r"a\u0000b", "ab"),
        ("a\0b\ud800c", "abc"),
        (r"\"\\\/\b\f\n\r\t", '"\\/\b\f\n\r\t'),
        (r"\alpha \'x\' \u12G4", "\\alpha 'x' \\u12G4"),
        ("line\nbreak\tand\\\\", "line\nbreak\tand\\"),
        ('他说"你好"，然后走了', '他说"你好"，然后走了'),
        ('he said "hi" , and left, "really"!', 'he said "hi" , and left, "really"!'),
    ],
)
def test_escapes_and_literal_quotes(written: str, reply: str) -> None:
    assert decode_whole(f'{{"response": "{written}", "topic": null}}') == (reply, "field")


@pytest.mark.spec("E5")
@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ('Sure: {"response": "hi"} bye', "hi"),
        ('Sure {"response": "hi"} bye', "hi"),
        ('好的。\n```json\n{"topic": "x", "response": "你好"}\n```', "你好"),
        ('{"result": {"response": "hi"}}', "hi"),
        ('Well {"emotion": {"primary": "happy"', ""),
        ('Well {"emotion": {"primary": "happy"}}', ""),
        ('Well {"emotion": "x"], "response": "hi"}', "hi"),
        ('Write {"a": {"response": 1}} or {} or ```js\n{b: 2}\n``` there.', None),
        ('{"a": 1} is an object, {"b": 2', None),
        ("{smiles} hello", None),
        ("```python\nprint({1: 2})\n```\n", None),
    ],
)
def test_only_an_answer_is_taken_out_of_a_text_and_no_answer_is_shown_raw(text: str, reply: str | None) -> None:
    assert decode_whole(text)[0] == (text if reply is None else reply)


@pytest.mark.spec("E5")
@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "{",
        "```",
        "```json\n{",
        "{}",
        '{"foo": 1}',
        '```json\n{"foo": 1}\n```',
        '{"resp',
        '{"emotion": {"pri',
        '{"response": 42}',
        '{"response": null}',
        '{"response": {"text": "hi"}}',
        '{"topic": "x"} and more',
    ],
)
def test_an_answer_without_a_usable_field_gives_no_text(text: str) -> None:
    assert decode_whole(text) == ("", "none")


@pytest.mark.spec("E5", "C6")
def test_reasoning_before_the_answer_is_neither_shown_nor_read() -> None:
    answer = '{"response": "你好", "topic": "天气"}'
    deltas, decoded = decode(
        "<thi", 'nk>先想想 {"response": "草稿"', "}</th", 'ink>\n\n{"response": "你', '好", "topic": "天气"}'
    )

    assert deltas == ["", "", "", "你", "好"]
    assert decoded == DecodedField(tail="", text="你好", raw=answer, source="field")
    assert read_json_object(decoded.raw) == ReadResult(value={"response": "你好", "topic": "天气"}, repaired=False)


@pytest.mark.spec("E5")
@pytest.mark.parametrize("reply", ["<think>", "</think>", "<think>a</think> b", "用 <think> 标签"])
def test_a_tag_inside_the_reply_is_text(reply: str) -> None:
    assert decode_whole(json.dumps({"response": reply})) == (reply, "field")
    assert decode_whole(f"<think></think>Sure: {json.dumps({'response': reply})}") == (reply, "field")


@pytest.mark.spec("E5")
def test_reasoning_that_nothing_opened_is_not_shown() -> None:
    deltas, decoded = decode("Let me think.", "\n</think>\n", '{"response": "hi", "topic": "x"}')

    assert deltas == ["", "", "hi"]
    assert decode_whole("Let me think.\n</think>\n\nHello.") == ("Hello.", "raw")
    assert read_json_object(decoded.raw) == ReadResult(value={"response": "hi", "topic": "x"}, repaired=False)


FRAGMENTS = st.sampled_from(
    [
        *"{}[]\":,\\`' \nau0",
        *(
            "```json\n",
            '{"response": "',
            '"response"',
            '"emotion": {',
            '", "topic": null}',
            '{"a": 1}',
            "Sure: ",
            "true",
            "<think>",
            "</think>",
            "[PLAN]",
            "[/PLAN]",
            "<|end|>",
            "\n",
        ),
        *("\\ud83d", "\\ude00", "\\u4f60", "\ud83d", "\ude00", "\0", "\ufeff", "你好", "1e9"),
    ]
)
TEXTS = st.one_of(st.lists(FRAGMENTS, max_size=30).map("".join), st.text(max_size=40))


@pytest.mark.spec("E5", "C6")
@settings(deadline=None)
@given(TEXTS, st.lists(st.integers(0, 200)))
@example('```json\n{"response": "a\\ud83d\\ude00 "b" , c"}', list(range(60)))
@example(ANSWER, list(range(120)))
@example(f"<think>{ANSWER}</think>{ANSWER}", list(range(300)))
def test_joined_deltas_equal_the_reply_whatever_the_input_and_the_split(text: str, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    deltas, decoded = decode(*(text[start:end] for start, end in pairwise(edges)))
    _, whole = decode(text)

    assert "".join(deltas) + decoded.tail == decoded.text == whole.text
    assert (decoded.source, decoded.raw) == (whole.source, whole.raw)
    assert decoded.raw in text or "<|" in text
    assert "\0" not in decoded.text
    decoded.text.encode("utf-8")


@pytest.mark.long
@pytest.mark.spec("E5")
@settings(deadline=None)
@given(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    st.dictionaries(st.sampled_from([*KEYS, "note"]), st.recursive(st.none() | st.text(), st.lists, max_leaves=4)),
    st.booleans(),
    st.booleans(),
)
def test_of_valid_json_the_exact_string_is_decoded(
    reply: str, rest: dict[str, object], last: bool, plain: bool
) -> None:
    answer = {**rest, "response": reply} if last else {"response": reply, **rest}

    assert decode_whole(json.dumps(answer, ensure_ascii=plain)) == (reply, "field")
