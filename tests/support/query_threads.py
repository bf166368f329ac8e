"""The threads in which queries are embedded: a test that is over leaves none behind."""

from __future__ import annotations

from apps.memory.embeddings import queries


def wait_for_queries() -> None:
    """Wait until every query that was begun is embedded or given up; the next one finds new threads."""
    if queries._get_pool.cache_info().currsize:
        queries._get_pool().shutdown()
        queries._get_pool.cache_clear()
