"""When something happened, from the words that say so: 上周六, 三天前, last Saturday, on May 5th (A1, C8). Pure.

Only expressions that name one stretch of time are read. What recurs (每周六, every Saturday), a bare weekday and "a few
days ago" could be many stretches, and name none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from apps.core.text.festivals import festival_rules, past_festival_rules
from apps.core.text.fold import fold


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A stretch of time, half open: `start` is in it, `end` is not. `text`: the words, from `position` in the text."""

    start: datetime
    end: datetime
    text: str
    position: int


# The first day, and the day after the last.
_Days = tuple[date, date]

_Reader = Callable[[re.Match[str], date], _Days]


class _Span(NamedTuple):
    start: datetime
    end: datetime


# The longest time from a beginning to an end that together name one stretch.
_MOST_OF_A_RANGE = timedelta(days=360)

_CONNECTION = re.compile(r"\s*(?:到|至|-|~|–|—|to|through|until|till)\s*")

_PARTS = {
    "凌晨": (0, 6),
    "清晨|早上|早晨|一早|大早|早|上午|morning": (6, 12),
    "中午": (11, 14),
    "下午|傍晚|afternoon": (12, 18),
    "晚上|夜里|半夜|晚|evening|night": (18, 24),
}
_ZH_PART = "(?:的?(?P<part>凌晨|清晨|早上|早晨|一早|大早|上午|中午|下午|傍晚|晚上|夜里|半夜|早|晚))?"
_EN_PART = r"(?:\s+(?P<part>morning|afternoon|evening|night))?"
_ZH_NUMBER = "[0-9]{1,4}|[一二两三四五六七八九十]{1,3}|半"
_ZH_MONTH = "[0-9]{1,2}|十?[一二三四五六七八九十]"
_ZH_DAY = "[0-9]{1,2}|[一二三四五六七八九十]{1,3}"
_TO = r"\s*(?:到|至|-|~|–|—|to|through|until|till)\s*"
_ZH_DAYS = f"(?P<day>{_ZH_DAY})(?:[日号]?{_TO}(?P<until>{_ZH_DAY}))?[日号]"
_EN_DAYS = rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:{_TO}(?:the\s+)?(?P<until>\d{{1,2}})(?:st|nd|rd|th)?)?"
_EN_WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_EN_NUMBER = rf"\d{{1,4}}|half\s+an?|an?|{'|'.join(_EN_WORDS)}"
_EN_COUNT = rf"(?P<count>{_EN_NUMBER})(?P<half>\s+and\s+a\s+half)?\s+(?P<unit>day|week|month|year)s?"
_MONTHS = [
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
]
_EN_MONTH = "|".join(rf"{name}|{name[:3]}\.?" if name != "may" else name for name in _MONTHS)
_WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_EN_WEEKDAY = "|".join(_WEEKDAYS)
_SEASONS = {"春": 3, "夏": 6, "秋": 9, "冬": 12, "spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_EN_SEASON = "spring|summer|autumn|fall|winter"
_SHIFTS = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2, "last": -1, "this": 0, "next": 1}
_RELATIVE_DAYS = {"大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后": 2, "大后": 3}
_RELATIVE_YEARS = {"前": -2, "去": -1, "今": 0, "明": 1, "后": 2}


def find_time(text: str, *, said_at: datetime, zone: ZoneInfo) -> TimeSpan | None:
    """Return the first stretch of time that `text` names, seen from `said_at` (aware) in the person's `zone`."""
    return next(find_times(text, said_at=said_at, zone=zone), None)


def find_until(text: str, *, said_at: datetime, zone: ZoneInfo) -> datetime | None:
    """Return the end of the last stretch of time that `text` names, as "until Friday" does: what is ahead is meant."""
    *_, last = None, *find_times(text, said_at=said_at, zone=zone, of_future=True)
    return last.end if last else None


