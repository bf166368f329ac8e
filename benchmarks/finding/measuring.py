"""Making the messages, and asking for what is in them."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import connection
from django.test import Client
from django.utils import timezone
from rich.progress import track

from apps.accounts.models import User
from apps.conversations.models import Message, Role, Session
from apps.core.text.text_cache import clear_text_caches
from benchmarks.figures import Spread, get_spread
from benchmarks.finding.texts import RARE_CHINESE, RARE_ENGLISH, Writer
from benchmarks.panel.copying import build_indexes, copy_rows, drop_vector_indexes
from benchmarks.panel.vectors import fill_vectors

SESSION_MESSAGES = 20


@dataclass(frozen=True, slots=True)
class Result:
    """One search: its times with words alone and with what is similar, and how many conversations words found."""

    search: str
    words: Spread
    all: Spread
    found: int


@dataclass(frozen=True, slots=True)
class Report:
    """What was measured. `store_ms`: what the index's function takes for a message."""

    messages: int
    characters: int
    index_bytes: int
    table_bytes: int
    store_ms: float
    results: Sequence[Result]


def measure(*, messages: int, requests: int, vectors: bool) -> Report:
    """Make a person with that many messages, another one with a tenth, and search the first one's that many times."""
    writer = Writer(random.Random(4))
    owner, other = User.objects.create_user("owner"), User.objects.create_user("other")
    dropped = [*drop_vector_indexes(), drop_word_index()]  # they grow slowly row by row
    for user, count in ((owner, messages), (other, messages // 10)):
        fill(user, writer, count)
        if vectors:
            fill_vectors(user)
    build_indexes(dropped)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    browser = Client(headers={"host": "localhost"})
    browser.force_login(owner)
    searches = {
        "Chinese, rare": RARE_CHINESE,
        "Chinese, frequent": writer.chinese[0],
        "Chinese, one in a hundred": writer.chinese[1_000],
        "Chinese, two words": f"{writer.chinese[50]} {writer.chinese[5_000]}",
        "Chinese, one character": writer.chinese[3_000][0],
        "Chinese, nowhere": "麒麟芯片的发热问题",
        "English, rare": RARE_ENGLISH,
        "English, frequent": writer.english[0],
        "English, one in a hundred": writer.english[1_000],
        "English, beginning of a word": writer.english[1_000][:4],
        "English, one letter": "b",
        "English, three words": " ".join(writer.english[100:103]),
        "English, nowhere": "absolutely nowhere",
        "Both": f"{writer.chinese[100]} {writer.english[100]}",
        "A question": "我喜欢的颜色是什么？",
    }
    results = [
        _measure(browser, name, query, requests) for name, query in track(searches.items(), description="searching")
    ]
    return Report(messages=messages, results=results, **_weigh(owner))


def drop_word_index() -> str:
    """Drop the index of words; returns the statement that builds it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE indexname = 'message_words'")
        ((definition,),) = cursor.fetchall()
        cursor.execute("DROP INDEX message_words")
    return str(definition)


def fill(user: Any, writer: Writer, count: int) -> None:
    """Store sessions of twenty messages each, as many as are needed."""
    now = timezone.now()
    held = [
        Session(user=user, title=writer.write(2 * number)[:30], last_position=SESSION_MESSAGES, last_active_at=now)
        for number in range(count // SESSION_MESSAGES)
    ]
    copy_rows(held)
    copy_rows(
        Message(
            user=user,
            session=held[number // SESSION_MESSAGES],
            role=Role.ASSISTANT if number % 2 else Role.USER,
            content=writer.write(number),
            create_time=now - timedelta(minutes=5 * (count - number)),
            position=number % SESSION_MESSAGES + 1,
        )
        for number in track(range(len(held) * SESSION_MESSAGES), description=f"messages of {user.username}")
    )


def _measure(browser: Client, name: str, query: str, requests: int) -> Result:
    words, everything, found = list[float](), list[float](), 0
    browser.get("/chat/search", {"q": query})  # a running server has read its dictionaries
    for _ in range(requests):
        for mode, times in (("words", words), ("all", everything)):
            clear_text_caches()  # nobody searches for the same twice: the query's vector is made each time
            start = time.perf_counter()
            answer = browser.get("/chat/search", {"q": query, "mode": mode}).json()
            times.append((time.perf_counter() - start) * 1_000)
            if mode == "words":
                found = len(answer["results"])
    return Result(f"{name}: {query}", get_spread(words), get_spread(everything), found)


def _weigh(owner: User) -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(length(content)), pg_relation_size('message_words'), "
            "pg_table_size('conversation') FROM conversation WHERE user_id = %s",
            [owner.pk],
        )
        characters, index_bytes, table_bytes = cursor.fetchone()
        start = time.perf_counter()
        cursor.execute(
            "SELECT sum(length(message_words(user_id, content))) "
            "FROM (SELECT * FROM conversation LIMIT 10000) AS message"
        )
        store_ms = (time.perf_counter() - start) * 1_000 / 10_000
    return {
        "characters": characters,
        "index_bytes": index_bytes,
        "table_bytes": table_bytes,
        "store_ms": store_ms,
    }
