"""Invent sentences and questions in both languages, any number of them, the same ones every time.

Words are drawn by their rank as in real text, by Zipf's law: the word of rank r is about r times as rare as the first
one. Things and verbs are everyday words; names of people and places are put together from syllables, so that there are
thousands of rare ones. Pure.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import accumulate, product

LANGUAGES = ("zh", "en")

_THINGS = {
    "zh": """
        咖啡 电影 猫 工作 音乐 跑步 书 面条 火车 生日 医生 花园 照片 吉他 游戏 牛奶 蛋糕 钥匙 雨伞 自行车 围巾 象棋
        望远镜 邮票 陶瓷 葡萄酒 口琴 风筝 皮划艇 豆腐 相机 手表 地图 毛衣 台灯 日记 画展 瑜伽 登山 钓鱼 书法 剪纸
        天文学 古筝 滑雪板 无人机 盆栽 拼图 篆刻 热气球 显微镜
    """,
    "en": """
        coffee film cat job music running book noodles train birthday doctor garden photograph guitar game milk cake
        key umbrella bicycle scarf chess telescope stamp pottery wine harmonica kite kayak tofu camera watch map
        sweater lamp diary exhibition yoga mountaineering fishing calligraphy origami astronomy violin snowboard
        drone bonsai puzzle engraving balloon microscope
    """,
}
_VERBS = {
    "zh": "喜欢 买了 提到 想要 忘了 学习 研究 收藏 推荐 修好了 借走了 弄丢了 设计 讨厌",
    "en": """
        likes bought mentioned wants forgot studies recommended collects repaired borrowed lost designed dislikes
        praised
    """,
}
_SURNAMES = "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹"
_GIVEN = "伟芳娜敏静丽强磊军洋勇艳杰娟涛明超兰霞平刚桂英华玉秀梅建国志"
_STARTS = "Al Be Ca Da El Fa Ga Ha Is Jo Ka Li Ma No Or Pa Ro Sa Te Vi"
_MIDDLES = "ra ni lo mi ve da ti so ku len mar bor cas din fel gan"
_ENDS = "na ro lia ton vik mond sa ric dor bel nis wyn"
_PLACE_STARTS = "东西南北青白金银龙凤云石长平安新古松柳梅"
_PLACE_MIDDLES = "山河湖江林泉桥溪湾岭沙台"
_PLACE_ENDS = ("镇", "路", "公园", "村", "车站", "广场")

_SENTENCES = {
    "zh": (
        "{name}{verb}{thing}，那天在{place}。",
        "用户的朋友{name}住在{place}，{verb}{thing}。",
        "{year}年用户在{place}{verb}{thing}。",
        "用户和{name}约好去{place}，顺便看看{thing}。",
        "因为{thing}，用户在{place}认识了{name}。",
        "用户{verb}{thing}，也{verb2}{thing2}。",
        "{name}说{thing}比{thing2}更重要。",
        "{month}月用户要带{thing}去{place}找{name}。",
    ),
    "en": (
        "{name} {verb} the {thing} that was in {place}.",
        "The user's friend {name} lives in {place} and {verb} the {thing}.",
        "In {year} the user was in {place} because of the {thing}.",
        "The user is going to {place} with {name} to see the {thing}.",
        "The user met {name} in {place} over a {thing}.",
        "The user {verb} the {thing}, and {name} {verb2} the {thing2}.",
        "{name} said that the {thing} matters more than the {thing2}.",
        "In month {month} the user takes the {thing} to {name} in {place}.",
    ),
}
_QUESTIONS = {
    "zh": (
        "{name}在{place}做了什么？",
        "你还记得{name}和{thing}的事吗？",
        "我什么时候去过{place}？",
        "谁{verb}{thing}？",
        "关于{thing}和{thing2}，我说过什么？",
    ),
    "en": (
        "What did {name} do in {place}?",
        "Do you remember {name} and the {thing}?",
        "When was I in {place}?",
        "Who {verb} the {thing}?",
        "What did I say about the {thing} and the {thing2}?",
    ),
}


def make_sentence(number: int) -> str:
    """Return the sentence of this number, what a memory might say; even numbers are Chinese, odd ones English."""
    return _fill(_SENTENCES, number, random.Random(number))


def make_question(number: int) -> str:
    """Return the question of this number, in the same words as the sentences; the language as in `make_sentence`."""
    return _fill(_QUESTIONS, number, random.Random(f"question {number}"))


def _fill(templates: Mapping[str, Sequence[str]], number: int, draw: random.Random) -> str:
    language = LANGUAGES[number % len(LANGUAGES)]
    things, verbs = _THINGS[language].split(), _VERBS[language].split()
    return draw.choice(templates[language]).format(
        name=draw_word(_list_names(language), draw),
        place=draw_word(_list_places(language), draw),
        thing=draw_word(things, draw),
        thing2=draw_word(things, draw),
        verb=draw_word(verbs, draw),
        verb2=draw_word(verbs, draw),
        year=draw.randrange(1960, 2027),
        month=draw.randrange(1, 13),
    )


def draw_word(words: Sequence[str], draw: random.Random) -> str:
    """Draw one of the words, that at position p (from 0) with a probability in proportion to 1 / (p + 1)."""
    return draw.choices(words, cum_weights=_accumulate_weights(len(words)))[0]


@cache
def _accumulate_weights(number: int) -> list[float]:
    return list(accumulate(1 / rank for rank in range(1, number + 1)))


@cache
def _list_names(language: str) -> tuple[str, ...]:
    if language == "zh":
        return _shuffle("".join(parts) for parts in product(_SURNAMES, _GIVEN, ("", *_GIVEN[:9])))
    return _shuffle("".join(parts) for parts in product(_STARTS.split(), _MIDDLES.split(), _ENDS.split()))


@cache
def _list_places(language: str) -> tuple[str, ...]:
    if language == "zh":
        return _shuffle("".join(parts) for parts in product(_PLACE_STARTS, _PLACE_MIDDLES, _PLACE_ENDS))
    endings = ("ford", "bury", "ham", "stead", "wick", "haven")
    return _shuffle("".join(parts) for parts in product(_STARTS.split(), _MIDDLES.split(), endings))


def _shuffle(words: Iterable[str]) -> tuple[str, ...]:
    """Every word once, in an order that is random and always the same."""
    shuffled = sorted(set(words))
    random.Random(0).shuffle(shuffled)
    return tuple(shuffled)
