"""The facts of a Chinese sentence of a memory that can stand alone. Pure.

A sentence is cut where a clause tells something by itself (住在唐山，开一辆五菱), runs parallel to the one before it
(车贷每月2600，房贷每月5400), or names one of several things (两只猫，一只叫拿铁，一只叫摩卡; Java和PHP).
"""

from __future__ import annotations

import re
from itertools import pairwise

from apps.memory.atomic.coordination_chinese import LEANS, split_things
from apps.memory.atomic.frames import USER, read_frame

_MARKS = " \t\n,，;；.。!！?？"
_CUT = re.compile(r"[，；;,]\s*")
_TOLD = re.compile(r"用户提到：")
"""What stands before a sentence that does not name the user."""
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
    r"|兼[职着]|辅修|主修|属[鼠牛虎兔龙蛇马羊猴鸡狗猪]|老家|[尾工学]号|自己[住在开用做养种][\u3400-\u9fff]{2}"
    r"|血[压糖脂]|体重|身高|视力|听力|[腿腰胃牙脚](?:脚|不好|疼)|[做教卖][\u3400-\u9fffA-Za-z]{2,}"
    r"|打呼|失眠|戴(?:眼镜|助听器|假牙|牙套))"
)
"""How a Chinese clause begins that tells something by itself, of the user or of the one who was named."""
_USER = re.compile(r"用户(?!的|家|妈|爸|老|妻|丈|先|爱人|太|儿|女|孩|哥|姐|弟|妹|公司|单位)")

_VERB = r"叫|是|在|住|姓|属|有|去|学|练|读|念|开到|做|卖|教|养|吃|喝|爱|喜欢|用(?!户)|打|玩"
_PREDICATE = re.compile(
    rf"(?P<who>(?!{LEANS})[^\W\d不改把被说得了没租后先]{{1,8}}?)"
    rf"(?P<verb>(?<![不就都倒还也只总真才更又要])(?:{_VERB}))(?P<rest>.+)"
)
_NUMERAL = "一二两三四五六七八九十百千万零半"
_AMOUNT = re.compile(
    rf"(?P<who>(?!{LEANS})[^\W\d{_NUMERAL}不改把被说得了没]{{1,10}}?)(?:一个?[天周月年])?"
    rf"(?:\d[\d.:]*|[{_NUMERAL}]+)(?P<unit>[^\W\d]{{0,5}})"
)
"""How a clause may run parallel to the one before it: another of a kind, and the same said of it."""
_WHOSE = re.compile(r"用户(?:的|家的?)?")
_TIME = (
    r"(?:每?(?:周|礼拜|星期)[一二三四五六日天末]|[一二三四五六七八九十\d]+月"
    r"|早上|晚上|中午|上午|下午|夜里|睡前|白天|[春夏秋冬]天)"
)
_TIMED = re.compile(rf"(?P<head>(?:用户)?[^，]{{0,3}}?)(?P<time>{_TIME})(?P<rest>.+)")
_TOO = re.compile(rf"(?P<what>(?!{LEANS})[^也还]{{1,10}})也(?P<rest>.+)")
_HAS = re.compile(r"(?P<head>用户[^，]{0,6}?)有.+")
_IS = re.compile(r"[就还也]*是")
_OWN = re.compile(r"[^，]{0,3}用户")
"""How what the user does is told behind its topic: 深蹲用户能做80公斤."""
_HAS_TOO = re.compile(r"[还也]有(?!点|时|些|可能|空)")
_IS_WHERE = re.compile(r"[在是住叫]")
_TOPIC = re.compile(r"[^在做是有了着去来叫住为卖教要想]{2,12}")
"""What is no clause but names what the clauses behind it are about: 用户的会员卡."""
_SAME_VERB = re.compile(r"用户[也还都很最]*(?P<verb>[^\W\d在是很不没就了]).+")


