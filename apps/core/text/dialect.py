"""Written Cantonese in the words of written Mandarin, so that rules and lexicons for the one read the other."""

from __future__ import annotations

import re

_CHARACTERS = {
    "喺": "在", "咗": "了", "嘅": "的", "冇": "没", "係": "是", "佢": "他", "啲": "些", "嗰": "那", "𠮶": "那", "睇": "看",
    "嚟": "来", "畀": "给", "諗": "想", "谂": "想", "攞": "拿", "嘢": "事", "瞓": "睡", "搵": "找", "揾": "找", "癐": "累",
    "𤶊": "累", "攰": "累", "咁": "这", "噉": "这", "嘥": "费", "啱": "对", "哋": "们",
}  # fmt: skip
_WORDS = {
    "而家": "现在", "依家": "现在", "屋企": "家里", "返工": "上班", "放工": "下班", "钟意": "喜欢", "鍾意": "喜欢", "中意": "喜欢",
    "成日": "经常", "琴日": "昨天", "寻日": "昨天", "尋日": "昨天", "听日": "明天", "聽日": "明天", "好耐": "很久", "点解": "为何",
    "點解": "为何", "乜嘢": "什么", "边度": "哪里", "邊度": "哪里", "几多": "多少", "幾多": "多少", "一齐": "一起", "一齊": "一起",
    "得闲": "有空", "得閒": "有空", "细佬": "弟弟", "細佬": "弟弟", "家姐": "姐姐", "老豆": "爸爸", "仔女": "孩子", "淨係": "只是",
    "净系": "只是", "仲有": "还有", "仲未": "还没", "转工": "换工", "轉工": "换工", "学紧": "在学", "學緊": "在学", "做紧": "在做",
    "做緊": "在做", "住紧": "在住", "住緊": "在住",
}  # fmt: skip
_SINGLE = rf"[{''.join(_CHARACTERS)}]|喇(?![叭嘛沙])|唔(?![,，。.!！~～…\s])|(?<![关體体聯联])系(?![统統列])"
_MARK = re.compile(
    r"[喺咗嘅冇係佢啲嗰𠮶睇嚟畀諗谂瞓癐𤶊攰啱哋]|喇(?![叭嘛沙])|唔[係系使好想知得识識会會]|而家|依家|屋企|返工|鍾意|钟意|[转轉]工"
)
"""Without one of these a text is no Cantonese, and 中意 or 成日 may be something else in it."""
_PIECE = re.compile("|".join([*map(re.escape, _WORDS), _SINGLE]))
_SPELLINGS = {**_WORDS, **_CHARACTERS, "喇": "了", "唔": "不", "系": "是"}


def spell_mandarin(text: str) -> str:
    """`text` with Cantonese words in Mandarin ones of the same length: 我喺屋企 is 我在家里. Folded or not.

    A text without any sign of Cantonese stays as it is.
    """
    if not _MARK.search(text):
        return text
    return _PIECE.sub(lambda found: _SPELLINGS[found.group()], text)
