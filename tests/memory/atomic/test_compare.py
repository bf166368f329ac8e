"""How two texts relate: pairs of our own, beside those of tests/quality."""

from __future__ import annotations

import pytest

from apps.memory.atomic.compare import Relation, compare
from apps.memory.atomic.frames import LONGEST, MOST_CLAUSES
from apps.memory.atomic.spelling import make_comparable


@pytest.mark.spec("A3")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("用户住在北京。", "用户上个月（2026-10）搬到上海了，房租贵不少。"),
        ("用户住在台北大安區", "用户上禮拜搬到新竹了"),
        ("用户是老师。", "用户不当老师了，现在做产品经理。"),
        ("用户在腾讯做后端。", "用户跳槽去字节了。"),
        ("用户讨厌跑步。", "用户爱上跑步了，这周跑了三次。"),
        ("用户家猫叫团子。", "用户提到：上次说错了，猫不叫团子，叫圆子。"),
        ("用户的女儿三岁。", "用户提到：女儿上个月满四岁了。"),
        ("用户的预算是五千。", "用户提到：预算加到八千了。"),
        ("用户每天喝两瓶啤酒。", "用户提到：酒戒了，半年没喝。"),
        ("用户有一条金毛。", "用户提到：金毛去年走丢了。"),
        ("用户提到：戒咖啡了。", "用户提到：没忍住，又开始天天喝咖啡了。"),
        ("用户单身。", "用户提到：脱单了！"),
        ("The user lives in Leeds.", "The user moved to Bristol, closer to the sea."),
        ("The user is a nurse.", "The user gave up nursing and is training as an electrician."),
        ("The user works at Starbucks.", "The user is at a bookstore now."),
        ("The user likes horror films.", "Horror films are not the user's thing anymore."),
        ("The user hates jazz.", "Jazz has really grown on the user."),
        ("The user's son is 4.", "The user's son just turned 5."),
        ("The user weighs 80 kg.", "The user is down to 74 kg."),
        ("The user has a Honda Civic.", "The user sold the Civic."),
        ("The user takes metformin.", "The doctor took the user off metformin."),
        ("The user's appointment is on Monday.", "They moved the user's appointment to Wednesday."),
        ("The user is single.", "The user is married now."),
    ],
)
def test_what_ends_the_older_statement(old: str, new: str) -> None:
    assert compare(old, new) is Relation.CONTRADICTS


@pytest.mark.spec("A3")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("用户住在南京。", "用户以前住在合肥。"),
        ("用户住在南京。", "用户想搬去大理。"),
        ("用户住在成都。", "用户这两天在重庆出差。"),
        ("用户住在北京。", "用户的妹妹住在上海。"),
        ("用户在银行上班。", "用户每天在公园跑步。"),
        ("用户喜欢喝茶。", "用户也喜欢喝咖啡。"),
        ("用户不吃辣。", "用户也不吃香菜。"),
        ("用户喜欢吃火锅。", "用户提到：今晚不想吃火锅。"),
        ("用户周一到周五七点起床。", "用户周末睡到十点才起床。"),
        ("用户的手机号尾号是1234。", "用户公司座机尾号是5678。"),
        ("用户二十八岁。", "用户十八岁开始工作。"),
        ("用户养了一只猫。", "邻居家的猫死了。"),
        ("The user lives in Leeds.", "The user grew up in Glasgow."),
        ("The user lives in Leeds.", "The user almost moved to Bristol last year."),
        ("The user lives in Rome.", "The user is in Paris on vacation."),
        ("The user likes tea.", "The user likes coffee as well."),
        ("The user has a cat named Luna.", "The user adopted a puppy, his name is Ziggy."),
        ("The user loves pizza.", "The user doesn't feel like pizza tonight."),
        ("The user swims every Wednesday.", "No swim for the user this Wednesday."),
        ("The user's laptop is a Dell.", "The user's work laptop is a MacBook."),
        ("The user is 30.", "The user's sister is 27."),
    ],
)
def test_what_leaves_both_true(old: str, new: str) -> None:
    assert compare(old, new) is Relation.NEW


@pytest.mark.spec("A3")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("用户住在北京。", "用户住在北京！"),
        ("用户習慣晚上十二點睡覺。", "用户一般晚上12点睡觉。"),
        ("用户每天早上跑五公里。", "用户天天早上都跑5公里。"),
        ("我的猫叫咪咪", "用户的猫叫咪咪"),
        ("The user's favourite colour is grey.", "The user's favorite color is gray."),
        ("The user is a Scorpio.", "The user is a scorpio btw."),
        ("The user never drinks alcohol.", "I never drink any alcohol"),
    ],
)
def test_the_same_in_other_words(old: str, new: str) -> None:
    assert compare(old, new) is Relation.SAME


