"""Write down the calls of models (Q1), with what their caller writes anyway."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableSequence, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import connection

from apps.accounts.models import User
from apps.core.llm.metering import ModelCall, collect_calls
from apps.costs.models import MAX_MODEL_CHARS

logger = structlog.get_logger(__name__)

# So long each call has a row of its own; then those of a day become sums.
KEPT = timedelta(days=90)

# Whom a call was for: the ID of an account and its `data_epoch` when what was sent was read.
Owner = tuple[int, int]

# For a statement that has found `owner`: those accounts with the epoch that is given. Who is not among them had
# everything erased meanwhile (R3): the figures stay, without the person.
INSERT_CALLS = """
INSERT INTO model_call (
    id, user_id, service_id, job, model, calls, tokens_in, tokens_out, tokens_cached, estimated, ms, created_at
)
SELECT gen_random_uuid(), owner.id, owner.service_id, call.job, call.model, 1, call.tokens_in, call.tokens_out,
       call.tokens_cached, call.estimated, call.ms, call.at
FROM unnest(
    %(call_user)s::bigint[], %(call_job)s::text[], %(call_model)s::text[], %(call_tokens_in)s::bigint[],
    %(call_tokens_out)s::bigint[], %(call_tokens_cached)s::bigint[], %(call_estimated)s::boolean[],
    %(call_ms)s::bigint[], %(call_at)s::timestamptz[]
) AS call (user_id, job, model, tokens_in, tokens_out, tokens_cached, estimated, ms, at)
LEFT JOIN owner ON owner.id = call.user_id
"""

RECORD = f"""
WITH owner AS MATERIALIZED (
    SELECT id, service_id FROM accounts_user
    JOIN unnest(%(users)s::bigint[], %(epochs)s::bigint[]) AS given (id, data_epoch) USING (id, data_epoch)
    ORDER BY id FOR KEY SHARE OF accounts_user
)
{INSERT_CALLS}
"""  # noqa: S608 - no value is put into it

# Noon in UTC is on the same day almost everywhere.
NOON = "date_trunc('day', created_at, 'UTC') + interval '12 hours'"

SUMS = f"""
INSERT INTO model_call (
    id, user_id, service_id, job, model, calls, tokens_in, tokens_out, tokens_cached, estimated, ms, created_at
)
SELECT gen_random_uuid(), {{user}}, service_id, job, model, sum(calls), sum(tokens_in), sum(tokens_out),
       sum(tokens_cached), estimated, sum(ms), {NOON}
FROM {{calls}} GROUP BY {{user}}, service_id, job, model, estimated, {NOON}
"""  # noqa: S608 - no value is put into it

SUM_UP = SUMS.format(user="NULL::bigint", calls="(SELECT * FROM model_call WHERE user_id = %(user)s) AS theirs")

# Accounts are locked as by `RECORD`, so that an erasure finds either the calls or their sums.
SUM_UP_OLD = f"""
WITH old AS MATERIALIZED (
    SELECT id, user_id FROM model_call WHERE created_at < %(before)s AND created_at <> {NOON}
),
owner AS MATERIALIZED (
    SELECT id FROM accounts_user WHERE id IN (SELECT user_id FROM old) ORDER BY id FOR KEY SHARE
),
gone AS (
    DELETE FROM model_call USING old LEFT JOIN owner ON owner.id = old.user_id
    WHERE model_call.id = old.id RETURNING model_call.*
)
{SUMS.format(user="user_id", calls="gone")}
"""  # noqa: S608 - no value is put into it


def record_calls(calls: Sequence[ModelCall], *, owners: Mapping[Owner, int]) -> None:
    """Record calls, in the caller's transaction if there is one. One statement, none without calls.

    `owners`: whom they were for, with the share that each has of them, such as the characters of their texts; what was
    for several is divided without a token being lost.
    """
    if calls and owners:
        users, epochs = zip(*owners, strict=True)
        values = list_values(calls, {user: share for (user, _epoch), share in owners.items()})
        with connection.cursor() as cursor:
            cursor.execute(RECORD, {"users": list(users), "epochs": list(epochs), **values})


def list_values(calls: Sequence[ModelCall], shares: Mapping[int, int]) -> dict[str, list[Any]]:
    """Return the parameters of `INSERT_CALLS`: of each call a row for each account of `shares`."""
    rows = []
    for call in calls:
        figures = (call.usage.tokens_in, call.usage.tokens_out, call.usage.tokens_cached, call.ms)
        parts = zip(*(divide(figure, list(shares.values())) for figure in figures), strict=True)
        for user, (tokens_in, tokens_out, tokens_cached, ms) in zip(shares, parts, strict=True):
            name = call.model.replace("\0", "")[:MAX_MODEL_CHARS]
            rows.append((user, call.job, name, tokens_in, tokens_out, tokens_cached, call.estimated, ms, call.at))
    names = ("user", "job", "model", "tokens_in", "tokens_out", "tokens_cached", "estimated", "ms", "at")
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    return {f"call_{name}": list(column) for name, column in zip(names, columns, strict=True)}


def record_rest(calls: MutableSequence[ModelCall], *, owners: Mapping[Owner, int]) -> None:
    """Record what nothing was written with: of work and turns that failed, and of searches. Never raises for it."""
    left, calls[:] = list(calls), []
    try:
        record_calls(left, owners=owners)
    except Exception as error:  # what cannot be recorded must not cost what was done
        logger.warning("model_calls_not_recorded", count=len(left), cause=type(error).__name__)


@contextmanager
def recording(user: User) -> Iterator[None]:
    """Record the calls of models that the block makes, for this person, at its end, whatever ends it."""
    with collect_calls() as calls:
        try:
            yield
        finally:
            record_rest(calls, owners={(user.pk, user.data_epoch): 1})


def divide(total: int, weights: Sequence[int]) -> list[int]:
    """Return `total` in whole parts in proportion to `weights`, or equally without any; their sum is `total`."""
    weights = weights if any(weights) else [1] * len(weights)
    of, past, given, parts = sum(weights), 0, 0, []
    for weight in weights:
        past += weight
        parts.append(total * past // of - given)
        given += parts[-1]
    return parts


def sum_up_calls(user: User) -> None:
    """Keep what a person's calls came to, without the person: before their rows are erased (Q2, R3)."""
    with connection.cursor() as cursor:
        cursor.execute(SUM_UP, {"user": user.pk})


def sum_up_old_calls(*, now: datetime) -> None:
    """Replace calls older than `KEPT` by sums: of each day (UTC), person, service, job and model one row."""
    with connection.cursor() as cursor:
        cursor.execute(SUM_UP_OLD, {"before": now - KEPT})
