"""Times said in words, seen from Sunday, 22 November 2026, 10:30 in Shanghai."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from apps.core.text.time_expressions import find_time, find_times, find_until

SHANGHAI = ZoneInfo("Asia/Shanghai")
SAID_AT = datetime(2026, 11, 22, 2, 30, tzinfo=UTC)
TIMES = tomllib.loads(Path(__file__).with_name("times.toml").read_text("utf-8"))


def show(text: str, *, said_at: datetime = SAID_AT, zone: ZoneInfo = SHANGHAI) -> str:
    span = find_time(text, said_at=said_at, zone=zone)
    return "" if span is None else f"{span.start:%Y-%m-%d %H}–{span.end:%Y-%m-%d %H}"


@pytest.mark.spec("A1")
@pytest.mark.parametrize(("text", "expected"), TIMES["said"])
def test_days_weeks_months_and_years(text: str, expected: str) -> None:
    assert show(text) == expected


@pytest.mark.parametrize(("text", "expected"), TIMES["asked"])
def test_who_asks_what_happened_means_the_latest(text: str, expected: str) -> None:
    (span,) = find_times(text, said_at=SAID_AT, zone=SHANGHAI, of_past=True)
    assert f"{span.start:%Y-%m-%d %H}–{span.end:%Y-%m-%d %H}" == expected


@pytest.mark.spec("D3")
@pytest.mark.parametrize(("text", "expected"), TIMES["until"])
def test_who_says_until_when_means_the_next(text: str, expected: str) -> None:
    found = find_until(text, said_at=datetime(2026, 11, 28, 4, tzinfo=UTC), zone=SHANGHAI)
    assert (found.isoformat() if found else "") == (expected and f"{expected}T00:00:00+08:00")


@pytest.mark.parametrize("text", TIMES["no_month"])
def test_what_is_no_month(text: str) -> None:
    assert list(find_times(text, said_at=SAID_AT, zone=SHANGHAI, of_past=True)) == []


@pytest.mark.parametrize("text", TIMES["no_stretch"])
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
@pytest.mark.parametrize(("text", "expected"), TIMES["ranges"])
def test_from_one_day_to_another(text: str, expected: str) -> None:
    assert show(text) == expected
    assert len(list(find_times(text, said_at=SAID_AT, zone=SHANGHAI))) == 1


@pytest.mark.parametrize("text", TIMES["no_festival"])
def test_what_is_no_festival_of_one_year(text: str) -> None:
    assert show(text) == ""
