"""What a query says: its preference, its times, the lines before it that it needs, and what adds to what is shown."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from apps.memory.recall.former import Shown, tells_all
from apps.memory.recall.long_term import concerns_preference
from apps.memory.recall.query import LINE_CHARACTERS, AtomicQuery, find_earlier, weigh_earlier

SAID = ["older", "我之前提过杭州哪些面馆来着", "你说过奎元馆的虾爆鳝面不错。", "嗯", "还有一家在河坊街。"]


@pytest.mark.spec("K7")
@pytest.mark.parametrize(
    "message", ["再找找其他的", "那她呢？", "what about the other one?", "为什么？", "how much was it?"]
)
def test_a_follow_up_needs_the_two_rounds_before_it(message: str) -> None:
    assert find_earlier(message, SAID) == "\n".join(SAID[1:])
    assert find_earlier(message, []) == ""


@pytest.mark.spec("K7")
@pytest.mark.parametrize(
    "message", ["对了，我妹妹的婚礼定在哪个酒店？", "By the way, which dentist did my sister recommend last year?"]
)
def test_a_message_that_speaks_for_itself_needs_nothing(message: str) -> None:
    assert find_earlier(message, SAID) == ""


def test_long_lines_are_cut_and_lines_stay_lines() -> None:
    lines = find_earlier("why?", ["a\nb", "x " * 1_000, "  "]).split("\n")
    assert lines[0] == "a b"
    assert len(lines) == 2
    assert len(lines[1]) == LINE_CHARACTERS


def test_each_keyword_of_its_own_makes_it_count_less() -> None:
    assert weigh_earlier("") == 1.0
    assert weigh_earlier("hotel") == 0.8
    assert weigh_earlier("hotel price") == pytest.approx(0.64)


PREFERENCES = ["我喜欢的颜色是什么", "我不喜歡香菜", "你知道我爱吃什么吗", "我宁愿走路", "我的口味偏辣", "我prefer茶",
               "What's my favourite movie?", "I preferred tea", "do I like dogs", "She dislikes it, I love it",
               "my preferences please"]  # fmt: skip
NO_PREFERENCES = ["我住在北京", "明天有会议", "My dog is called Rex", "unlikely gloves", "Where do I work?", ""]


@pytest.mark.spec("K6")
@pytest.mark.parametrize(("messages", "concern"), [(PREFERENCES, True), (NO_PREFERENCES, False)])
def test_messages_that_concern_a_preference(messages: list[str], concern: bool) -> None:
    assert [text for text in messages if concerns_preference(text) is not concern] == []


@pytest.mark.spec("A4")
@pytest.mark.parametrize(
    ("shown", "text", "adds"),
    [
        ("我在杭州的一家医院做护士，每周三休息。", "我在杭州的一家医院做护士。", False),
        ("I work as a nurse in Leeds.", "I work as a nurse in Leeds, on night shifts.", True),
        ("I work as a nurse in Leeds, on night shifts.", "I work as a nurse in Leeds.", False),
        ("job: nurse in Leeds", "I'm a nurse in Leeds.", False),
        ("我不吃香菜。", "我不吃香菜", False),
        ("The train leaves at 17:40 from platform 3.", "The train leaves at 17:45 from platform 3.", True),
        ("The room is number 17.", "The room is number 7.", True),
        ("我吃香菜。", "我不吃香菜。", True),
        ("I like the new flat in York.", "I don't like the new flat in York.", True),
        ("Anna lives in Berlin.", "Ben lives in Berlin.", True),
        ("", "tea", True),
        ("tea", "😀", True),
    ],
)
def test_only_a_word_a_number_or_a_denial_more_adds_something(shown: str, text: str, adds: bool) -> None:
    assert Shown([shown]).add(text) is adds


def test_what_was_added_is_shown() -> None:
    shown = Shown()
    assert [shown.add(text) for text in ("I like green tea.", "green tea", "I like black tea.")] == [True, False, True]


def test_two_texts_together_say_nothing_of_a_third() -> None:
    # Who lives where is in neither.
    assert Shown(["Anna lives in Leeds.", "Ben lives in York."]).add("Anna lives in York.")


@pytest.mark.spec("A5")
@pytest.mark.parametrize(
    ("memories", "message", "told"),
    [
        (["My sister Anna is a vet in Hamburg."], "My sister Anna is a vet in Hamburg.", True),
        (["favorite color: blue"], "Blue it is, always was.", True),
        (["喜欢的颜色: 蓝色"], "你好！我喜欢的颜色是蓝色。", True),
        (["name: Mel"], "Hi, I'm Mel. My sister Anna is a vet in Hamburg.", False),
        (["Never really got into beer."], "Never really got into beer. Give me a dry cider any day.", False),
        ([], "I live in Leeds.", False),
    ],
)
def test_memories_of_a_message_tell_all_of_it_or_leave_something(memories: list[str], message: str, told: bool) -> None:
    assert tells_all(memories, message) == told


SAID_AT = datetime(2026, 11, 22, 2, 30, tzinfo=UTC)
SHANGHAI = ZoneInfo("Asia/Shanghai")


@pytest.mark.spec("A4")
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


@pytest.mark.spec("A4")
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
