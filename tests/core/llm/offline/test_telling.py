"""Which clauses of a message tell something of its writer: the general rules, each with what it must not take along."""

from __future__ import annotations

import pytest

from apps.core.llm.offline.telling import list_telling_clauses


def told(message: str, *, known: frozenset[str] = frozenset()) -> list[str]:
    return [clause.text for clause in list_telling_clauses(message, known=known)]


@pytest.mark.spec("A2")
@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("老家在兰州，黄河边上", ["老家在兰州", "黄河边上"]),
        ("抽烟四十年，谁劝也不听", ["抽烟四十年", "谁劝也不听"]),
        ("宜家打折，扛回来一棵龟背竹", ["宜家打折", "扛回来一棵龟背竹"]),
        ("最烦吃香菜", ["最烦吃香菜"]),
        ("不会骑马", ["不会骑马"]),
        ("通勤五十五分钟", ["通勤五十五分钟"]),
        ("写错了，是十二楼", ["写错了", "是十二楼"]),
        ("给我涨工资了，八千五", ["给我涨工资了", "八千五"]),
        ("我在车友群当管理员", ["我在车友群当管理员"]),
        ("上禮拜搬去新竹了，這邊風大XD 有推薦的宵夜嗎", ["上禮拜搬去新竹了", "這邊風大XD"]),
        ("同事说他下个月要辞职", []),
        ("这个方案比另外那个便宜", []),
        ("听起来这家店的东西挺新鲜的", []),
        ("量子计算是一种新的计算方式", []),
        ("哪天去合适呢，谁知道", []),
    ],
)
def test_chinese_leaves_the_person_out(message: str, expected: list[str]) -> None:
    assert told(message) == expected


@pytest.mark.spec("A2")
@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("backend engineer at a bank, mostly Java", ["backend engineer at a bank, mostly Java"]),
        ("No pork for me.", ["No pork for me"]),
        ("Gluten-free now.", ["Gluten-free now"]),
        ("small flat in Ghent, second floor", ["small flat in Ghent, second floor"]),
        ("tech lead at a bank", ["tech lead at a bank"]),
        ("brother-in-law is coeliac", ["brother-in-law is coeliac"]),
        ("I'm a dental assistant, in case you need it.", ["I'm a dental assistant"]),
        ("We're Quakers, as I told you.", ["We're Quakers"]),
        ("make that nine o'clock, the bus is late", ["make that nine o'clock, the bus is late"]),
        ("Make that shorter please", []),
        ("You know what you should do", []),
        ("Big camping family here!", ["Big camping family here"]),
        ("Nature has a way of calming people.", []),
        ("That book is a real classic.", []),
        ("The engineer says it is fine.", []),
    ],
)
def test_english_leaves_out_i_am(message: str, expected: list[str]) -> None:
    assert told(message) == expected


@pytest.mark.spec("A2")
def test_what_names_nobody_goes_on_with_what_tells_of_the_writer() -> None:
    assert told("The lease came through. I signed it on Friday.") == ["The lease came through", "I signed it on Friday"]
    assert told("The lease came through.") == []
    assert told("My cat Duke saw the vet. She goes by Duchess now.")[1] == "She goes by Duchess now"
    assert told("I moved house. That song is great. Awesome!") == ["I moved house"]


@pytest.mark.spec("A2")
@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("I do nights, so if I text at 4am I'm on a break.", ["I do nights"]),
        ("Rust is my favourite language, I'd use it if I could", ["Rust is my favourite language"]),
        ("I'd be at the beach every day if I moved.", []),
        ("If I moved, I'd be happy.", []),
        ("主要是我对虾过敏", ["主要是我对虾过敏"]),
        ("我会搬去海边，要是有钱的话", []),
    ],
)
def test_a_supposition_takes_only_what_depends_on_it(message: str, expected: list[str]) -> None:
    assert told(message) == expected


@pytest.mark.spec("A2")
@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("When I was ten I broke my arm", ["When I was ten I broke my arm"]),
        ("can't stand mushrooms", ["can't stand mushrooms"]),
        ("Can't you remember my name?", []),
        ("When do I fly", []),
        ("吃啥都塞牙，戴着牙套", ["吃啥都塞牙", "戴着牙套"]),
        ("我什么时候出发", []),
        ("我什么都不会吗？", []),
    ],
)
def test_words_of_questions_are_not_always_one(message: str, expected: list[str]) -> None:
    assert told(message) == expected


@pytest.mark.spec("A2")
@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("I teach chemistry. Can you draft a quiz for me?", ["I teach chemistry"]),
        ("Write me a cover letter. I am a cheerful person.", []),
        ("我在公司写代码", ["我在公司写代码"]),
        ("我是英语翻译", ["我是英语翻译"]),
        ("帮我写一篇作文。我的家在海边。", []),
        ("I'm writing a book.", ["I'm writing a book"]),
        ("Now I am assistant in a kindergarten.", ["Now I am assistant in a kindergarten"]),
        ("The assistant must agree with me.", []),
    ],
)
def test_a_text_to_be_written_is_nothing_told(message: str, expected: list[str]) -> None:
    assert told(message) == expected


@pytest.mark.spec("A2")
@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Update my zip please, it's 97214.", ["Update my zip please", "it's 97214"]),
        ("Please put me down as Emily Osei.", ["Please put me down as Emily Osei"]),
        ("帮我登记一下我的新号码8037", ["帮我登记一下我的新号码8037"]),
        ("帮我选壁纸记得我最喜欢粉色", ["我最喜欢粉色"]),
        ("Please update the list.", []),
        ("帮我登记一下", []),
    ],
)
def test_a_request_to_put_something_right_tells_it(message: str, expected: list[str]) -> None:
    assert told(message) == expected


@pytest.mark.spec("A2", "U3")
@pytest.mark.parametrize(
    ("message", "expected"),
    [("叫我老王就行", "我希望被称呼为老王"), ("You can call me Brandon.", "I want to be called Brandon")],
)
def test_what_somebody_is_called_is_told(message: str, expected: str) -> None:
    assert told(message) == [expected]


@pytest.mark.spec("A2")
@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Maria, I moved to Rome.", ["I moved to Rome"]),
        ("Yesterday, I moved to Rome.", ["Yesterday", "I moved to Rome"]),
        ("just so you know i live in Rome", ["i live in Rome"]),
        ("As I said before, my girl is ill.", ["my girl is ill"]),
        ("No worries, Jon.", []),
        ("更新一下：我搬到开封了", ["我搬到开封了"]),
    ],
)
def test_names_called_and_openings_stay_out(message: str, expected: list[str]) -> None:
    assert told(message) == expected


@pytest.mark.spec("A2")
def test_cantonese_is_told_as_well() -> None:
    assert told("轉咗工喇，而家喺港鐵做車務") == ["轉咗工喇", "而家喺港鐵做車務"]
    assert told("你點解唔食飯") == []


@pytest.mark.spec("A2")
@pytest.mark.parametrize(
    "message",
    ["中国的首都是北京", "太阳从东边升起", "锻炼有助于睡眠", "股票市场最近不稳定", "开头换成感谢信的语气",
     "字数控制在三百字以内", "不要用成语", "换个说法", "改成疑问句", "用Java实现",
     "The capital of France is Paris.", "Cats are nocturnal.",
     "Big difference between lists and tuples.", "Keep it under a page.", "No bullet points.", "Not too formal.",
     "Make the ending shorter.", "Student loans are complicated.", "Never mind the second question."],
)  # fmt: skip
def test_how_the_world_is_and_how_a_text_should_be_are_no_memory(message: str) -> None:
    assert told(message) == []
