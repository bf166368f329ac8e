"""How long the panel's lists and searches take for somebody with a hundred thousand memories.

    python -m benchmarks.panel [--memories 100000] [--requests 20] [--only WORD] [--json FILE]

The rows are made on embedded servers in a temporary folder, with the terms and words that services store, but without
vectors and audit records. Each page is asked for in this process, as its owner and as staff; what is told are the
median, the 95th percentile and the number of queries. Pages are added to `PAGES`.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.figures import get_spread
from benchmarks.running import describe_machine, run_in_new_data_folder

GOAL_MS, GOAL_QUERIES = 300.0, 20
"""Of the 95th percentile, and of queries a page (issue 4)."""

PORTION = 2_000
SEED = 4

LONG_TERM, ATOMIC = "/admin/memory/longtermmemory/", "/admin/memory/atomicmemory/"

PAGES: tuple[tuple[str, str], ...] = (
    ("list", LONG_TERM),
    ("list, last page", f"{LONG_TERM}?page=999999"),
    ("list, every status", f"{LONG_TERM}?status=all"),
    ("list, one category", f"{LONG_TERM}?category=pattern"),
    ("list, last 30 days", f"{LONG_TERM}?days=30"),
    ("list by confidence", f"{LONG_TERM}?sort=-confidence"),
    ("list by uses", f"{LONG_TERM}?sort=-uses"),
    ("list by last use", f"{LONG_TERM}?sort=-used"),
    ("list by change", f"{LONG_TERM}?sort=-updated"),
    ("list by key", f"{LONG_TERM}?sort=key"),
    ("search, one hit in ten", f"{LONG_TERM}?q=咖啡"),
    ("search, one hit in 100,000", f"{LONG_TERM}?q=第77777号"),
    ("search, two words", f"{LONG_TERM}?q=favourite tea"),
    ("search, a part of a word", f"{LONG_TERM}?q=avourit"),
    ("search, nothing", f"{LONG_TERM}?q=quantum"),
    ("search by confidence", f"{LONG_TERM}?q=咖啡&sort=-confidence"),
    ("news", f"{LONG_TERM}news/?after=0"),
    ("atomic list", ATOMIC),
    ("atomic, by event", f"{ATOMIC}?sort=-happened"),
    ("atomic, a tag", f"{ATOMIC}?tag=茶"),
    ("atomic search", f"{ATOMIC}?q=咖啡"),
    ("atomic search, nothing", f"{ATOMIC}?q=quantum"),
    ("overview", "/admin/"),
    ("conversations", "/admin/conversations/session/"),
    ("messages", "/admin/conversations/message/"),
    ("turns", "/admin/chat/turn/"),
    ("changes", "/admin/memory/change/"),
    ("review queue", "/admin/review/"),
    ("review queue by confidence", "/admin/review/?order=surest"),
    ("playground", "/admin/playground/"),
)
"""Name and address of every page that is measured."""

FORMS: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("playground, one hit in ten", "/admin/playground/try/", {"message": "我喜欢的咖啡是什么"}),
    ("playground, two settings", "/admin/playground/try/", {"message": "我喜欢的咖啡是什么", "weight_keyword": "1"}),
    ("playground, nothing", "/admin/playground/try/", {"message": "quantum"}),
)
"""Name, address and fields of what is asked by POST and changes nothing."""

THINGS = ("咖啡", "茶", "tea", "coffee", "电影", "music", "跑步", "city", "书", "weekend")


@dataclass(frozen=True, slots=True)
class Result:
    """One page for one person. Times in milliseconds."""

    page: str
    who: str
    median: float
    p95: float
    queries: int
    status: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=20)
    parser.add_argument("--only", default="", help="measure pages with this in their name")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with run_in_new_data_folder():
        results = measure(memories=options.memories, requests=options.requests, only=options.only)
    _print(results, options.memories)
    if options.json:
        report = {"machine": describe_machine(), "memories": options.memories, "results": [*map(asdict, results)]}
        options.json.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", "utf-8")


def measure(*, memories: int, requests: int, only: str = "") -> list[Result]:
    """Make a person with that many memories of each kind, and ask for every page that many times."""
    from apps.accounts.models import User

    owner = User.objects.create_user("owner")
    staff = User.objects.create_superuser("staff")
    fill(owner, memories)
    everything = [*((name, address, None) for name, address in PAGES), *FORMS]
    pages = [page for page in everything if only in page[0]]
    return [
        _measure_page(name, address, form, who, requests)
        for who in (owner, staff)
        for name, address, form in track(pages, description=f"as {who.username}")
    ]


def _measure_page(name: str, address: str, form: dict[str, str] | None, who: Any, requests: int) -> Result:
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    client = Client(headers={"host": "localhost"})
    client.force_login(who)

    def ask() -> Any:
        return client.get(address) if form is None else client.post(address, form)

    ask()
    with CaptureQueriesContext(connection) as queries:
        response = ask()
    times = []
    for _ in range(requests):
        start = time.perf_counter()
        ask()
        times.append((time.perf_counter() - start) * 1_000)
    spread = get_spread(times)
    return Result(name, who.username, spread.p50, spread.p95, len(queries), response.status_code)


def fill(user: Any, count: int) -> None:
    """Store `count` long-term and `count` atomic memories of `user`, some of them history, over two years."""
    from django.db import connection

    from apps.memory.models import AtomicMemory, LongTermMemory

    draw = random.Random(SEED)
    for model, make in ((LongTermMemory, _make_long_term), (AtomicMemory, _make_atomic)):
        for start in track(range(0, count, PORTION), description=f"making {model._meta.verbose_name_plural}"):
            numbers = range(start, min(start + PORTION, count))
            model.objects.bulk_create(make(user, numbers, draw))
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def _make_long_term(user: Any, numbers: range, draw: random.Random) -> Iterator[Any]:
    from django.utils import timezone

    from apps.memory.long_term.ledger import set_text
    from apps.memory.models import Category, LongTermMemory, Source

    now = timezone.now()
    for number in numbers:
        made_at = now - timedelta(minutes=draw.randrange(1_000_000))
        memory = LongTermMemory(
            user=user,
            category=draw.choice(Category.values),
            source=draw.choice(Source.values),
            status=_draw_status(draw),
            confidence=round(draw.random(), 2),
            created_at=made_at,
            updated_at=made_at,
            last_accessed=made_at + timedelta(minutes=draw.randrange(10_000)),
            access_count=draw.randrange(50),
        )
        thing = draw.choice(THINGS)
        key, value = (
            (f"第{number}号{thing}", f"喜欢{thing}，每天都要") if number % 2 else (f"favourite {thing} {number}", thing)
        )
        set_text(memory, key=key, value=value)
        yield memory


def _make_atomic(user: Any, numbers: range, draw: random.Random) -> Iterator[Any]:
    from django.utils import timezone

    from apps.memory.atomic.text import set_content
    from apps.memory.models import AtomicMemory

    now = timezone.now()
    for number in numbers:
        said_at = now - timedelta(minutes=draw.randrange(1_000_000))
        thing = draw.choice(THINGS)
        memory = AtomicMemory(
            user=user,
            tags=[thing],
            timestamp=said_at,
            event_start=said_at if number % 3 else None,
            status=_draw_status(draw),
            create_time=said_at,
            updated_at=said_at,
        )
        set_content(
            memory, f"用户第{number}次说起{thing}。" if number % 2 else f"The user spoke of {thing} on day {number}."
        )
        yield memory


def _draw_status(draw: random.Random) -> str:
    return draw.choices(("active", "superseded", "pending", "rejected"), weights=(90, 7, 2, 1))[0]


def _print(results: list[Result], memories: int) -> None:
    console = Console()
    table = Table(title=f"{memories:,} memories of each kind")
    for column in ("page", "who", "median ms", "p95 ms", "queries"):
        table.add_column(column, justify="left" if column in ("page", "who") else "right")
    for result in results:
        slow = result.p95 > GOAL_MS or result.queries > GOAL_QUERIES or result.status != 200
        queries = str(result.queries) if result.status == 200 else f"status {result.status}"
        style = "red" if slow else None
        table.add_row(result.page, result.who, f"{result.median:.0f}", f"{result.p95:.0f}", queries, style=style)
    console.print(table)


if __name__ == "__main__":
    main()
