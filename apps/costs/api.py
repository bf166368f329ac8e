"""REST of what models cost (Q1): /memory/costs."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.selectors import get_settings, get_user
from apps.accounts.types import Scope
from apps.core.operations import describe, query
from apps.core.pagination import read_int
from apps.costs.budgets import get_budget_state
from apps.costs.models import ModelCall
from apps.costs.sums import REPLYING, Period, Sum, add_up, get_plan, list_sums

operation = partial(describe, tag="Account")
MOST_DAYS = 366


class CostSumSerializer(serializers.Serializer[Any]):
    """What calls of models came to on a day, for a job."""

    day = serializers.DateField(help_text="In `memory.timezone`.")
    job = serializers.ChoiceField(choices=ModelCall.Job.choices)
    calls = serializers.IntegerField()
    estimated_calls = serializers.IntegerField(help_text="Of these, the server did not count the tokens.")
    tokens_in = serializers.IntegerField()
    tokens_cached = serializers.IntegerField(help_text="Of `tokens_in`, those that the server had read before.")
    tokens_out = serializers.IntegerField()
    seconds = serializers.FloatField()
    cost = serializers.FloatField(help_text="By today's prices; 0 for models without a price.")


class MonthlyBudgetSerializer(serializers.Serializer[Any]):
    """How the person stands this month (UTC)."""

    amount = serializers.FloatField(allow_null=True, help_text="Null where there is none.")
    spent = serializers.FloatField()
    paused = serializers.BooleanField(help_text="Whether background work waits, for this or another spent budget.")


class CostsSerializer(serializers.Serializer[Any]):
    """What models cost a person, or a service with its end users."""

    example = {
        "currency": "USD",
        "memory_cost": 0.0131,
        "reply_cost": 0.0402,
        "budget": {"amount": 5.0, "spent": 0.0533, "paused": False},
        "sums": [
            {
                "day": "2026-11-20",
                "job": "extraction",
                "calls": 6,
                "estimated_calls": 0,
                "tokens_in": 14210,
                "tokens_cached": 9216,
                "tokens_out": 801,
                "seconds": 11.2,
                "cost": 0.0131,
            }
        ],
    }

    currency = serializers.CharField(help_text="As the operator wrote it; empty where nobody has.")
    memory_cost = serializers.FloatField(help_text="Of all but the replies and the tool calls that they made.")
    reply_cost = serializers.FloatField()
    budget = MonthlyBudgetSerializer()
    sums = CostSumSerializer(many=True, help_text="By day and job, oldest first.")


class CostsView(APIView):
    """The sums of the last days."""

    serializer_class = CostsSerializer

    @operation(
        "get_costs",
        scope=Scope.READ,
        parameters=[
            query(
                "days",
                "How many days, today last; 30 by default.",
                {"type": "integer", "minimum": 1, "maximum": MOST_DAYS},
            )
        ],
    )
    def get(self, request: Request) -> Response:
        """Get what models cost. Calls and tokens by day and job, and how the monthly budget stands."""
        user, now = get_user(request), timezone.now()
        days = read_int(request, "days", default=30, minimum=1, maximum=MOST_DAYS)
        zone = get_settings(user).zone
        today = now.astimezone(zone).date()
        sums = list_sums(["day", "job"], account=user, period=Period(today - timedelta(days=days - 1), today, zone))
        state = get_budget_state(user, now=now)
        told = {
            "currency": get_plan().currency,
            "memory_cost": add_up(one for one in sums if one.key[1] not in REPLYING).cost,
            "reply_cost": add_up(one for one in sums if one.key[1] in REPLYING).cost,
            "budget": {"amount": state.amount, "spent": state.spent, "paused": bool(state.paused)},
            "sums": [_describe(one) for one in sums],
        }
        return Response(CostsSerializer(told).data)


def _describe(one: Sum) -> dict[str, Any]:
    day, job = one.key
    figures = ("calls", "tokens_in", "tokens_cached", "tokens_out", "cost")
    told = {name: getattr(one, name) for name in figures}
    return {"day": day, "job": job, **told, "estimated_calls": one.estimated, "seconds": one.ms / 1000}