@pytest.mark.spec("A3")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("用户住在北京。", "具体说，用户住在北京望京那边。"),
        ("用户在银行上班。", "用户在银行做的是风控。"),
        ("The user drives to work.", "The user drives to work in a white Tesla Model 3."),
        ("The user's husband is a programmer.", "The user's husband is an embedded programmer, mostly C."),
    ],
)
def test_more_of_the_same(old: str, new: str) -> None:
    assert compare(old, new) is Relation.REFINES


@pytest.mark.parametrize(
    ("cosine", "expected"), [(None, Relation.NEW), (0.8, Relation.NEW), (0.9, Relation.DOUBTFUL), (0.98, Relation.SAME)]
)
def test_vectors_decide_where_words_say_nothing(cosine: float | None, expected: Relation) -> None:
    assert compare("用户热爱摄影。", "用户酷爱拍照片。", cosine=cosine) is expected


def test_other_numbers_are_another_thing_however_near() -> None:
    assert compare("用户跑完了3次马拉松。", "用户跑完了12次马拉松。", cosine=0.99) is not Relation.SAME


def test_comparable_text_has_one_person_one_script_and_digits() -> None:
    assert make_comparable("用户習慣晚上十二點睡覺（2026-11-14）") == "我习惯晚上12点睡觉"
    assert make_comparable("The user's mom says the user is twelve") == "my mom says i am 12"
    assert make_comparable("They laid the user off") == "they laid me off"


@pytest.mark.spec("A3")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("用户叫张曼。", "用户学了一道新的菜，叫做清蒸鲈鱼。"),
        ("用户叫张伟。", "用户养了一只猫，叫咪咪。"),
        ("The user's name is Emma.", "The user has been to a museum. The museum is called the Clock House."),
        (
            "The user is starting a choir. Singing makes the user happy, and the rehearsals are on Fridays.",
            "The course got the user off the sofa. The user sings more, met new people, and sleeps well.",
        ),
        (
            "The user is learning to cook Thai food with a friend, and they meet every week.",
            "Actually, the user had a good day. The user read a book about old trains, learned a lot, and slept early.",
        ),
    ],
)
def test_a_word_in_passing_ends_nothing_that_is_told_at_length(old: str, new: str) -> None:
    assert compare(old, new) is not Relation.CONTRADICTS


@pytest.mark.spec("A3")
def test_a_name_that_follows_an_animal_is_the_animals() -> None:
    assert compare("用户养了一只猫，叫咪咪。", "用户的猫改名叫豆豆了。") is Relation.CONTRADICTS
    assert compare("用户叫张伟。", "用户改名叫张强了。") is Relation.CONTRADICTS


@pytest.mark.timeout(20)
@pytest.mark.parametrize("unit", ["1.1:1", "0", "Now ", "一", "with my a in an ", "我, "])
@pytest.mark.parametrize("length", [600, LONGEST, 32_000])
def test_no_text_takes_long_to_be_compared(unit: str, length: int) -> None:
    """Without bounds the first takes 10 seconds at 600 characters."""
    text = (unit * length)[:length]
    assert compare(text, f"{text[1:]}用户住在北京") is not Relation.CONTRADICTS


def test_a_numeral_without_end_is_read() -> None:
    assert make_comparable(f"two{' hundred' * 3_000}").startswith("2000000")


@pytest.mark.spec("A3")
def test_what_is_too_long_for_a_statement_is_left_to_its_owner() -> None:
    kept = "用户住在北京。" + "长" * LONGEST
    assert compare(kept, "用户搬到上海了。") is Relation.NEW
    assert compare("用户住在北京。", "用户搬到上海了。" + "长" * LONGEST) is Relation.NEW
    assert compare(kept, f"{kept}！") is Relation.SAME
    assert compare(kept, f"{kept}短") is Relation.NEW
    listed = "，".join(f"用户有{number}号票" for number in range(MOST_CLAUSES + 1))
    assert len(listed) < LONGEST
    assert compare("用户住在北京。", f"{listed}，用户搬到上海了。") is Relation.NEW
    assert compare("用户住在北京。", f"{listed[:500]}，用户搬到上海了。") is Relation.CONTRADICTS
