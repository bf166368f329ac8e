"""What the user says of themselves, told of "the user": 我住在北京 → 用户住在北京, "I live …" → "The user lives …"."""

from __future__ import annotations

import re

from apps.core.llm.offline.language import Language

_ZH_PERSON = re.compile(r"(?:我们|我(?!国|党|军|方)|咱们?|俺们?|本人)(?!行我素)")
_ZH_KEEP = re.compile(r"(?<=[自忘敌唯])我")
_ZH_PREDICATE = re.compile(
    r"(?:(?:上|这|本|下|前|去|今|昨|明|[0-9一二两三几半]+)[^,，。]{0,7}?(?:[天晚早年月前日]|周[一二三四五六日末]?|星期[一二三四五六日天]?))?"
    r"(?:[还也都又就才刚已从]|从.{1,8}|已经|终于|现在|目前|平时|经常|一般|通常|最近|从小)*"
    r"(?:是(?!的|不是|啊|吧)|有(?!人|的|点|时)|会|住|对.{1,8}过敏|喜欢|讨厌|爱|不(?:再|吃|喝|喜欢|爱|会|能)"
    r"|当|打算|计划|准备|正在|戒|养|买|卖|搬|学|每|跳槽|辞职|离职|退休|毕业|结婚|离婚|分手|考|加入|入职"
    r"|在(?=.{1,12}(?:工作|上班|住|读|上学|学习|做|当|生活)))"
)
"""How a clause begins that leaves the person out: what comes is said of them."""
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
    r"^(?:(?:and|but|so|well|oh|hey|hi|btw|by the way|actually|ok|okay|remember|also|yes|no|sorry)\b[,:!\s]*)+",
    re.IGNORECASE,
)
_CONTRACTED = {
    "i'm": "the user is",
    "im": "the user is",
    "i've": "the user has",
    "i'll": "the user will",
    "i'd": "the user would",
    "we're": "the user is",
    "we've": "the user has",
    "we'll": "the user will",
    "we'd": "the user would",
}
_WORDS = {
    "me": "the user",
    "us": "the user",
    "my": "the user's",
    "our": "the user's",
    "mine": "the user's",
    "ours": "the user's",
    "myself": "themself",
    "ourselves": "themself",
}
_IRREGULAR = {"am": "is", "are": "is", "was": "was", "were": "was", "have": "has", "do": "does", "go": "goes"}
_IRREGULAR |= {"don't": "doesn't", "haven't": "hasn't", "aren't": "isn't", "weren't": "wasn't", "dont": "doesn't"}
_NO_INFLECTION = frozenset(
    """can can't cannot could couldn't will won't would wouldn't should shouldn't must may might had hadn't did didn't
    wasn't isn't hasn't doesn't is has does be been got went saw took made left bought sold quit lost found gave began
    became came felt met told said thought knew ate drank drove wrote read ran swam won broke cut hit put let spent sent
    built slept kept held heard caught taught brought fell flew grew rode spoke stood understood woke wore chose forgot
    paid taken used to not never""".split()  # noqa: SIM905
)
"""Forms that the third person shares, the most usual irregular pasts among them."""
_ADVERB = (
    r"(?:really|also|just|now|still|always|mostly|usually|often|never|only|currently|recently|finally|already|mainly|"
    r"actually|absolutely|totally|sometimes|rarely|both|all|almost|once|no longer|generally|typically|normally)"
)
_SUBJECT = re.compile(rf"\b(?:I|we|We)\s+((?:{_ADVERB}\s+)*)([A-Za-z']+)")
_TOKEN = re.compile(r"[A-Za-z]+(?:['’][A-Za-z]+)?")


def tell_in_third_person(text: str, *, language: Language, bare: bool = False) -> str:
    """`text` with the user in place of the first person, and said to be theirs where it names nobody.

    `bare`: without that, for texts whose owner is plain.
    """
    return _tell_chinese(text, bare=bare) if language == "zh" else _tell_english(text, bare=bare)


def _tell_chinese(text: str, *, bare: bool) -> str:
    text = _OPENING.sub("", text.strip()) or text.strip()
    kept = _ZH_KEEP.sub("\0", text)
    told = _ZH_PERSON.sub("用户", kept).replace("\0", "我")
    told = _tell_words(told)
    if bare or "用户" in told:
        return told
    return f"用户{told}" if _ZH_PREDICATE.match(told) else f"用户提到：{told}"


def _tell_english(text: str, *, bare: bool) -> str:
    text = text.strip().replace("’", "'")
    text = _EN_OPENING.sub("", text) or text
    if not bare and _EN_PREDICATE.match(text):
        text = f"I {text[0].lower()}{text[1:]}"
    told = _tell_words(_SUBJECT.sub(_tell_subject, re.sub(r"\bi\b", "I", text)))
    told = _ZH_PERSON.sub("用户", told)
    if not bare and "the user" not in told and "用户" not in told:
        told = f"The user mentioned: {told}"
    return told[:1].upper() + told[1:]


def _tell_subject(found: re.Match[str]) -> str:
    return f"the user {found[1]}{_inflect(found[2])}"


def _tell_words(text: str) -> str:
    return re.sub(r"\bI\b", "the user", _TOKEN.sub(_tell_word, text))


def _tell_word(found: re.Match[str]) -> str:
    word = found.group().lower().replace("’", "'")
    return _CONTRACTED.get(word) or _WORDS.get(word) or found.group()


def _inflect(verb: str) -> str:
    """The third person of `verb` where it is in the present: live → lives, study → studies, moved → moved."""
    low = verb.lower()
    if low in _IRREGULAR:
        return _IRREGULAR[low]
    if low in _NO_INFLECTION or (low.endswith("ed") and len(low) > 4) or low.endswith(("ing", "ly")):
        return verb
    if low.endswith(("s", "x", "z", "ch", "sh")):
        return f"{verb}es" if not low.endswith("s") or low.endswith("ss") else verb
    return f"{verb[:-1]}ies" if re.search(r"[^aeiou]y$", low) else f"{verb}s"
