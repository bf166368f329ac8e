"""Gemini: prompts with their answers, put together to conversations; nothing of other activity."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from apps.doors.imports.formats.base import LeftOut, Omission, PastConversation
from apps.doors.imports.formats.uploads import UnknownFormat, UnreadableFile
from tests.doors.imports.samples import GEMINI_ACTIVITY, GEMINI_PAGE, as_json, detect, gemini, gemini_cell, read, texts


def test_prompts_within_half_an_hour_are_a_conversation_unless_they_name_theirs() -> None:
    first, second, linked, left_out = read(as_json(GEMINI_ACTIVITY))
    assert texts(first) == [("user", "Hi"), ("assistant", "Hello")]
    assert texts(second) == [
        ("user", "我喜欢喝咖啡"), ("assistant", "好的。"), ("user", "And tea?"),
        ("assistant", "Green & black.\n\n- one\n- two"),
    ]  # fmt: skip
    assert (second.title, second.left_out) == ("我喜欢喝咖啡", {LeftOut.ATTACHMENT: 1})
    assert second.messages[0].said_at == datetime(2026, 3, 2, 9, 15, tzinfo=UTC)
    assert (linked.source_id, len(linked.messages)) == ("9d0b", 1)
    assert left_out == Omission(LeftOut.UNSUPPORTED, label="My Activity", count=2)


def test_a_page_says_the_same() -> None:
    found, left_out = read(GEMINI_PAGE)
    assert texts(found) == [
        ("user", "我喜欢喝咖啡"), ("assistant", "好的。"), ("user", "And tea?"), ("assistant", "Yes"),
    ]  # fmt: skip
    assert found.messages[0].said_at == datetime(2026, 3, 2, 9, 15, tzinfo=UTC)
    assert found.left_out == {LeftOut.ATTACHMENT: 1}
    assert left_out == Omission(LeftOut.UNSUPPORTED, label="My Activity", count=1)


def test_a_newer_export_continues_the_conversation() -> None:
    older, newer = read(as_json(GEMINI_ACTIVITY[3:])), read(as_json(GEMINI_ACTIVITY))
    assert older[1].source_id == newer[1].source_id
    assert older[1].messages == newer[1].messages[:2]


@pytest.mark.parametrize("time", ["Mar 32, 2026, 9:00:00 AM UTC", "2026年3月2日 09:00:00 CST"])
def test_without_a_time_that_can_be_read_each_prompt_stands_alone(time: str) -> None:
    page = "<html>" + gemini_cell("Prompted&nbsp;Hello<br>there", time, "<p>Yes</p>") + gemini_cell("你好", time, "好")
    items = read(page.encode())
    assert [
        (message.role, message.content, message.said_at)
        for item in items
        if isinstance(item, PastConversation)
        for message in item.messages
    ] == [
        ("user", "你好", None), ("assistant", "好", None), ("user", "Hello\nthere", None), ("assistant", "Yes", None),
    ]  # fmt: skip
    assert len(items) == 2


def test_a_prompt_may_hold_a_time_and_a_record_without_one_is_left_out() -> None:
    cells = gemini_cell("Prompted&nbsp;Wake me<br>at 07:00:00<br>please", "Mar 2, 2026, 9:00:00 AM UTC", "")
    found, left_out = read(("<html>" + cells + gemini_cell("Prompted&nbsp;Hi", "yesterday", "Yes")).encode())
    assert [message.content for message in found.messages] == ["Wake me\nat 07:00:00\nplease"]
    assert left_out == Omission(LeftOut.UNSUPPORTED, label="My Activity", count=1)


@pytest.mark.parametrize(
    "data",
    [
        b"<html><body>Hi</body></html>",
        gemini_cell("Watched", "Mar 1, 2026", "", "YouTube").encode(),
        as_json([gemini("x", "")] * 0),
    ],
)
def test_another_page_is_not_taken_for_it(data: bytes) -> None:
    with pytest.raises(UnknownFormat):
        detect(data)


def test_a_page_without_an_end_is_given_up() -> None:
    page = GEMINI_PAGE + b'<div class="outer-cell' + b"x" * (9 * 1024**2)
    with pytest.raises(UnreadableFile, match="too large"):
        read(page)
