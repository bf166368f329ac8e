"""Sum the ledger of calls up (Q1): by day, job, model, person and service, with what it costs at the prices of now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from typing import Any, Literal

from apps.accounts.models import User
from apps.core.db import fetch_rows
from apps.costs.models import CostPlan, ModelCall

Key = Literal["day", "job", "model", "user", "service"]

# What memory costs is all but the replies and what the model looked up for them.
REPLYING = (ModelCall.Job.REPLY, ModelCall.Job.TOOL_ROUND)

# Days are counted from their midnights, as PostgreSQL may not know the zone.
_KEYS: dict[Key, str] = {
    "day": "width_bucket(call.created_at, %(midnights)s::timestamptz[])",
    "job": "call.job",
    "model": "call.model",
    "user": "call.user_id",
    "service": "call.service_id",
}

# An account's are its own and, of a service, those of its end users.
_OF_ACCOUNT = "(call.user_id = %(account)s OR call.service_id = %(account)s)"

COST = """
sum(
    (call.tokens_in - call.tokens_cached) * price.input + call.tokens_out * price.output
    + call.tokens_cached * COALESCE(price.cached, price.input)
) / 1000000
"""

SUMS = """
SELECT {keys}, sum(call.calls), sum(call.tokens_in), sum(call.tokens_out), sum(call.tokens_cached), sum(call.ms),
       COALESCE(sum(call.calls) FILTER (WHERE call.estimated), 0),
       COALESCE({cost}, 0), bool_or(price.model IS NULL)
FROM model_call AS call LEFT JOIN model_price AS price ON price.model = call.model
WHERE call.created_at >= %(since)s AND call.created_at < %(until)s AND {condition}
GROUP BY {group}
ORDER BY {group}
"""


@dataclass(frozen=True, slots=True)
class Sum:
    """What calls came to. `key`: by what they are summed, in the order asked for; None for what belongs to nobody.

    `estimated`: for how many of the calls tokens are estimates. `cost`: in the currency of `CostPlan`, of those whose
    model has a price; `unpriced`: whether others are among them.
    """

    key: tuple[Any, ...]
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    ms: int = 0
    estimated: int = 0
    cost: Decimal = Decimal(0)
    unpriced: bool = False


@dataclass(frozen=True, slots=True)
class Period:
    """Days as `zone` counts them, both included."""

    first: date
    last: date
    zone: tzinfo

    @property
    def days(self) -> list[date]:
        """All its days."""
        return [self.first + timedelta(days=at) for at in range((self.last - self.first).days + 1)]

    @property
    def midnights(self) -> list[datetime]:
        """When each of its days begins, and at last when the day after it does."""
        days = [*self.days, self.last + timedelta(days=1)]
        return [datetime.combine(day, time.min, tzinfo=self.zone) for day in days]


FIGURES = ("calls", "tokens_in", "tokens_out", "tokens_cached", "ms", "estimated", "cost")


def list_sums(by: Sequence[Key], *, account: User | None, period: Period) -> list[Sum]:
    """Return what calls came to, by these keys and in their order. One query.

    `account`: whose, with the end users of a service; None for the whole installation.
    """
    days, midnights = period.days, period.midnights
    statement = SUMS.format(
        keys=", ".join(_KEYS[key] for key in by),
        group=", ".join(str(place + 1) for place in range(len(by))),
        cost=COST,
        condition="TRUE" if account is None else _OF_ACCOUNT,
    )
    values: dict[str, Any] = {"since": midnights[0], "until": midnights[-1], "midnights": midnights}
    found = []
    for row in fetch_rows(statement, {**values, "account": account.pk if account else None}):
        key = tuple(days[value - 1] if name == "day" else value for name, value in zip(by, row, strict=False))
        figures = dict(zip(FIGURES, row[len(by) : -1], strict=True))
        counts: dict[str, Any] = {name: int(value) for name, value in figures.items() if name != "cost"}
        found.append(Sum(key, **counts, cost=figures["cost"], unpriced=row[-1]))
    return found


def add_up(sums: Iterable[Sum], *key: Any) -> Sum:
    """Return the sum of sums, under `key`."""
    total = Sum(key)
    for one in sums:
        figures = {name: getattr(total, name) + getattr(one, name) for name in FIGURES}
        total = Sum(key, **figures, unpriced=total.unpriced or one.unpriced)
    return total


def get_plan() -> CostPlan:
    """Return the plan of the installation, an empty one where nobody has made one. One query."""
    return CostPlan.objects.first() or CostPlan()
