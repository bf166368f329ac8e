"""Leaving out reasoning while an answer streams in (E5, E6, C6): only what comes before the answer, and at once."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from apps.core.llm.reasoning import ReasoningFilter, remove_reasoning


def run(*pieces: str) -> list[str]:
    """Feed the pieces; return what came out for each, and at the end."""
    reasoning = ReasoningFilter()
    return [*(reasoning.feed(piece) for piece in pieces), reasoning.close()]


@pytest.mark.spec("E5", "E6")
@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think></think>hi", "hi"),
        ("<think>\n\n</think>\n\nhi \n", "hi \n"),
        ("[THINK]a [b]\n[/THINK]hi", "hi"),
        ("<seed:think>a</think></seed:think>hi", "hi"),
        ("<Thought>a</Thought>hi", "hi"),
        ('<reasoning effort="low">a</reasoning>hi', "hi"),
        ("◁think▷a◁/think▷hi", "hi"),
        ("<think>a</think>\n<thinking>b</thinking> <think></think>hi", "hi"),
        ("</think>\n\nhi", "hi"),
        ("<think>a</thinking></reasoning>b</think>hi", "hi"),
        ("<think>about <think> tags</think>hi", "hi"),
        ("\ufeff \n hi", "hi"),
        ("<think>never closed {} </thin", ""),
        ("<think>", ""),
        ("<think>a</think>", ""),
        ("", ""),
        ("\n ", ""),
        # Special tokens of a template, and thought between them
        ("<|channel|>analysis<|message|>Hm {x}.<|end|><|start|>assistant<|channel|>final<|message|>x<|return|>", "x"),
        (
            "<|channel|>analysis<|message|>Simple<|end|><|start|>assistant<|channel|>final<|message|>Hi, you.",
            "Hi, you.",
        ),
        ("<|channel>thought\nHm.\n<channel|>hi", "hi"),
        ("<|START_THINKING|>Hm, x<|END_THINKING|><|START_RESPONSE|>hi there<|END_RESPONSE|>", "hi there"),
        ("<|begin_of_thought|>Hm. x<|end_of_thought|>\n<|begin_of_solution|>It is 4.<|end_of_solution|>", "It is 4."),
        ("<|im_start|>assistant\nhi, you<|im_end|>", "hi, you"),
        ("<|start_header_id|>assistant<|end_header_id|>\n\nhi", "hi"),
        ("<｜Assistant｜>你好<｜end▁of▁sentence｜>", "你好"),
        ("<|channel|>analysis<|message|>Nothing but thought", ""),
        ("<|", "<|"),
    ],
)
def test_only_what_follows_the_reasoning_is_left(text: str, answer: str) -> None:
    assert "".join(run(text)) == answer
    assert "".join(run(*text)) == answer


@pytest.mark.spec("E5", "E6")
@pytest.mark.parametrize(
    "text",
    [
        "<thi",
        "<",
        "< think>a</think>",
        "<thinker>a</thinker>",
        "<think about it",
        "hi <think>a</think> there",
        "先想想。\n</think>\n你好",
        '{"response": "<think>a</think>"}',
        "`<think>`",
        "[Link](https://example.com)",
        "[x] done",
        "<b>bold</b> <|token|>",
        "Use <|endoftext|> here",
    ],
)
def test_a_tag_elsewhere_and_what_only_looks_like_one_is_text(text: str) -> None:
    assert "".join(run(text)) == text
    assert "".join(run(*text)) == text


@pytest.mark.spec("C6")
@pytest.mark.parametrize(
    ("pieces", "out"),
    [
        (["<", "b", ">", "bold"], ["", "", "<b>", "bold", ""]),
        (["<thinking", "?", "!"], ["", "<thinking?", "!", ""]),
        ([" ", "<", "3 你"], ["", "", "<3 你", ""]),
        (["[a", " link", "]"], ["", "", "[a link]", ""]),
        (["你", "<", "think>"], ["你", "<", "think>", ""]),
        (["<rea"], ["", "<rea"]),
    ],
)
def test_text_is_held_back_only_while_it_may_be_a_tag(pieces: list[str], out: list[str]) -> None:
    assert run(*pieces) == out


FRAGMENTS = st.sampled_from(
    [
        *("<think>", "</think>", "<thinking>", "</thinking>", "<reasoning>", "</reasoning>"),
        *("<", "</", "thi", "nk", "ing", ">", " ", "\n", "\ufeff", "{", "你好", "a", "\ud83d", "\ude00"),
    ]
)


@pytest.mark.long
@pytest.mark.spec("E5", "E6", "C6")
@settings(deadline=None)
@given(st.lists(FRAGMENTS, max_size=20).map("".join), st.lists(st.integers(0, 120)))
@example("\n<think>a</thin</think>\n</think><reasoning></reasoning> <th", list(range(80)))
def test_what_comes_out_does_not_depend_on_the_split(text: str, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    out = "".join(run(*(text[start:end] for start, end in pairwise(edges))))

    assert out == "".join(run(text)) == "".join(run(*text))
    assert text.endswith(out)


@pytest.mark.spec("E5")
@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('<think>{"a": 1}</think>\n{"b": 2}', '{"b": 2}'),
        ('Hm.\n</think>\n{"b": 2}', '\n{"b": 2}'),
        ('嗯 </think> 嗯 </reasoning>{"b": 2}', '{"b": 2}'),
        ('Sure: {"b": "</think>"}', 'Sure: {"b": "</think>"}'),
        ('{"b": "<think></think>"}', '{"b": "<think></think>"}'),
        ('{"a": 1}</think>{"b": 2}', '{"a": 1}</think>{"b": 2}'),
        ('<think>{"a": 1}', ""),
        ('[DRAFT]{"a": 1}[/DRAFT]{"b": 2}', '{"b": 2}'),
        ('<answer>{"b": 2}</answer>', '<answer>{"b": 2}</answer>'),
        ("Okay, they greet me.\n</think>\n\nhi", "hi"),
        ("Write </think> at its end.", "Write </think> at its end."),
        ("<div>\n</div>\nThat is all.", "<div>\n</div>\nThat is all."),
    ],
)
def test_a_whole_answer_loses_its_reasoning_even_where_nothing_opened_it(text: str, left: str) -> None:
    assert remove_reasoning(text) == left
