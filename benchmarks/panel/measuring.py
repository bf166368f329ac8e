"""Asking for pages in this process, as their owner and as staff."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from rich.progress import track

from apps.accounts.models import User
from benchmarks.figures import get_spread
from benchmarks.panel.copying import build_indexes, drop_vector_indexes
from benchmarks.panel.pages import Page, list_pages
from benchmarks.panel.rows import Sizes, fill


@dataclass(frozen=True, slots=True)
class Result:
    """One page for one person. Times in milliseconds."""

    page: str
    who: str
    median: float
    p95: float
    queries: int
    status: int


def measure(*, memories: int, requests: int, only: str = "") -> list[Result]:
    """Make a person with that many memories of each kind, and ask for every page that many times."""
    owner = User.objects.create_user("owner")
    staff = User.objects.create_superuser("staff")
    dropped = drop_vector_indexes()
    fill(owner, Sizes.with_memories(memories))
    build_indexes(dropped)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    return [result for who in (owner, staff) for result in measure_pages(owner, who, requests=requests, only=only)]


def measure_pages(owner: User, who: User, *, requests: int, only: str = "") -> list[Result]:
    """Ask for every page with `only` in its name, after one request that warms up and one whose queries count."""
    browser = Client(raise_request_exception=False, headers={"host": "localhost"})
    browser.force_login(who)
    pages = [page for page in list_pages(owner=owner, who=who) if only in page.name]
    return [_measure(page, browser, who, requests) for page in track(pages, description=f"as {who.username}")]


def ask(browser: Client, page: Page) -> Any:
    """Ask for a page; returns the response."""
    return browser.get(page.address) if page.fields is None else browser.post(page.address, page.fields)


def count_queries(browser: Client, page: Page) -> tuple[int, int]:
    """Ask for a page; returns the status, and the number of queries without savepoints: those are a test's."""
    with CaptureQueriesContext(connection) as captured:
        response = ask(browser, page)
    asked = [query["sql"] for query in captured.captured_queries]  # a later request empties the log they stand in
    return response.status_code, sum(not sql.startswith(("SAVEPOINT", "RELEASE SAVEPOINT")) for sql in asked)


def _measure(page: Page, browser: Client, who: User, requests: int) -> Result:
    ask(browser, page)
    status, queries = count_queries(browser, page)
    times = []
    for _ in range(requests):
        start = time.perf_counter()
        ask(browser, page)
        times.append((time.perf_counter() - start) * 1_000)
    spread = get_spread(times)
    return Result(page.name, who.username, spread.p50, spread.p95, queries, status)
