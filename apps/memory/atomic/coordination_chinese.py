"""Several things of one kind that a Chinese sentence tells of at once, as a sentence for each. Pure.

They are parts of something counted (两只猫，一只叫拿铁，一只叫摩卡; 三张卡：工行、农行、浦发), things with amounts
of their own (两只仓鼠、一条守宫), or names after one verb (徒弟叫刘洋和陈晨). What does not add up is left whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from apps.core.llm.offline.enumerations import CHINESE_JOINED, split_enumeration

LEANS = (
    r"(?:用户|名字|品种|今年|现在|目前|后来|结果|最近|每|一共|总共|大概|已经|[都才就也还但不没很又再挺太超更刚快只]|有点|平时|价|房租|租金|月租"
    r"|押金|工资|月薪|年薪|[离距坐]|走路|体重|身高|面积|年龄|颜色|型号|地址|电话|其中|因为|所以|为了|[这那它他她听说]|感觉|觉得|差不多|非常|特别)"
)
"""How a clause begins that goes on about what the one before it named."""

_COUNTER = "[个只条家台辆套张份项门间处缸件支把本部盆株棵种样位名口头匹块款座栋杯瓶罐碗包袋盒根颗片双场]"
_NO_TIME = r"(?!月|小时|星期|礼拜|钟头|学期|多|半)"
"""What a counter is not followed by where things are counted, and not time."""
_NUMBERS = {"两": 2, "俩": 2, "二": 2, "仨": 3, "三": 3, "四": 4, "五": 5, "六": 6} | {str(n): n for n in range(2, 7)}
_COUNTED = re.compile(
    rf"(?P<before>[^，：、]*?)(?<![第十百千\d一二三四五六七八九])(?:(?P<number>[两二三四五六2-6])(?P<counter>{_COUNTER})|(?P<both>[俩仨]))"
    rf"{_NO_TIME}(?P<noun>[^，：、]*?)(?P<link>，|：|(?:分别)?(?<!不)[叫是])(?P<parts>.+)"
)
_ONE = re.compile(rf"(?<![第十百千\d]|[周都])一(?P<counter>{_COUNTER}){_NO_TIME}")
_BETWEEN = "，、；和跟与 "
_STATES = re.compile(r"[还也就]?(?:[叫是在住姓做卖教养用放给读上跑当]|[^的]{1,2}[了着])")
"""How a part goes on that is no name: 一只叫拿铁, 一家做芯片."""
_OF_ALL = re.compile(r"(?<!首)(?<!全)都(?!市)|(?:这|那)?[两俩三][个只样种](?:都)?")
"""What is said of all of them and cannot be said of one."""
_THING = rf"(?:(?!{CHINESE_JOINED.pattern})[^，：、；]){{1,12}}"
_THINGS = rf"(?P<things>{_THING}(?:(?:{CHINESE_JOINED.pattern}){_THING})+)"
_AMOUNT = rf"(?:[一两三四五六七八九十半]|\d+){_COUNTER}{_NO_TIME}[^，：、；和跟与\d一两三四五六七八九十的了]{{1,6}}"
_COORDINATED = (
    re.compile(rf"(?P<head>[^，：、；]{{2,14}}?)(?P<things>{_AMOUNT}(?:[、和跟与]?{_AMOUNT})+)(?P<end>)"),
    re.compile(r"(?P<head>[^，：、；]{2,14}?)(?P<things>(?:一[猫狗猪羊鸡鸭鹅龟兔鸟]){2,})(?P<end>)"),
    re.compile(rf"(?P<head>[^，：、；]{{0,12}}?[在从到给]){_THINGS}都?各(?P<end>[^，]+)"),
    re.compile(rf"(?P<head>[^，：、；《]{{2,16}}?(?:叫|(?<!不)是|[了着](?!解|急|迷))){_THINGS}(?P<end>)"),
    re.compile(rf"(?P<head>){_THINGS}(?P<end>)(?=，(?:这|那)?[两三][个只样种])"),
)
_BEAST = re.compile(r"一([猫狗猪羊鸡鸭鹅龟兔鸟])")
_LISTED = re.compile(
    r"(?P<head>[^：，]{2,20}(?<![说问讲道写想答]))：(?P<things>[^：，]+、[^：，]+)"
    r"|(?P<plan>[^：，]{0,10}(?:目标|计划|打算|愿望|任务|爱好|兴趣|习惯|毛病|副业|课程|安排))：(?P<steps>[^：]+)"
)
_TOGETHER = re.compile(r"用户|一起|[去来](?!福)|[我你他她它]|见面|聊|的.*的")
"""Words in what stands after 和 where it names company and no second thing."""


def split_things(told: str) -> list[str]:
    """What is told of each of several things, without the full stop; `told` itself where it is of one."""
    return next(filter(None, (cut(told) for cut in _CUTS)), [told])


def _cut_ones(told: str) -> list[str]:
    """一只叫拿铁，一只叫摩卡 behind what they are parts of."""
    found = list(_ONE.finditer(told))
    found = [one for one in found if one["counter"] == found[0]["counter"]]
    if len(found) < 2:
        return []
    head = told[: found[0].start()]
    bounds = [*(one.start() for one in found), len(told)]
    parts = [told[start:end].strip(_BETWEEN) for start, end in pairwise(bounds)]
    if not head.strip(_BETWEEN) or any(len(part) < 3 for part in parts):
        return []
    last, comma, more = parts[-1].partition("，")
    if comma and _OF_ALL.match(more):
        parts[-1] = last
    else:
        comma = more = ""
    rest = comma + _OF_ALL.sub("", more)
    if counted := _COUNTED.fullmatch(head.rstrip(_BETWEEN + "：") + "，."):
        if _count(counted) != len(parts):
            return []
        return [_tell_one(counted, part[2:]) + rest for part in parts]
    if any("，" in part for part in (head.rstrip(_BETWEEN), *parts[:-1])):
        return []
    return [head + part + rest for part in parts]


def _cut_counted(told: str) -> list[str]:
    """三张卡：工行、农行、浦发, or 俩侄子，大的12，小的9: as many parts as are counted."""
    counted = _COUNTED.fullmatch(told)
    if counted is None:
        return []
    number, link = _count(counted), counted["link"]
    listed, comma, more = counted["parts"].partition("，")
    things = CHINESE_JOINED.split(listed)
    if len(things) == number and _are_alike(things):
        rest = comma + _OF_ALL.sub("", more)
        verb = "" if link in "，：" else link[-1]
        return [_tell_one(counted, verb + thing) + rest for thing in things]
    parts = re.split("[，；]", counted["parts"])
    if link not in "，：" or len(parts) != number or any(re.match(LEANS, part) for part in parts):
        return []
    if link == "：":
        return [_tell_one(counted, part) for part in parts]
    lengths = [len(part) for part in parts]
    if max(lengths) - min(lengths) > 3 or max(lengths) > 16 or not set.intersection(*map(set, parts)):
        return []
    head = told[: counted.start("parts")]
    return [head + part for part in parts]


def _count(counted: re.Match[str]) -> int:
    return _NUMBERS[counted["number"] or counted["both"]]


def _tell_one(counted: re.Match[str], part: str) -> str:
    if part.startswith("叫"):
        return f"{counted.string[: counted.end('noun')]}，一{counted['counter'] or '个'}{part}"
    link = "，" if _STATES.match(part) else "："
    if part.startswith("是") and counted["noun"]:
        link = ""
    return f"{counted['before']}一{counted['counter'] or '个'}{counted['noun']}{link}{part}"


def _cut_list(told: str) -> list[str]:
    """今年目标：考下驾照，瘦十斤."""
    found = None if _COUNTED.fullmatch(told) else _LISTED.fullmatch(told)
    things = re.split("[，、；]", found["things"] or found["steps"]) if found else []
    if found is None or len(things) < 2 or any(not thing or re.match(LEANS, thing) for thing in things):
        return []
    return [f"{found['head'] or found['plan']}：{thing}" for thing in things]


def _cut_clause(told: str) -> list[str]:
    """Things coordinated in the first clause; what follows is told of each."""
    clause, comma, more = told.partition("，")
    rest = comma + _OF_ALL.sub("", more)
    for pattern in _COORDINATED:
        found = pattern.match(told)
        if found and found.end() == len(clause) and _are_alike(things := _list_things(found["things"])):
            return [f"{found['head']}{thing}{found['end']}{rest}" for thing in things]
    facts = split_enumeration(f"{clause}。", language="zh")
    return [fact.rstrip("。") + rest for fact in facts] if len(facts) > 1 else []


def _list_things(things: str) -> list[str]:
    if beasts := _BEAST.findall(things):
        return [f"一只{beast}" for beast in beasts] if _BEAST.sub("", things) == "" else []
    if amounts := re.findall(_AMOUNT, things):
        return amounts
    return [thing.strip() for thing in CHINESE_JOINED.split(things)]


def _are_alike(things: Sequence[str]) -> bool:
    """Whether they are as many things, and none of them is company or half of a phrase."""
    return (
        len(things) > 1
        and all(things)
        and not any(map(_TOGETHER.search, things))
        and not all(len(thing) == 1 for thing in things)
        and len({"的" in thing for thing in things}) == 1
    )


_CUTS: tuple[Callable[[str], list[str]], ...] = (_cut_ones, _cut_counted, _cut_list, _cut_clause)
