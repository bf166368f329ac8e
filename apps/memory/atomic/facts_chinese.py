"""The facts of a Chinese sentence of a memory that can stand alone. Pure."""

from __future__ import annotations

import re

from apps.memory.atomic.frames import USER, read_frame

_MARKS = " \t\n,，;；.。!！?？"
_CUT = re.compile(r"[，；;,]\s*")
_OPENING = re.compile(
    r"(?:(?:另外|此外|还有|对了|而且|并且|同时|不过|其实|顺便(?:(?:说|提)一?下|一提|说一?句)?)[，,]?\s*)+(?=用户|家里|[^\s，,]{2})"
)
"""Words by which a clause joins the one before it."""
_HABIT = r"(?:周末|每[天晚周月年]|晚上|早上|晚饭后|饭后|下班后?|放学后?|平时|平常|闲时|有空|夏天|冬天)"
_FACT = re.compile(
    rf"(?:用户(?:的|家)?)?(?:{_HABIT}|现在|目前|最|很|特别|从小|[也还就]|家里)*(?:"
    r"喜欢|讨厌|爱[\u3400-\u9fff]|不?怕|烦[\u3400-\u9fff]|不吃|吃素|对.{1,8}过敏|会[\u3400-\u9fff]"
    r"|有一?[只条辆台架][\u3400-\u9fff]|[\u3400-\u9fff]{2}座(?:的|$)|养[了着]?(?:[一两二三四五六七八九十\d几]|[猫狗鱼鸟兔龟])|[是当](?!的)[\u3400-\u9fff]"
    r"|开(?:着|一?[辆家台]|货车|网约车|滴滴|出租)|用[\u3400-\u9fffA-Za-z]{1,8}(?:手机|电脑|相机|平板)"
    r"|在.{1,10}?(?:做|上班|工作|教|读|念|上学|当|学)|[读念上](?:初|高|大|研|小学|中学|幼儿园|[一二三四五六]年级)"
    r"|兼[职着]|辅修|主修|属[鼠牛虎兔龙蛇马羊猴鸡狗猪]|老家|[尾工学]号"
    r"|血[压糖脂]|体重|身高|视力|听力|[腿腰胃牙脚](?:脚|不好|疼)|[做教卖][\u3400-\u9fffA-Za-z]{2,}"
    r"|打呼|失眠|戴(?:眼镜|助听器|假牙|牙套))"
)
"""How a Chinese clause begins that tells something by itself, of the user or of the one who was named."""
_USER = re.compile(r"用户(?!的|家|妈|爸|老|妻|丈|先|爱人|太|儿|女|孩|哥|姐|弟|妹|公司|单位)")


def split(sentence: str) -> list[str]:
    """The facts of a sentence, each as a sentence: a clause that tells nothing by itself belongs to the one before."""
    facts: list[str] = []
    for clause in filter(None, map(_strip_opening, _CUT.split(sentence))):
        if facts and not _is_fact(clause):
            facts[-1] += f"，{clause}"
        else:
            facts.append(clause)
    if len(facts) < 2:
        return [sentence]
    subject = "用户" if _USER.match(facts[0]) else ""
    told = [fact if index == 0 or names_somebody(fact) else f"{subject}{fact}" for index, fact in enumerate(facts)]
    if not all(map(names_somebody, told)):
        return [sentence]
    return [f"{fact}。" for fact in told]


def _strip_opening(clause: str) -> str:
    return _OPENING.sub("", clause.strip(_MARKS), count=1) if _OPENING.match(clause) else clause.strip(_MARKS)


def _is_fact(clause: str) -> bool:
    return bool(_FACT.match(clause)) or names_somebody(clause)


def names_somebody(clause: str) -> bool:
    """Whether a clause says whom it is about: the user, or another who begins it."""
    return clause.startswith("用户") or any(one.subject != USER for one in read_frame(clause).clauses[:1])
