"""Texts spelled alike, so that one table serves for all: digits for numerals, the person as 我 or "i". Pure."""

from __future__ import annotations

import re

from apps.core.text.dialect import spell_mandarin
from apps.core.text.fold import fold
from apps.core.text.text_cache import cache_texts
from apps.memory.atomic.quantities import write_english_digits, write_thousands

_ANNOTATION = re.compile(r"[(（]\d{4}(?:-\d\d){0,2}(?:[–~]\d{4}(?:-\d\d){0,2})?[)）]")
_DIGITS = "零一二三四五六七八九"
_NUMERAL = re.compile(
    r"(?<![周第期拜])(?:[二两三四五六七八九]?十[一二三四五六七八九]?|[两二三四五六七八九])(?=[盆棵株把张幅支根匹头尾对双件罐盒箱袋桶碗盘片粒颗针册期章集页首局桌栋层户顿份趟名个只条岁点公斤杯本口次套辆家台间门天周年月号日楼块元万千度米包双瓶节遍场小分半人位,。了啦$]|$)"
    r"|(?<=每周)[二两三四五六](?=[次回趟节遍])"
)
_TIMES = {"once": "1 times", "twice": "2 times"}
_SPELLINGS = [
    (re.compile(r"[’‘`]"), "'"),
    (re.compile(r"用户(?:提到|说)[,:，：]?\s*|the user (?:mentioned|says?|said)[:,]?\s*(?:that\s+)?"), ""),
    (re.compile(r"\bthe user's\b"), "my"),
    (re.compile(r"\bthe user is\b|\bi'm\b|\bim\b"), "i am"),
    (re.compile(r"\bthe user (?:has|have)\b|\bi've\b"), "i have"),
    # An object is "me": what comes before it is a verb or a preposition.
    (
        re.compile(
            r"(?<=[a-z] )(?<!\band )(?<!\bbut )(?<!\bso )(?<!\bthat )(?<!\bwhen )(?<!\bif )(?<!\bas )"
            r"(?<!\bthis )(?<!\bwhile )(?<!\bbecause )(?<!\bwhere )(?<!\bafter )(?<!\bbefore )the user\b"
        ),
        "me",
    ),
    (re.compile(r"\bthe user\b"), "i"),
    # "the user eats" was "I eat" when it was said.
    (re.compile(r"\bi ((?:\w+(?:ly|er)|also|just|still|always|often) )?(?:has|have)\b"), r"i \1have"),
    (re.compile(r"\bi ((?:\w+ly|also|just|still|always|never|often) )?(do|go)es\b"), r"i \1\2"),
    (re.compile(r"\bi doesn't\b"), "i don't"),
    (re.compile(r"\bi ((?:\w+ly|also|just|still|always|never|often) )?(\w{2,}(?:ch|sh|ss|x|zz))es\b"), r"i \1\2"),
    (re.compile(r"\bi ((?:\w+ly|also|just|still|always|never|often) )?(\w{2,})ies\b"), r"i \1\2y"),
    (
        re.compile(r"\bi ((?:\w+ly|also|just|still|always|never|often) )?(?!was\b|is\b|always\b)(\w+[^\Ws])s\b(?!')"),
        r"i \1\2",
    ),
    # "an hour a day" is one hour.
    (re.compile(r"\b(?:an?|one) (?=(?:hour|mile|pack|glass|cup|pint|litre|liter) (?:a|per|every|each|of)\b)"), "1 "),
    # What holds from this week on is no exception of this week.
    (
        re.compile(
            r"\b(?:from|as of|since|starting|effective) (?:this (?:\w+ )?(?:week(?:end)?|month|morning|\w+day|term)"
            r"|today|tonight|tomorrow|last night)\b"
        ),
        "from now on",
    ),
    (re.compile(r"\b(it|he|she|that|there)'s\b"), r"\1 is"),
    # "My flat's in Leeds", "Mum's gone back to work"; any other 's says whose something is.
    (re.compile(r"(?<=[a-z])'s (?=(?:gone|been|got|had|moved|started|left|taken|quit|become)\b)"), " has "),
    (
        re.compile(
            r"(?<=[a-z])'s (?=(?:in|at|on|an?|the|my|our|called|named|now|not|no|over|dead|down|up|out|off|back|born"
            r"|with|\d+)\b)"
        ),
        " is ",
    ),
    (re.compile(r"\b(name|surname|nickname)'s "), r"\1 is "),
    (re.compile(r"\b(we|they|you)'re\b"), r"\1 are"),
    (re.compile(r"\b(we|they|you)'ve\b"), r"\1 have"),
    (re.compile(r"用户的?|(?<![自敌忘])我们?的?(?=[家公])"), "我"),
    (re.compile(r"(?<=[a-z])-(?=[a-z])"), " "),
    (re.compile(r"(?<=\d),(?=\d{3})"), ""),
]


@cache_texts(4_000)
def make_comparable(text: str) -> str:
    """`text` in the form the tables are written for: folded, digits for numerals, the person as 我 or "i"."""
    text = spell_mandarin(fold(_ANNOTATION.sub("", text)))
    for pattern, spelling in _SPELLINGS:
        text = pattern.sub(spelling, text)
    text = write_thousands(text)
    text = _NUMERAL.sub(lambda found: _read_numeral(found.group()), text)
    text = re.sub(r"\b(?:once|twice)\b", lambda found: _TIMES[found.group()], write_english_digits(text))
    return " ".join(text.split())


def _read_numeral(text: str) -> str:
    """The digits of a Chinese numeral up to 99."""
    tens, ten, ones = text.replace("两", "二").rpartition("十")
    if not ten:
        return str(_DIGITS.index(ones))
    return str((_DIGITS.index(tens) if tens else 1) * 10 + (_DIGITS.index(ones) if ones else 0))
