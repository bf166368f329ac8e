"""The backlog of background work for Prometheus, counted whenever ``/metrics`` is asked."""

from __future__ import annotations

from collections.abc import Iterator

import structlog
from django.db import DatabaseError
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from apps.conversations.queue.selectors import count_backlog

logger = structlog.get_logger(__name__)


class BacklogCollector(Collector):
    """``jiyi_work`` by kind and state, and ``jiyi_work_oldest_seconds`` by kind."""

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """Name the gauges, for the registry; asks no database."""
        yield GaugeMetricFamily("jiyi_work", "Background work that is left", labels=["kind", "state"])
        yield GaugeMetricFamily("jiyi_work_oldest_seconds", "Age of the oldest that has not failed", labels=["kind"])

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Count; without a database the gauges are missing, and the other metrics are reported all the same."""
        try:
            backlog = count_backlog()
        except DatabaseError as error:
            logger.warning("backlog_not_counted", cause=type(error).__name__)
            return
        left, oldest = self.describe()
        for kind, counts in backlog.items():
            for state in ("due", "claimed", "failed"):
                left.add_metric([kind, state], counts[state])
            oldest.add_metric([kind], counts["oldest_seconds"])
        yield left
        yield oldest