def find_times(
    text: str, *, said_at: datetime, zone: ZoneInfo, of_past: bool = False, of_future: bool = False
) -> Iterator[TimeSpan]:
    """Yield the stretches of time that `text` names, in order; of expressions inside each other the longest.

    `of_past`: who asks what happened means the latest month and day of a name ("in May", 五月份, "on May 3rd");
    `of_future`: who says until when means the next ("until Friday", 到五号). Who tells something may mean either, and
    of a month all of them ("her birthday is in May").
    """
    folded = "".join(one if len(one := fold(character)) == 1 else character for character in text)
    today = said_at.astimezone(zone).date()
    reached = 0
    rules = [*_rules(), *festival_rules()]
    if of_past:
        rules = [*_past_rules(), *past_festival_rules(), *rules]
    if of_future:
        rules = [*_future_rules(), *rules]
    matches = [(found, read) for pattern, read in rules for found in pattern.finditer(folded)]
    last: TimeSpan | None = None
    for found, read in sorted(matches, key=lambda match: (match[0].start(), -match[0].end())):
        if found.start() < reached:
            continue
        is_end = last is not None and _CONNECTION.fullmatch(folded, reached, found.start()) is not None
        try:
            span = _read_span(found, read, today, zone)
            if last is not None and is_end and not last.start < span.end <= last.start + _MOST_OF_A_RANGE:
                # 去年3月到5月: the end is the one after the beginning.
                span = _read_span(found, read, last.start.date() + _MOST_OF_A_RANGE, zone)
                is_end = last.start < span.end <= last.start + _MOST_OF_A_RANGE
        except (ValueError, OverflowError):  # 2023年13月, February 30th, 9999 years ago
            continue
        reached = found.end()
        if last is not None and is_end:
            position = last.position
            last = TimeSpan(start=last.start, end=span.end, text=text[position:reached], position=position)
            continue
        if last is not None:
            yield last
        last = TimeSpan(start=span.start, end=span.end, text=text[found.start() : reached], position=found.start())
    if last is not None:
        yield last


def _read_span(found: re.Match[str], read: _Reader, today: date, zone: ZoneInfo) -> _Span:
    first, after = read(found, today)
    return _Span(*_place(first, after, part=found.groupdict().get("part"), zone=zone))


def _place(first: date, after: date, *, part: str | None, zone: ZoneInfo) -> tuple[datetime, datetime]:
    midnight = datetime.combine(first, time(), zone)
    if part is None:
        return midnight, datetime.combine(after, time(), zone)
    hours = next(span for names, span in _PARTS.items() if part in names.split("|"))
    end = datetime.combine(after, time(), zone) if hours[1] == 24 else midnight.replace(hour=hours[1])
    return midnight.replace(hour=hours[0]), end


def _day(day: date) -> _Days:
    return day, day + timedelta(days=1)


def _week(day: date) -> _Days:
    monday = day - timedelta(days=day.weekday())
    return monday, monday + timedelta(days=7)


