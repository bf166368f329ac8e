"""What people say in the benchmark of the panel: short sentences about a few things, in Chinese and English."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

from django.utils import timezone

THINGS = ("咖啡", "茶", "tea", "coffee", "电影", "music", "跑步", "city", "书", "weekend")

PERIOD = timedelta(days=700)
"""From the first thing said until now."""


def say(number: int, thing: str) -> str:
    """A message: most are short, every fiftieth is long."""
    chinese, english = f"我今天又想起了{thing}，这是第{number}次。", f"I was thinking of {thing} again, time {number}."
    text = chinese if number % 2 else english
    return text * 40 if number % 50 == 0 else text


def draw_time(draw: random.Random) -> datetime:
    """Some time of the period."""
    return timezone.now() - timedelta(seconds=draw.random() * PERIOD.total_seconds())


def time_of(share: float) -> datetime:
    """The time when this share of the period, from 0 to 1, was over."""
    return timezone.now() - PERIOD * (1 - share)