def split(sentence: str) -> list[str]:
    """The facts of a sentence, each as a sentence: a clause that tells nothing by itself belongs to the one before."""
    found = _TOLD.match(sentence)
    opening = found.group() if found else ""
    told = sentence[len(opening) :].strip(_MARKS)
    facts = split_things(told)
    if len(facts) > 1 and all("用户" in fact for fact in facts):
        return [f"{opening}{fact}。" for fact in facts]
    if len(facts) == 1:
        facts = [part for fact in _split_clauses(told, opening=opening) for part in split_things(fact)]
    if len(facts) < 2 or not (opening or all(_OWN.match(fact) or names_somebody(fact) for fact in facts)):
        return [sentence]
    return [f"{'' if fact.startswith('用户') else opening}{fact}。" for fact in facts]


def names_somebody(clause: str) -> bool:
    """Whether a clause says whom it is about: the user, or another who begins it."""
    return clause.startswith("用户") or any(one.subject != USER for one in read_frame(clause).clauses[:1])


def _split_clauses(told: str, *, opening: str) -> list[str]:
    """The clauses that tell something by themselves, each with those that go on about it."""
    first, *others = map(_strip_marks, _CUT.split(told))
    if _TOPIC.fullmatch(first) and _are_parallel(others):
        return [f"{first}，{other}" for other in others]
    facts = [_strip_opening(first)]
    subject = "用户" if not opening and _USER.match(facts[0]) else ""
    for joined in filter(None, others):
        clause = _strip_opening(joined)
        if names_somebody(clause):
            facts.append(clause)
        elif alike := _complete_alike(joined, before=facts[-1].partition("，")[0], subject=subject):
            facts.append(alike)
        elif _FACT.match(clause) and not (opening and (_IS.match(clause) or _is_of_another(facts[-1]))):
            facts.append(f"用户{clause}" if opening or subject else clause)
        else:
            facts[-1] += f"，{clause}"
    return facts


def _is_of_another(clause: str) -> bool:
    return not clause.startswith("用户") and names_somebody(clause)


def _complete_alike(clause: str, *, before: str, subject: str) -> str:
    """A clause that says of another what the one before it says of one, as one can say it alone; else nothing."""
    if (has := _HAS.fullmatch(before)) and _HAS_TOO.match(clause):
        return f"{has['head']}{clause}"
    clause = _strip_opening(clause)
    if (one := _TIMED.fullmatch(before)) and (other := re.match(_TIME, clause)):
        return f"{one['head']}{clause}" if set(one["rest"]) & set(clause[other.end() :]) else ""
    if (too := _TOO.fullmatch(clause)) and (too["rest"][0] in "有是行" or too["rest"][0] in before):
        noun = before.rpartition("的")[2] if too["what"].endswith("的") else ""
        return f"{subject}{too['what']}{noun}也{too['rest']}"
    same = _SAME_VERB.fullmatch(before)
    if subject and same and clause.startswith(same["verb"]) and clause[1:2] not in "点时":
        return f"{subject}{clause}"
    whose = _WHOSE.match(before)
    if whose and whose.group() == "用户" and (not subject or _IS_WHERE.search(clause)):
        return ""
    if not _runs_parallel(clause, before=before[whose.end() if whose else 0 :]):
        return ""
    if whose:
        return f"{whose.group()}{clause}"
    return f"用户{clause}" if _OWN.match(before) else clause


def _are_parallel(clauses: list[str]) -> bool:
    return len(clauses) > 1 and all(
        not names_somebody(other) and _runs_parallel(other, before=one) for one, other in pairwise(clauses)
    )


def _runs_parallel(clause: str, *, before: str) -> bool:
    one, other = _PREDICATE.fullmatch(before), _PREDICATE.fullmatch(clause)
    if one and other and one["verb"] == other["verb"] and one["who"] != other["who"]:
        return True
    one, other = _AMOUNT.fullmatch(before), _AMOUNT.fullmatch(clause)
    return bool(
        one
        and other
        and one["who"] != other["who"]
        and (one["unit"][:1] == other["unit"][:1] != "" or set(one["who"]) & set(other["who"]) - {"的"})
    )


def _strip_marks(clause: str) -> str:
    return clause.strip(_MARKS)


def _strip_opening(clause: str) -> str:
    return _OPENING.sub("", clause, count=1) if _OPENING.match(clause) else clause
