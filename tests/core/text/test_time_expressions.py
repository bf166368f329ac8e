"""Times said in words, seen from Sunday, 22 November 2026, 10:30 in Shanghai."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from apps.core.text.time_expressions import find_time, find_times, find_until

SHANGHAI = ZoneInfo("Asia/Shanghai")
SAID_AT = datetime(2026, 11, 22, 2, 30, tzinfo=UTC)


def show(text: str, *, said_at: datetime = SAID_AT, zone: ZoneInfo = SHANGHAI) -> str:
    span = find_time(text, said_at=said_at, zone=zone)
    return "" if span is None else f"{span.start:%Y-%m-%d %H}–{span.end:%Y-%m-%d %H}"


@pytest.mark.spec("A1")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("昨天去爬山了", "2026-11-21 00–2026-11-22 00"),
        ("I saw her yesterday", "2026-11-21 00–2026-11-22 00"),
        ("前天晚上没睡好", "2026-11-20 18–2026-11-21 00"),
        ("昨晚加班", "2026-11-21 18–2026-11-22 00"),
        ("今早跑了五公里", "2026-11-22 06–2026-11-22 12"),
        ("大后天交稿", "2026-11-25 00–2026-11-26 00"),
        ("三天前分手了", "2026-11-19 00–2026-11-20 00"),
        ("3天前", "2026-11-19 00–2026-11-20 00"),
        ("十二天后考试", "2026-12-04 00–2026-12-05 00"),
        ("两周前", "2026-11-02 00–2026-11-09 00"),
        ("两个月前买的车", "2026-09-01 00–2026-10-01 00"),
        ("半年前", "2026-05-01 00–2026-06-01 00"),
        ("十年前结的婚", "2016-01-01 00–2017-01-01 00"),
        ("上周六去了海边", "2026-11-14 00–2026-11-15 00"),
        ("上個禮拜天", "2026-11-15 00–2026-11-16 00"),
        ("下下周一下午开会", "2026-11-30 12–2026-11-30 18"),
        ("上周末", "2026-11-14 00–2026-11-16 00"),
        ("上周很忙", "2026-11-09 00–2026-11-16 00"),
        ("下个月5号搬家", "2026-12-05 00–2026-12-06 00"),
        ("上個月底", "2026-10-21 00–2026-11-01 00"),
        ("下个月中旬", "2026-12-11 00–2026-12-21 00"),
        ("去年夏天去了云南", "2025-06-01 00–2025-09-01 00"),
        ("去年冬天", "2025-12-01 00–2026-03-01 00"),
        ("前年三月", "2024-03-01 00–2024-04-01 00"),
        ("明年年初", "2027-01-01 00–2027-04-01 00"),
        ("2023年5月毕业", "2023-05-01 00–2023-06-01 00"),
        ("2023年5月3日", "2023-05-03 00–2023-05-04 00"),
        ("2019年", "2019-01-01 00–2020-01-01 00"),
        ("12月1号交", "2026-12-01 00–2026-12-02 00"),
        ("一月五日", "2027-01-05 00–2027-01-06 00"),
        ("九月三号", "2026-09-03 00–2026-09-04 00"),
        ("生日是五月三号", "2027-05-03 00–2027-05-04 00"),
        ("2024-05-03", "2024-05-03 00–2024-05-04 00"),
        ("半个月前", "2026-10-31 00–2026-11-15 00"),
        ("两个半月前", "2026-08-31 00–2026-09-15 00"),
        ("一个半月之前买的", "2026-09-30 00–2026-10-15 00"),
        ("一年半前", "2025-05-01 00–2025-06-01 00"),
        ("三年半以前", "2023-05-01 00–2023-06-01 00"),
        ("两个半月后", "2027-01-30 00–2027-02-14 00"),
        ("yesterday evening", "2026-11-21 18–2026-11-22 00"),
        ("This morning I ran", "2026-11-22 06–2026-11-22 12"),
        ("last night", "2026-11-21 18–2026-11-22 00"),
        ("the day after tomorrow", "2026-11-24 00–2026-11-25 00"),
        ("two weeks ago", "2026-11-02 00–2026-11-09 00"),
        ("3 days ago", "2026-11-19 00–2026-11-20 00"),
        ("a year ago", "2025-01-01 00–2026-01-01 00"),
        ("in two months", "2027-01-01 00–2027-02-01 00"),
        ("Last May we moved", "2026-05-01 00–2026-06-01 00"),
        ("last December", "2025-12-01 00–2026-01-01 00"),
        ("next March", "2027-03-01 00–2027-04-01 00"),
        ("Last Saturday we moved", "2026-11-21 00–2026-11-22 00"),
        ("last Sunday", "2026-11-15 00–2026-11-16 00"),
        ("next Wednesday", "2026-11-25 00–2026-11-26 00"),
        ("this Friday evening", "2026-11-20 18–2026-11-21 00"),
        ("last weekend", "2026-11-14 00–2026-11-16 00"),
        ("next month", "2026-12-01 00–2027-01-01 00"),
        ("last year", "2025-01-01 00–2026-01-01 00"),
        ("last summer", "2026-06-01 00–2026-09-01 00"),
        ("next spring", "2027-03-01 00–2027-06-01 00"),
        ("on May 5th", "2027-05-05 00–2027-05-06 00"),
        ("Jan 5", "2027-01-05 00–2027-01-06 00"),
        ("May 5, 2023", "2023-05-05 00–2023-05-06 00"),
        ("the 5th of May 2023", "2023-05-05 00–2023-05-06 00"),
        ("in May 2023", "2023-05-01 00–2023-06-01 00"),
        ("in the summer of 2019", "2019-06-01 00–2019-09-01 00"),
        ("in 2019", "2019-01-01 00–2020-01-01 00"),
        ("half a year ago", "2026-05-01 00–2026-06-01 00"),
        ("two and a half months ago", "2026-08-31 00–2026-09-15 00"),
        ("a month and a half ago", "2026-09-30 00–2026-10-15 00"),
        ("a year and a half ago", "2025-05-01 00–2025-06-01 00"),
        # Festivals
        ("去年春节回了老家", "2025-01-28 00–2025-02-05 00"),
        ("去年的春節", "2025-01-28 00–2025-02-05 00"),
        ("今年过年没回家", "2026-02-16 00–2026-02-24 00"),
        ("明年除夕", "2027-02-05 00–2027-02-06 00"),
        ("前年中秋节", "2024-09-17 00–2024-09-18 00"),
        ("2023年端午", "2023-06-22 00–2023-06-23 00"),
        ("去年元宵节", "2025-02-12 00–2025-02-13 00"),
        ("去年七夕求的婚", "2025-08-29 00–2025-08-30 00"),
        ("去年重阳", "2025-10-29 00–2025-10-30 00"),
        ("去年国庆去了青岛", "2025-10-01 00–2025-10-08 00"),
        ("上个国庆", "2026-10-01 00–2026-10-08 00"),
        ("今年五一", "2026-05-01 00–2026-05-06 00"),
        ("去年冬至", "2025-12-21 00–2025-12-23 00"),
        ("去年春天", "2025-03-01 00–2025-06-01 00"),
        ("last Christmas", "2025-12-24 00–2025-12-27 00"),
        ("Christmas 2023", "2023-12-24 00–2023-12-27 00"),
        ("last year's Thanksgiving", "2025-11-27 00–2025-12-01 00"),
        ("Easter last year", "2025-04-18 00–2025-04-22 00"),
        ("next Easter", "2027-03-26 00–2027-03-30 00"),
        ("last Chinese New Year", "2026-02-16 00–2026-02-24 00"),
        ("last New Year’s Eve", "2025-12-31 00–2026-01-01 00"),
        ("on Valentine's Day 2024", "2024-02-14 00–2024-02-15 00"),
        ("last Mother's Day", "2026-05-10 00–2026-05-11 00"),
    ],
)
def test_days_weeks_months_and_years(text: str, expected: str) -> None:
    assert show(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What did I do in May?", "2026-05-01 00–2026-06-01 00"),
        ("五月份去了哪", "2026-05-01 00–2026-06-01 00"),
        ("during early December", "2025-12-01 00–2026-01-01 00"),
        ("since november", "2026-11-01 00–2026-12-01 00"),
        ("12月的考试", "2025-12-01 00–2026-01-01 00"),
        ("in May 2022", "2022-05-01 00–2022-06-01 00"),
        ("on May 3rd, 2027", "2027-05-03 00–2027-05-04 00"),
        ("on May 3rd", "2026-05-03 00–2026-05-04 00"),
        ("the 3rd of December", "2025-12-03 00–2025-12-04 00"),
        ("2月29号", "2024-02-29 00–2024-03-01 00"),
        ("5月2日", "2026-05-02 00–2026-05-03 00"),
        ("3月3日到5日我在哪", "2026-03-03 00–2026-03-06 00"),
        ("12月30日到1月2日", "2025-12-30 00–2026-01-03 00"),
        ("3月到5月", "2026-03-01 00–2026-06-01 00"),
        ("去年3月到5月", "2025-03-01 00–2025-06-01 00"),
        ("on December 3 to 5", "2025-12-03 00–2025-12-06 00"),
        ("去年春节", "2025-01-28 00–2025-02-05 00"),
        ("春节我去了哪？", "2026-02-16 00–2026-02-24 00"),
        ("中秋做了什么", "2026-09-25 00–2026-09-26 00"),
        ("圣诞节干嘛了", "2025-12-24 00–2025-12-27 00"),
        ("What did I do at Christmas?", "2025-12-24 00–2025-12-27 00"),
        ("over Easter", "2026-04-03 00–2026-04-07 00"),
        ("What did I say on Monday?", "2026-11-16 00–2026-11-17 00"),
        ("on Sunday evening", "2026-11-15 18–2026-11-16 00"),
        ("周三我说了什么", "2026-11-18 00–2026-11-19 00"),
    ],
)
def test_who_asks_what_happened_means_the_latest(text: str, expected: str) -> None:
    (span,) = find_times(text, said_at=SAID_AT, zone=SHANGHAI, of_past=True)
    assert f"{span.start:%Y-%m-%d %H}–{span.end:%Y-%m-%d %H}" == expected


@pytest.mark.spec("D3")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("until Friday", "2026-12-05"),
        ("until Saturday", "2026-11-29"),  # today
        ("到周五", "2026-12-05"),
        ("到下周五为止", "2026-12-05"),
        ("这周", "2026-11-30"),
        ("周日之前", "2026-11-30"),
        ("until March", "2027-04-01"),
        ("until December 5, 2027", "2027-12-06"),
        ("until 24 December", "2026-12-25"),
        ("到1月5日", "2027-01-06"),
        ("5号之前", "2026-12-06"),
        ("until the 31st", "2027-01-01"),
        ("until the end of the month", "2026-12-01"),
        ("月底", "2026-12-01"),
        ("到年底", "2027-01-01"),
        ("for two weeks", "2026-12-14"),
        ("三个月内", "2027-03-01"),
        ("from Monday to Wednesday", "2026-12-03"),
        ("for now", None),
        ("until the 45th", None),
    ],
)
def test_who_says_until_when_means_the_next(text: str, expected: str | None) -> None:
    found = find_until(text, said_at=datetime(2026, 11, 28, 4, tzinfo=UTC), zone=SHANGHAI)
    assert (found and found.isoformat()) == (expected and f"{expected}T00:00:00+08:00")


@pytest.mark.parametrize(
    "text", ["三个月", "13月", "February 30th", "2月30号", "I may go", "marching on", "每月", "in maybe"]
)
def test_what_is_no_month(text: str) -> None:
    assert list(find_times(text, said_at=SAID_AT, zone=SHANGHAI, of_past=True)) == []


@pytest.mark.parametrize(
    "text",
    ["", "我喜欢蓝色", "Her birthday is in May", "她五月过生日",
     "每周六打球", "周五开会", "几天前", "2023年13月5日", "1月32号", "日本", "I may go",
     "every Saturday", "on Saturdays", "February 30th, 2024", "9999 years ago",
     "第三天后面", "my number is 2019", "a few days ago"],
)  # fmt: skip
def test_what_names_no_single_stretch(text: str) -> None:
    span = find_time(text, said_at=SAID_AT, zone=SHANGHAI)
    # The year of an impossible month is still a year.
    assert span is None or (text, span.text) == ("2023年13月5日", "2023年")


@pytest.mark.spec("C8")
def test_days_are_those_of_the_person() -> None:
    late = datetime(2026, 11, 21, 20, 0, tzinfo=UTC)
    assert show("昨天", said_at=late, zone=SHANGHAI) == "2026-11-21 00–2026-11-22 00"
    assert show("昨天", said_at=late, zone=ZoneInfo("UTC")) == "2026-11-20 00–2026-11-21 00"


def test_several_in_order_with_their_places() -> None:
    text = "昨天订的票，下個月5號走"
    spans = list(find_times(text, said_at=SAID_AT, zone=SHANGHAI))
    assert [(span.text, span.position) for span in spans] == [("昨天", 0), ("下個月5號", 6)]


def test_a_day_of_clock_change_keeps_local_midnights() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    span = find_time("yesterday", said_at=datetime(2026, 10, 26, 12, tzinfo=berlin), zone=berlin)
    assert span is not None
    assert (span.end.astimezone(UTC) - span.start.astimezone(UTC)).total_seconds() == 25 * 3600


@pytest.mark.spec("A1")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("9月3日到5日在西安", "2026-09-03 00–2026-09-06 00"),
        ("9月3号至9月5号", "2026-09-03 00–2026-09-06 00"),
        ("9月3-5日", "2026-09-03 00–2026-09-06 00"),
        ("9月3日～5日", "2026-09-03 00–2026-09-06 00"),
        ("九月二十八号到三号", "2026-09-28 00–2026-10-04 00"),
        ("9月28日到10月3日", "2026-09-28 00–2026-10-04 00"),
        ("2025年3月3日到5日", "2025-03-03 00–2025-03-06 00"),
        ("2024年12月30日到2025年1月2日", "2024-12-30 00–2025-01-03 00"),
        ("去年3月到5月", "2025-03-01 00–2025-06-01 00"),
        ("上个月3号到5号", "2026-10-03 00–2026-10-06 00"),
        ("上周一到周三出差", "2026-11-09 00–2026-11-12 00"),
        ("上周五到下周一", "2026-11-13 00–2026-11-24 00"),
        ("昨天到今天", "2026-11-21 00–2026-11-23 00"),
        ("2024-05-03 - 2024-05-07", "2024-05-03 00–2024-05-08 00"),
        ("September 3 to 5", "2026-09-03 00–2026-09-06 00"),
        ("from September 3rd until the 5th", "2026-09-03 00–2026-09-06 00"),
        ("Sep 3–5, 2025", "2025-09-03 00–2025-09-06 00"),
        ("3-5 September", "2026-09-03 00–2026-09-06 00"),
        ("from September 28 to October 3", "2026-09-28 00–2026-10-04 00"),
        ("the 3rd through the 5th of September", "2026-09-03 00–2026-09-06 00"),
    ],
)
def test_from_one_day_to_another(text: str, expected: str) -> None:
    assert show(text) == expected
    assert len(list(find_times(text, said_at=SAID_AT, zone=SHANGHAI))) == 1


@pytest.mark.parametrize(
    "text",
    ["我喜欢春节", "每年春节都回家", "春节快乐", "I love Christmas", "a Christmas tree", "十一个人",
     "五一路", "3 to 5 people", "3到5个人", "from A to B"],
)  # fmt: skip
def test_what_is_no_festival_of_one_year(text: str) -> None:
    assert show(text) == ""