def _month(year: int, month: int) -> _Days:
    """The month; months past 12 or before 1 are those of other years."""
    index = year * 12 + month - 1
    return date(index // 12, index % 12 + 1, 1), date((index + 1) // 12, (index + 1) % 12 + 1, 1)


def _year(year: int) -> _Days:
    return date(year, 1, 1), date(year + 1, 1, 1)


def _season(year: int, name: str) -> _Days:
    first = _SEASONS[name]
    return _month(year, first)[0], _month(year, first + 2)[1]


def _nearest(month: int, day: int, today: date) -> _Days:
    """The day of that name that is nearest to `today`: in November, September 5th is past and May 5th to come."""
    days = [
        date(year, month, day) for year in (today.year - 1, today.year, today.year + 1) if _exists(year, month, day)
    ]
    return _day(min(days, key=lambda candidate: abs(candidate - today)))


def _exists(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def _number(text: str) -> float:
    if text.isdecimal():
        return int(text)
    if text.startswith("half"):
        return 0.5
    if text in ("a", "an"):
        return 1
    if text in _EN_WORDS:
        return _EN_WORDS.index(text) + 1
    if text == "半":
        return 0.5
    tens, ten, ones = text.rpartition("十")
    digits = "零一二三四五六七八九"
    value = {**{digit: value for value, digit in enumerate(digits)}, "两": 2, "": 0}
    return (value[tens] or 1) * 10 + value[ones] if ten else value[ones]


def _count(found: re.Match[str], *halves: str) -> float:
    return _number(found["count"]) + 0.5 * any(found.groupdict().get(name) for name in halves)


def _shift(today: date, count: float, unit: str) -> _Days:
    """The stretch of the unit's own length `count` units away: three days ago is a day, two months ago a month."""
    match unit:
        case "天" | "日" | "day":
            return _day(today + timedelta(days=round(count)))
        case "周" | "星期" | "礼拜" | "week":
            return _week(today + timedelta(weeks=round(count))) if count % 1 == 0 else _week(today)
        case "月" | "month":
            if count % 1:  # 半个月前, 两个半月前: half a month, around that day
                day = today + timedelta(days=round(count * 30.4))
                return day - timedelta(days=7), day + timedelta(days=8)
            return _month(today.year, today.month + int(count))
        case _:
            return _month(today.year, today.month + int(count * 12)) if count % 1 else _year(today.year + int(count))


def _in_month(days: _Days, found: re.Match[str]) -> _Days:
    groups = found.groupdict()
    if groups.get("day"):
        return _until(_day(days[0].replace(day=int(_number(groups["day"])))), found)
    match groups.get("third"):
        case "初" | "上旬":
            return days[0], days[0] + timedelta(days=10)
        case "中" | "中旬":
            return days[0] + timedelta(days=10), days[0] + timedelta(days=20)
        case "底" | "下旬" | "末":
            return days[0] + timedelta(days=20), days[1]
    return days


def _until(first: _Days, found: re.Match[str]) -> _Days:
    """The days from the first to the one that follows "to", in this month or the next."""
    until = found.groupdict().get("until")
    if not until:
        return first
    day = int(_number(until))
    last = first[0].replace(day=day)
    if last < first[0]:
        last = _month(last.year, last.month + 1)[0].replace(day=day)
    return first[0], last + timedelta(days=1)


def _in_year(year: int, found: re.Match[str]) -> _Days:
    groups = found.groupdict()
    if groups.get("month"):
        days = _in_month(_month(year, _read_month(groups["month"])), found)
        if groups.get("last_month"):
            return days[0], _month(year, _read_month(groups["last_month"]))[1]
        return days
    if groups.get("season"):
        return _season(year, groups["season"])
    match groups.get("edge"):
        case "初":
            return date(year, 1, 1), date(year, 4, 1)
        case "底" | "末":
            return date(year, 10, 1), date(year + 1, 1, 1)
    return _year(year)


def _read_month(text: str) -> int:
    english = next((number for number, name in enumerate(_MONTHS, start=1) if name.startswith(text[:3])), None)
    month = english if text[:1].isascii() and text[:1].isalpha() and english else int(_number(text))
    if not 1 <= month <= 12:
        raise ValueError("There is no such month.")
    return month


@cache
def _rules() -> list[tuple[re.Pattern[str], Callable[[re.Match[str], date], _Days]]]:
    zh_month_day = (
        f"(?P<month>{_ZH_MONTH})月份?(?:{_ZH_DAYS}|(?P<third>上旬|中旬|下旬|初|底|末)"
        f"|{_TO}(?P<last_month>{_ZH_MONTH})月份?(?![0-9一二三四五六七八九十]))?"
    )
    return [
        # 昨天下午, 前天晚上, 今早, 昨晚
        (
            re.compile(f"(?P<which>大前|大后|前|昨|今|明|后)(?:天|日(?!本)|(?=[早晚])){_ZH_PART}"),
            lambda found, today: _day(today + timedelta(days=_RELATIVE_DAYS[found["which"]])),
        ),
        # 三天前, 两个月后, 半年前
        (
            re.compile(
                f"(?<![0-9一二三四五六七八九十第几])(?P<count>{_ZH_NUMBER})个?(?:多)?(?P<half>半)?(?P<unit>天|周|星期|礼拜|月|年)"
                "(?P<and_half>半)?(?:之|以)?(?P<side>前|后)"
            ),
            lambda found, today: _shift(
                today, _count(found, "half", "and_half") * (-1 if found["side"] == "前" else 1), found["unit"]
            ),
        ),
        # 上周六晚上, 下下周一, 这个星期天
        (
            re.compile(
                "(?P<which>上上|上|这|本|下下|下)个?(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])"
                f"(?:{_TO}(?:周|星期|礼拜)?(?P<last>[一二三四五六日天])(?!月|[日号]))?{_ZH_PART}"
            ),
            lambda found, today: _weekdays(_week(today + timedelta(weeks=_SHIFTS[found["which"]]))[0], found),
        ),
        # 上周末, 上个星期
        (
            re.compile("(?P<which>上上|上|这|本|下下|下)个?(?P<unit>周末|周|星期|礼拜)(?![一二三四五六日天0-9])"),
            lambda found, today: _weekend_or_week(today, weeks=_SHIFTS[found["which"]], unit=found["unit"]),
        ),
        # 下个月5号, 上月底
        (
            re.compile(f"(?P<which>上上|上|这|本|下下|下)个?月(?:{_ZH_DAYS}|(?P<third>上旬|中旬|下旬|初|中|底|末))?"),
            lambda found, today: _in_month(_month(today.year, today.month + _SHIFTS[found["which"]]), found),
        ),
        # 去年夏天, 前年三月, 今年年底, 明年
        (
            re.compile(
                f"(?P<which>大?前|去|今|明|后)年(?:年?(?P<edge>初|底|末)|(?P<season>[春夏秋冬])(?![至分])[天季]?|{zh_month_day})?"
            ),
            lambda found, today: _in_year(today.year + _RELATIVE_YEARS.get(found["which"], -3), found),
        ),
        # 2023年5月3日, 2019年
        (
            re.compile(
                f"(?<![0-9])(?P<year>(?:19|20)[0-9]{{2}})年(?:年?(?P<edge>初|底|末)|(?P<season>[春夏秋冬])(?![至分])[天季]?|{zh_month_day})?"
            ),
            lambda found, _today: _in_year(int(found["year"]), found),
        ),
        # 5月3号
        (
            re.compile(f"(?<![0-9年一二三四五六七八九十])(?P<month>{_ZH_MONTH})月{_ZH_DAYS}"),
            lambda found, today: _until(
                _nearest(_read_month(found["month"]), int(_number(found["day"])), today), found
            ),
        ),
        # 2024-05-03, 2024/5/3
        (
            re.compile(r"(?<![\d-])(?P<year>(?:19|20)\d\d)[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})(?!\d)"),
            lambda found, _today: _day(date(int(found["year"]), int(found["month"]), int(found["day"]))),
        ),
        # yesterday evening, tomorrow
        (
            re.compile(
                rf"\b(?P<which>the day before yesterday|yesterday|today|tomorrow|the day after tomorrow)\b{_EN_PART}"
            ),
            lambda found, today: _day(today + timedelta(days=_ENGLISH_DAYS[found["which"]])),
        ),
        # this morning, last night, tonight
        (
            re.compile(r"\b(?:this\s+(?P<part>morning|afternoon|evening)|tonight)\b"),
            lambda _found, today: _day(today),
        ),
        (re.compile(r"\blast\s+(?P<part>night)\b"), lambda _found, today: _day(today - timedelta(days=1))),
        # two weeks ago, in three days
        (
            re.compile(rf"\b{_EN_COUNT}(?P<and_half>\s+and\s+a\s+half)?\s+(?:ago|earlier)\b"),
            lambda found, today: _shift(today, -_count(found, "half", "and_half"), found["unit"]),
        ),
        (
            re.compile(rf"\bin\s+{_EN_COUNT}\b(?!\s+of)"),
            lambda found, today: _shift(today, _count(found, "half"), found["unit"]),
        ),
        # last Saturday night, next Monday: the Saturday before today, the Monday after it
        (
            re.compile(rf"\b(?P<which>last|this|next)\s+(?P<weekday>{_EN_WEEKDAY})\b{_EN_PART}"),
            lambda found, today: _day(_find_weekday(today, found["which"], _WEEKDAYS.index(found["weekday"]))),
        ),
        # last week, next month, this summer
        (
            re.compile(r"\b(?P<which>last|this|next)\s+(?P<unit>weekend|week|month|year)\b"),
            lambda found, today: (
                _weekend_or_week(today, weeks=_SHIFTS[found["which"]], unit=found["unit"])
                if found["unit"].startswith("week")
                else _shift(today, _SHIFTS[found["which"]], found["unit"])
            ),
        ),
        (
            re.compile(rf"\b(?P<which>last|this|next)\s+(?P<season>{_EN_SEASON})\b"),
            lambda found, today: _find_season(today, _SHIFTS[found["which"]], found["season"]),
        ),
        # last May, next January
        (
            re.compile(rf"\b(?P<which>last|this|next)\s+(?P<month>{_EN_MONTH})(?!\w)(?!\s*\d)"),
            lambda found, today: _find_month(today, _SHIFTS[found["which"]], _read_month(found["month"])),
        ),
        # on May 5th, May 5, 2023, May 2023, 5 May 2023, in May 2023
        (
            re.compile(rf"\b(?P<month>{_EN_MONTH})\s+(?:the\s+)?{_EN_DAYS}\b(?:,?\s+(?P<year>(?:19|20)\d\d)\b)?"),
            lambda found, today: _read_date(found, today),
        ),
        (
            re.compile(rf"\b{_EN_DAYS}\s+(?:of\s+)?(?P<month>{_EN_MONTH})\b(?:,?\s+(?P<year>(?:19|20)\d\d)\b)?"),
            lambda found, today: _read_date(found, today),
        ),
        (
            re.compile(rf"\b(?P<month>{_EN_MONTH})\s+(?:of\s+)?(?P<year>(?:19|20)\d\d)\b"),
            lambda found, _today: _month(int(found["year"]), _read_month(found["month"])),
        ),
        (
            re.compile(
                rf"\bin\s+(?:the\s+)?(?:(?P<season>{_EN_SEASON})\s+(?:of\s+)?)?(?P<year>(?:19|20)\d\d)\b(?!\s*(?:words|people|dollars))"
            ),
            lambda found, _today: _in_year(int(found["year"]), found),
        ),
    ]


_ENGLISH_DAYS = {
    "the day before yesterday": -2,
    "yesterday": -1,
    "today": 0,
    "tomorrow": 1,
    "the day after tomorrow": 2,
}


@cache
def _past_rules() -> list[tuple[re.Pattern[str], Callable[[re.Match[str], date], _Days]]]:
    return [
        # on Monday evening, 周一下午
        (
            re.compile(rf"\bon\s+(?P<weekday>{_EN_WEEKDAY})\b{_EN_PART}"),
            lambda found, today: _day(_find_weekday(today, "last", _WEEKDAYS.index(found["weekday"]))),
        ),
        (
            re.compile(f"(?<!每)(?<!每个)(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天]){_ZH_PART}"),
            lambda found, today: _day(
                _find_weekday(today, "last", "一二三四五六日".index(found["weekday"].replace("天", "日")))
            ),
        ),
        # in May, since early June
        (
            re.compile(
                rf"\b(?:in|during|since|of)\s+(?:early\s+|mid[- ]|late\s+)?(?P<month>{_EN_MONTH})(?!\w)"
                r"(?!\s*+(?:,\s*+)?\d)"
            ),
            lambda found, today: _latest_month(today, _read_month(found["month"])),
        ),
        # on May 5th, 5 May
        (
            re.compile(rf"\b(?P<month>{_EN_MONTH})\s+(?:the\s+)?{_EN_DAYS}\b"),
            lambda found, today: _latest_day(today, found),
        ),
        (
            re.compile(rf"\b{_EN_DAYS}\s+(?:of\s+)?(?P<month>{_EN_MONTH})\b"),
            lambda found, today: _latest_day(today, found),
        ),
        # 5月3号
        (
            re.compile(f"(?<![0-9年一二三四五六七八九十])(?P<month>{_ZH_MONTH})月{_ZH_DAYS}"),
            lambda found, today: _latest_day(today, found),
        ),
        # 5月份, 五月
        (
            re.compile(f"(?<![0-9年一二三四五六七八九十])(?P<month>{_ZH_MONTH})月份?(?![0-9一二三四五六七八九十])"),
            lambda found, today: _latest_month(today, _read_month(found["month"])),
        ),
    ]


@cache
def _future_rules() -> list[tuple[re.Pattern[str], Callable[[re.Match[str], date], _Days]]]:
    return [
        # Friday evening, 周五下午
        (
            re.compile(rf"\b(?P<weekday>{_EN_WEEKDAY})\b{_EN_PART}"),
            lambda found, today: _day(_next_weekday(today, _WEEKDAYS.index(found["weekday"]))),
        ),
        (
            re.compile(f"(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天]){_ZH_PART}"),
            lambda found, today: _day(
                _next_weekday(today, "一二三四五六日".index(found["weekday"].replace("天", "日")))
            ),
        ),
        # March, 三月, 3月份
        (
            re.compile(rf"\b(?P<month>{_EN_MONTH})(?!\w)(?!\s*+(?:,\s*+)?\d)"),
            lambda found, today: _next_month(today, _read_month(found["month"])),
        ),
        (
            re.compile(
                f"(?<![0-9年一二三四五六七八九十])(?P<month>{_ZH_MONTH})月份?(?![0-9一二三四五六七八九十初上中下底末])"
            ),
            lambda found, today: _next_month(today, _read_month(found["month"])),
        ),
        # May 5th, 5 May, 5月3号
        (
            re.compile(rf"\b(?P<month>{_EN_MONTH})\s+(?:the\s+)?{_EN_DAYS}\b(?!\s*+(?:,\s*+)?\d{{4}})"),
            lambda found, today: _next_day(today, found),
        ),
        (
            re.compile(rf"\b{_EN_DAYS}\s+(?:of\s+)?(?P<month>{_EN_MONTH})\b(?!\s*+(?:,\s*+)?\d{{4}})"),
            lambda found, today: _next_day(today, found),
        ),
        (
            re.compile(f"(?<![0-9年一二三四五六七八九十])(?P<month>{_ZH_MONTH})月{_ZH_DAYS}"),
            lambda found, today: _next_day(today, found),
        ),
        # the 5th, 5号
        (
            re.compile(r"\bthe\s+(?P<day>\d{1,2})(?:st|nd|rd|th)\b(?!\s+of\b)"),
            lambda found, today: _day(_next_day_of_month(today, int(found["day"]))),
        ),
        (
            re.compile("(?<![0-9月])(?P<day>[0-9]{1,2})[日号]"),
            lambda found, today: _day(_next_day_of_month(today, int(found["day"]))),
        ),
        # the end of the week, month, year; 月底, 年底
        (
            re.compile(r"\bend\s+of\s+(?:the|this)\s+(?P<unit>week|month|year)\b"),
            lambda found, today: _SPANS[found["unit"]](today),
        ),
        (
            re.compile("(?<![0-9一二三四五六七八九十上下个年明今去])(?P<unit>月|年)[底末]"),
            lambda found, today: _SPANS[found["unit"]](today),
        ),
        # for two weeks, 三个月
        (
            re.compile(rf"\bfor\s+(?:the\s+next\s+)?{_EN_COUNT}\b"),
            lambda found, today: _shift(today, _count(found, "half"), found["unit"]),
        ),
        (
            re.compile(
                f"(?<![0-9一二三四五六七八九十第几])(?P<count>{_ZH_NUMBER})个?(?P<half>半)?"
                "(?P<unit>天|周|星期|礼拜|月|年)(?P<and_half>半)?(?=[内里之]|时间|$)"
            ),
            lambda found, today: _shift(today, _count(found, "half", "and_half"), found["unit"]),
        ),
    ]


_SPANS: dict[str, Callable[[date], _Days]] = {
    "week": _week,
    "month": lambda today: _month(today.year, today.month),
    "year": lambda today: _year(today.year),
}
_SPANS |= {"月": _SPANS["month"], "年": _SPANS["year"]}


def _next_weekday(today: date, weekday: int) -> date:
    """The next day of that name, which may be today."""
    return today + timedelta(days=(weekday - today.weekday()) % 7)


def _next_month(today: date, month: int) -> _Days:
    """The next month of that name, which may be this one."""
    return _month(today.year + (month < today.month), month)


def _next_day(today: date, found: re.Match[str]) -> _Days:
    """The next day of that name, which may be today, and what follows it to the last that is named."""
    month, day = _read_month(found["month"]), int(_number(found["day"]))
    years = [year for year in range(today.year, today.year + 9) if _exists(year, month, day)]
    return _until(_day(min(ahead for year in years if (ahead := date(year, month, day)) >= today)), found)


def _next_day_of_month(today: date, day: int) -> date:
    """The next day of that number, which may be today. Raises `ValueError` for a number that no month has."""
    ahead = (_month(today.year, today.month + months)[0] for months in range(12))
    days = (first + timedelta(days=day - 1) for first in ahead if _exists(first.year, first.month, day))
    return next((found for found in days if found >= today), None) or date(today.year, 1, day)


def _latest_day(today: date, found: re.Match[str]) -> _Days:
    """The latest day of that name that has begun, and what follows it to the last that is named."""
    month, day = _read_month(found["month"]), int(_number(found["day"]))
    years = [year for year in range(today.year - 8, today.year + 1) if _exists(year, month, day)]
    return _until(_day(max(day_then for year in years if (day_then := date(year, month, day)) <= today)), found)


def _latest_month(today: date, month: int) -> _Days:
    """The latest month of that name that has begun."""
    days = _month(today.year, month)
    return days if days[0] <= today else _month(today.year - 1, month)


def _find_month(today: date, shift: int, month: int) -> _Days:
    """This year's month; last May is the latest that is over, next May the first that has not begun."""
    days = _month(today.year, month)
    if shift < 0 and days[1] > today:
        return _month(today.year - 1, month)
    if shift > 0 and days[0] <= today:
        return _month(today.year + 1, month)
    return days


def _weekend_or_week(today: date, *, weeks: int, unit: str) -> _Days:
    monday, after = _week(today + timedelta(weeks=weeks))
    return (monday + timedelta(days=5), after) if unit in ("周末", "weekend") else (monday, after)


def _weekdays(monday: date, found: re.Match[str]) -> _Days:
    """The day of a week, to the last that is named."""
    names = "一二三四五六日"
    first, last = (names.index((found[name] or found["weekday"]).replace("天", "日")) for name in ("weekday", "last"))
    return monday + timedelta(days=first), monday + timedelta(days=max(first, last) + 1)


def _find_weekday(today: date, which: str, weekday: int) -> date:
    if which == "this":
        return _week(today)[0] + timedelta(days=weekday)
    if which == "last":
        return today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1)
    return today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)


def _find_season(today: date, shift: int, name: str) -> _Days:
    """This year's season; last summer is the latest that is over, next summer the first that has not begun."""
    days = _season(today.year, name)
    if shift < 0 and days[1] > today:
        return _season(today.year - 1, name)
    if shift > 0 and days[0] <= today:
        return _season(today.year + 1, name)
    return days


def _read_date(found: re.Match[str], today: date) -> _Days:
    month, day = _read_month(found["month"]), int(found["day"])
    days = _day(date(int(found["year"]), month, day)) if found["year"] else _nearest(month, day, today)
    return _until(days, found)
