"""What a question says besides its words, seen from Sunday, 22 November 2026, in Shanghai."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from apps.memory.recall.query import AtomicQuery

pytestmark = pytest.mark.spec("A4")

SAID_AT = datetime(2026, 11, 22, 2, 30, tzinfo=UTC)
SHANGHAI = ZoneInfo("Asia/Shanghai")


@pytest.mark.parametrize(
    "text",
    [
        *("What did I do yesterday?", "What happened last week?", "What was I up to last weekend?", "昨天"),
        *("What did we talk about yesterday?", "Where was I on May 3rd?", "What did I do from May 3 to May 5?"),
        *("What did I do last Christmas?", "What was going on two and a half months ago?", "Yesterday?"),
        *("我昨天做了什么？", "上周末我干嘛了", "前天我去哪了", "昨天聊了什么", "去年春节我在哪儿", "昨天过得怎么样"),
        *("3月3日到5日我在干什么", "两个半月前发生了什么", "今天都有什么安排", "还记得昨天吗"),
    ],
)
def test_who_names_a_time_alone_asks_for_all_that_is_from_then(text: str) -> None:
    query = AtomicQuery(text, zone=SHANGHAI)
    assert query.names_time_alone(said_at=SAID_AT)
    assert len(query.list_times(said_at=SAID_AT)) == 1


@pytest.mark.parametrize(
    "text",
    [
        *("", "What did I do?", "What did I eat last night?", "Which tea did I have yesterday?", "Where do I live?"),
        *("Do I like spring?", "What is my dentist's name?", "I may go"),
        *("昨晚我吃了什么", "上周我买的书叫什么", "我做了什么", "我喜欢春节吗"),
    ],
)
def test_who_asks_for_anything_else_does_not(text: str) -> None:
    assert not AtomicQuery(text, zone=SHANGHAI).names_time_alone(said_at=SAID_AT)
