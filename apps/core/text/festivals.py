"""Find festivals by name, and the days on which they fall: 去年春节, last Christmas, Easter 2024. Pure.

Days of the Chinese lunar calendar are known for 2000 to 2040 (data/lunar_days.txt).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import cache
from pathlib import Path

# The first day, and the day after the last.
Days = tuple[date, date]

Rule = tuple[re.Pattern[str], Callable[[re.Match[str], date], Days]]

_LUNAR_DAYS = Path(__file__).parent / "data" / "lunar_days.txt"
_NEW_YEAR, _FIFTH_OF_FIFTH, _SEVENTH_OF_SEVENTH, _MIDDLE_OF_EIGHTH, _NINTH_OF_NINTH = range(5)

_SHIFTS = {"上个": -1, "上一个": -1, "这个": 0, "下个": 1, "下一个": 1, "last": -1, "this": 0, "next": 1}
_YEARS = {"大前": -3, "前": -2, "去": -1, "今": 0, "明": 1, "后": 2, "last": -1, "this": 0, "next": 1}


def _fixed(month: int, day: int, length: int = 1) -> Callable[[int], Days]:
    return lambda year: _from(date(year, month, day), length)


def _lunar(column: int, *, shift: int = 0, length: int = 1) -> Callable[[int], Days]:
    return lambda year: _from(_read_lunar_days()[year][column] + timedelta(days=shift), length)


def _weekday(month: int, weekday: int, number: int, length: int = 1) -> Callable[[int], Days]:
    """The days from the `number`th such weekday of a month on."""

    def find(year: int) -> Days:
        first = date(year, month, 1)
        return _from(first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (number - 1)), length)

    return find


def _easter(year: int) -> Days:
    """Good Friday to Easter Monday of the Gregorian calendar (Gauss' rule as Spencer Jones wrote it)."""
    a, (b, c) = year % 19, divmod(year, 100)
    h = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    k = (32 + 2 * (b % 4) + 2 * (c // 4) - h - c % 4) % 7
    month, day = divmod(h + k - 7 * ((a + 11 * h + 22 * k) // 451) + 114, 31)
    return _from(date(year, month, day + 1) - timedelta(days=2), 4)


def _from(first: date, length: int) -> Days:
    return first, first + timedelta(days=length)


# People who speak of 春节 or Christmas mean the holidays, from the eve on.
_FESTIVALS: dict[str, Callable[[int], Days]] = {
    "春节|过年|spring festival|chinese new year|lunar new year": _lunar(_NEW_YEAR, shift=-1, length=8),
    "除夕|大年三十|年三十|大年夜": _lunar(_NEW_YEAR, shift=-1),
    "大年初一|年初一": _lunar(_NEW_YEAR),
    "元宵节|元宵|lantern festival": _lunar(_NEW_YEAR, shift=14),
    "端午节|端午|dragon boat festival": _lunar(_FIFTH_OF_FIFTH),
    "七夕节|七夕": _lunar(_SEVENTH_OF_SEVENTH),
    "中秋节|中秋|mid-autumn festival|mid-autumn": _lunar(_MIDDLE_OF_EIGHTH),
    "重阳节|重阳": _lunar(_NINTH_OF_NINTH),
    "元旦|new year's day": _fixed(1, 1),
    "清明节|清明": _fixed(4, 4, 3),
    "五一劳动节|五一|劳动节": _fixed(5, 1, 5),
    "国庆节|国庆|十一假期|十一长假|十一黄金周": _fixed(10, 1, 7),
    "情人节|valentine's day|valentine's": _fixed(2, 14),
    "妇女节": _fixed(3, 8),
    "儿童节|六一": _fixed(6, 1),
    "教师节": _fixed(9, 10),
    "万圣节|halloween": _fixed(10, 31),
    "双十一|双11|光棍节": _fixed(11, 11),
    "冬至": _fixed(12, 21, 2),
    "平安夜|christmas eve": _fixed(12, 24),
    "圣诞节|圣诞|christmas day|christmas|xmas": _fixed(12, 24, 3),
    "new year's eve": _fixed(12, 31),
    "母亲节|mother's day": _weekday(5, 6, 2),
    "父亲节|father's day": _weekday(6, 6, 3),
    "感恩节|thanksgiving day|thanksgiving": _weekday(11, 3, 4, 4),
    "复活节|easter": _easter,
}


@cache
def _read_lunar_days() -> dict[int, list[date]]:
    lines = [line.split() for line in _LUNAR_DAYS.read_text("utf-8").splitlines() if not line.startswith("#")]
    return {int(year): [date.fromisoformat(f"{year}-{day}") for day in days] for year, *days in lines}


@cache
def _by_name() -> dict[str, Callable[[int], Days]]:
    return {name.replace("'", ""): read for names, read in _FESTIVALS.items() for name in names.split("|")}


def _write_names(*, english: bool) -> str:
    names = [name for names in _FESTIVALS for name in names.split("|") if name.isascii() is english]
    longest_first = sorted(names, key=len, reverse=True)
    return "(?P<festival>" + "|".join(re.escape(name).replace("'", "['’]?") for name in longest_first) + ")"


@cache
def festival_rules() -> list[Rule]:
    """Where a festival of one year is named."""
    zh, en = _write_names(english=False), _write_names(english=True)
    return [
        # 去年春节, 前年的中秋节
        (re.compile(f"(?P<which>大前|前|去|今|明|后)年的?{zh}"), _read_year),
        # 2025年春节
        (re.compile(f"(?<![0-9])(?P<year>20[0-9]{{2}})年?的?{zh}"), _read_year),
        # 上个春节
        (re.compile(f"(?P<which>上一?个|这个|下一?个){zh}"), _read_shift),
        # last year's Christmas, Christmas last year, Christmas 2024
        (re.compile(rf"\b(?P<which>last|this|next)\s+year['’]s\s+{en}\b"), _read_year),
        (re.compile(rf"\b{en}\s+(?P<which>last|this|next)\s+year\b"), _read_year),
        (re.compile(rf"\b{en}(?:\s+of|,)?\s+(?P<year>20\d\d)\b"), _read_year),
        # last Christmas
        (re.compile(rf"\b(?P<which>last|this|next)\s+{en}\b"), _read_shift),
    ]


@cache
def past_festival_rules() -> list[Rule]:
    """Where who asks what happened names a festival without its year."""
    zh, en = _write_names(english=False), _write_names(english=True)
    return [
        (re.compile(f"(?<!每年)(?<!每个)(?<!每逢){zh}(?!快乐)"), _read_latest),
        (re.compile(rf"\b(?:at|on|over|during|for|since)\s+{en}\b"), _read_latest),
    ]


def _read(found: re.Match[str], year: int) -> Days:
    name = found["festival"].replace("'", "").replace("’", "")
    try:
        return _by_name()[name](year)
    except KeyError as error:
        raise ValueError("The calendar does not go as far as that.") from error


def _read_year(found: re.Match[str], today: date) -> Days:
    groups = found.groupdict()
    return _read(found, int(groups["year"]) if groups.get("year") else today.year + _YEARS[groups["which"]])


def _read_shift(found: re.Match[str], today: date) -> Days:
    """This year's; the last one is the latest that is over, the next one the first that has not begun."""
    shift, days = _SHIFTS[found["which"]], _read(found, today.year)
    if shift < 0 and days[1] > today:
        return _read(found, today.year - 1)
    if shift > 0 and days[0] <= today:
        return _read(found, today.year + 1)
    return days


def _read_latest(found: re.Match[str], today: date) -> Days:
    """The latest that has begun."""
    days = _read(found, today.year)
    return days if days[0] <= today else _read(found, today.year - 1)
