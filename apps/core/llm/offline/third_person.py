"""What the user says of themselves, told of "the user": 我住在北京 → 用户住在北京, "I live …" → "The user lives …"."""

from __future__ import annotations

import re

from apps.core.llm.offline.language import Language
from apps.core.llm.offline.third_person_english import USER, tell_english

_ZH_PERSON = re.compile(r"(?:我们|我(?!国|党|军|方)|咱们?|俺们?|本人)(?!行我素)")
_ZH_KEEP = re.compile(r"(?<=[自忘敌唯])我")
_ZH_ADVERBS = r"(?:[还也都又就才刚已]|已经|终于|现在|目前|平时|经常|一般|通常|最近)*"
_ZH_PREDICATE = re.compile(
    r"(?:(?:上|这|本|下|前|去|今|昨|明|[0-9一二两三几半]+)[^,，。]{0,7}?(?:[天晚早年月前日]|周[一二三四五六日末]?|星期[一二三四五六日天]?))?"
    rf"{_ZH_ADVERBS}(?:从.{{0,8}}{_ZH_ADVERBS}){{0,3}}"
    r"(?:是(?!的|不是|啊|吧)|有(?!人|的|点|时)|会|住|对.{1,8}过敏|喜欢|讨厌|爱|不(?:再|吃|喝|喜欢|爱|会|能)"
    r"|当|打算|计划|准备|正在|戒|养|买|卖|搬|学|每|跳槽|辞职|离职|退休|毕业|结婚|离婚|分手|考|加入|入职"
    r"|在(?=.{1,12}(?:工作|上班|住|读|上学|学习|做|当|生活)))"
)
"""How a clause begins that leaves the person out: what comes is said of them. With 从 any number of times, thirty of it
would be tried for minutes."""
_EN_PREDICATE = re.compile(
    r"(?:(?:just|finally|recently|also|now) )*(?:moved|started|quit|bought|sold|lost|adopted|finished|graduated|joined"
    r"|switched|stopped|got (?:married|divorced|engaged|promoted|fired|a|an|my)|broke up|live in|work (?:at|as|for)"
    r"|love|like|hate|prefer|used to|turned \d)\b",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"^(?:嗯+|哦+|啊|对了|其实|那个|哈哈+|唉|告诉你|跟你说(?:个事|一下)?|忘了跟你说|没想到吧|不好意思)[，,、!！:：\s]*"
)
_EN_OPENING = re.compile(
    r"^(?:(?:and|but|so|well|oh|hey|hi|btw|by the way|actually|ok|okay|remember|also)\b[,:!\s]*"
    r"|(?:yes|no|nope|sorry)[,:!]\s*)+",
    re.IGNORECASE,
)
_ZH_NEVER_SAFE = re.compile(r"(?:我们|咱们?|俺们?)(?:俩|仨|两个?|三个?|几个|大家|都|全都|彼此|互相)|我俩|咱俩")
"""What is said of several people at once, and would be wrong of one."""
_ZH_QUOTED = re.compile(r"“[^“”\n]*”|「[^「」\n]*」|『[^『』\n]*』|《[^《》\n]*》")


def tell_in_third_person(text: str, *, language: Language, bare: bool = False) -> str:
    """`text` with the user in place of the first person, and said to be theirs where it names nobody.

    `bare`: without that, for texts whose owner is plain. A sentence that cannot be turned safely is quoted as it is.
    """
    return _tell_chinese(text, bare=bare) if language == "zh" else _tell_english(text, bare=bare)


def _tell_chinese(text: str, *, bare: bool) -> str:
    text = _OPENING.sub("", text.strip()) or text.strip()
    if _ZH_NEVER_SAFE.search(text):
        return _quote(text, language="zh")
    told = _outside_quotations(text)
    mixed = told if "用户" in told or not re.search(r"\bI\b", text) else tell_english(told)
    if mixed is None:
        return _quote(text, language="zh")
    if bare or "用户" in mixed or USER in mixed.lower():
        return mixed
    return f"用户{mixed}" if _ZH_PREDICATE.match(mixed) else f"用户提到：{mixed}"


def _outside_quotations(text: str) -> str:
    """`text` with 用户 for 我, but where somebody is quoted or a work named."""
    told, end = [], 0
    for quotation in _ZH_QUOTED.finditer(text):
        told += [_replace_person(text[end : quotation.start()]), quotation.group()]
        end = quotation.end()
    return "".join([*told, _replace_person(text[end:])])


def _replace_person(text: str) -> str:
    return _ZH_PERSON.sub("用户", _ZH_KEEP.sub("\0", text)).replace("\0", "我")


def _tell_english(text: str, *, bare: bool) -> str:
    text = text.strip().replace("’", "'")
    text = _EN_OPENING.sub("", text) or text
    if not bare and _EN_PREDICATE.match(text):
        text = f"I {text[0].lower()}{text[1:]}"
    told = tell_english(text)
    if told is None:
        return _quote(text, language="en")
    told = _outside_quotations(told)
    if not bare and USER not in told.lower() and "用户" not in told:
        told = f"The user mentioned: {told}"
    return told[:1].upper() + told[1:]


def _quote(text: str, *, language: Language) -> str:
    """`text` in the person's own words, where the third person would break it."""
    if language == "zh":
        return f"用户说：“{text.replace('“', '‘').replace('”', '’')}”"
    own = text.replace('"', "'")
    return f'The user said: "{own[:1].upper()}{own[1:]}"'
