"""The facts of a memory that can stand alone, and which of them are left once something has ended one. Pure.

"The user plays the cello and lives in Leeds" holds two; that the cello was sold ends one of them. A piece that only
goes on with the one before it (离公司近, "she is three") is no fact of its own, and ends with it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from apps.core.llm.offline.language import detect_language
from apps.core.llm.offline.third_person_english import is_third_person
from apps.core.text.places import find_places
from apps.core.text.sentences import split_sentences
from apps.memory.atomic.compare import Relation, compare
from apps.memory.atomic.endings import MIN_END, MIN_STATE, load_models, read_olds
from apps.memory.atomic.frames import USER, read_frame
from apps.memory.atomic.vectors import Statement, make_statement

MOST_LEFT = 0.01
"""Probability of having ended up to which a fact beside one that has stays."""

MOST_FACTS = 20
"""A text that holds more is a document, which ends as a whole."""

_MARKS = " \t\n,，;；.。!！?？"
_ZH_CUT = re.compile(r"[，；;,]\s*")
_ZH_HABIT = r"(?:周末|每[天晚周月年]|晚上|早上|晚饭后|饭后|下班后?|放学后?|平时|平常|闲时|有空|夏天|冬天)"
_ZH_FACT = re.compile(
    rf"(?:用户(?:的|家)?)?(?:{_ZH_HABIT}|现在|目前|最|很|特别|从小|[也还就]|家里)*(?:"
    r"喜欢|讨厌|爱[\u3400-\u9fff]|不?怕|烦[\u3400-\u9fff]|不吃|吃素|对.{1,8}过敏|会[\u3400-\u9fff]"
    r"|养[了着]?(?:[一两二三四五六七八九十\d几]|[猫狗鱼鸟兔龟])|[是当](?!的)[\u3400-\u9fff]"
    r"|开(?:着|一?[辆家台]|货车|网约车|滴滴|出租)|用[\u3400-\u9fffA-Za-z]{1,8}(?:手机|电脑|相机|平板)"
    r"|在.{1,10}?(?:做|上班|工作|教|读|念|上学|当|学)|[读念上](?:初|高|大|研|小学|中学|幼儿园|[一二三四五六]年级)"
    r"|兼[职着]|辅修|主修|属[鼠牛虎兔龙蛇马羊猴鸡狗猪]|老家|[尾工学]号"
    r"|血[压糖脂]|体重|身高|视力|听力|[腿腰胃牙脚](?:脚|不好|疼)|[做教卖][\u3400-\u9fffA-Za-z]{2,}"
    r"|打呼|失眠|戴(?:眼镜|助听器|假牙|牙套))"
)
"""How a Chinese clause begins that tells something by itself, of the user or of the one who was named."""
_ZH_USER = re.compile(r"用户(?!的|家|妈|爸|老|妻|丈|先|爱人|太|儿|女|孩|哥|姐|弟|妹|公司|单位)")
_EN_CUT = re.compile(r"(?:,| -+|;)? (?:and|but) (?=the user\b)|[,;] (?=the user\b)|,? and (?=(?P<verb>[a-z]+s)\b)")
_EN_SUBJECT = re.compile(r"The user(?:'s)?\b")
_EN_BACK = re.compile(
    r"\b(?:it|its|they|them|their|there|he|him|his|she|her|this|that|these|those|one|ones|too|also|even)\b"
)
"""Words by which a clause leans on another."""
_WHERE = re.compile(r"[住在租]|楼[上下]|[对隔]门|隔壁|附近|旁边|门口|房东|室友|\b(?:in|at|near) (?:the )?[A-Z]")
"""Words that say where: once somebody is elsewhere, what was told with one most likely is over, too."""
_TO_WORK = re.compile(r"上下?班|同事|单位|\b(?:to|at|from) work\b|\bcommut|\bcolleague")
"""Words of what goes with a job."""
_SHORTEST = 4
"""Words of an English fact: "The user means" is none."""


def list_facts(content: str) -> list[str]:
    """Return the facts of a memory's content, each as a sentence of its own; the content itself where it holds one."""
    facts: list[str] = []
    for sentence in split_sentences(content):
        first, *others = _split(sentence.strip())
        if facts and _leans(first):
            facts[-1] = join_facts([facts[-1], first], like=first)
        else:
            facts.append(first)
        facts += others
    return facts if len(facts) > 1 else [content]


def join_facts(facts: Sequence[str], *, like: str) -> str:
    """Return facts as one text, with blanks between them where the language of `like` has any."""
    return ("" if detect_language(like) == "zh" else " ").join(facts)


def find_left(content: str, said: Statement, *, taken: Sequence[str]) -> list[str]:
    """Return the facts of a memory that still hold after `said` has ended one of them; none where all of it is over.

    ``taken``: the contents of the memories that come from `said`.
    """
    facts = list_facts(content)
    if not 1 < len(facts) <= MOST_FACTS:
        return []
    models = load_models()
    statements = [make_statement(fact) for fact in facts]
    ends = models.score_ends(statements, said).tolist()
    over = [
        end >= MIN_END or any(compare(fact, new) is Relation.CONTRADICTS for new in taken)
        for fact, end in zip(facts, ends, strict=True)
    ]
    if not any(over):
        return []
    unemployed = any(_is_of(fact, "job") for fact, is_over in zip(facts, over, strict=True) if is_over)
    elsewhere = any(_is_of_place(fact) for fact, is_over in zip(facts, over, strict=True) if is_over)
    return [
        statement.text
        for statement, is_over, end in zip(statements, over, ends, strict=True)
        if not is_over
        and end <= MOST_LEFT
        and not (unemployed and _TO_WORK.search(statement.text))
        and not (elsewhere and (_WHERE.search(statement.text) or _is_of_place(statement.text)))
        and models.state.score(read_olds([statement]))[0] >= MIN_STATE
    ]


def _is_of_place(fact: str) -> bool:
    """Whether it tells where somebody lives, or names a place."""
    return bool(find_places(fact)) or _is_of(fact, "home")


def _is_of(fact: str, attribute: str) -> bool:
    return any(name == attribute for clause in read_frame(fact).clauses for _whose, name in clause.attributes)


def _split(sentence: str) -> list[str]:
    return _split_chinese(sentence) if detect_language(sentence) == "zh" else _split_english(sentence)


def _leans(sentence: str) -> bool:
    """Whether a sentence goes on about what the one before it named."""
    if detect_language(sentence) == "zh":
        return not _names_somebody(sentence)
    return "the user" not in sentence.lower() or bool(_EN_BACK.search(sentence.lower()))


def _split_chinese(sentence: str) -> list[str]:
    """The facts of a sentence: a clause that tells nothing by itself belongs to the one before."""
    facts: list[str] = []
    for clause in filter(None, (part.strip(_MARKS) for part in _ZH_CUT.split(sentence))):
        if facts and not _is_chinese_fact(clause):
            facts[-1] += f"，{clause}"
        else:
            facts.append(clause)
    if len(facts) < 2:
        return [sentence]
    subject = "用户" if _ZH_USER.match(facts[0]) else ""
    told = [fact if index == 0 or _names_somebody(fact) else f"{subject}{fact}" for index, fact in enumerate(facts)]
    if not all(map(_names_somebody, told)):
        return [sentence]
    return [f"{fact}。" for fact in told]


def _is_chinese_fact(clause: str) -> bool:
    return bool(_ZH_FACT.match(clause)) or _names_somebody(clause)


def _names_somebody(clause: str) -> bool:
    """Whether a clause says whom it is about: the user, or another who begins it."""
    return clause.startswith("用户") or any(one.subject != USER for one in read_frame(clause).clauses[:1])


def _split_english(sentence: str) -> list[str]:
    if not _EN_SUBJECT.match(sentence) or '"' in sentence:
        return [sentence]
    facts: list[str] = []
    begin = 0
    for found in _EN_CUT.finditer(sentence):
        if found["verb"] is None or is_third_person(found["verb"]):
            facts.append(sentence[begin : found.start()])
            begin = found.end()
    facts = [fact.strip(_MARKS) for fact in (*facts, sentence[begin:])]
    told = [fact if fact.lower().startswith("the user") else f"The user {fact}" for fact in facts]
    if any(len(fact.split()) < _SHORTEST for fact in told) or any(map(_EN_BACK.search, told[1:])):
        return [sentence]
    return [f"{fact[0].upper()}{fact[1:]}." for fact in told]
