"""Whose fault a failure is, and its name in log and queue: no database, no text."""

from __future__ import annotations

import pytest

from apps.conversations.queue import Blame
from apps.conversations.worker import get_blame, name_error
from apps.core.errors import InvalidInput, ModelUnavailable


def unavailable(reason: str, **fields: int) -> ModelUnavailable:
    return ModelUnavailable("I live in 北京, said the server.", fields={"reason": reason, **fields})


@pytest.mark.parametrize(
    ("error", "blame", "name"),
    [
        (unavailable("unreachable"), Blame.SERVER, "model_unavailable: unreachable"),
        (unavailable("rate_limited", status=429), Blame.SERVER, "model_unavailable: rate_limited 429"),
        (unavailable("no_model"), Blame.SERVER, "model_unavailable: no_model"),
        (unavailable("refused", status=401), Blame.SERVER, "model_unavailable: refused 401"),
        (unavailable("refused", status=404), Blame.SERVER, "model_unavailable: refused 404"),
        (unavailable("timeout"), Blame.UNSURE, "model_unavailable: timeout"),
        (unavailable("dropped"), Blame.UNSURE, "model_unavailable: dropped"),
        (unavailable("server_error", status=500), Blame.UNSURE, "model_unavailable: server_error 500"),
        (unavailable("refused", status=400), Blame.WORK, "model_unavailable: refused 400"),
        (unavailable("bad_answer"), Blame.WORK, "model_unavailable: bad_answer"),
        (ModelUnavailable("I live in 北京"), Blame.WORK, "model_unavailable"),
        (InvalidInput("I live in 北京"), Blame.WORK, "invalid"),
        (ValueError("I live in 北京"), Blame.WORK, "ValueError"),
    ],
    ids=str,
)
def test_a_failure_has_somebody_to_blame_and_a_name_without_text(error: Exception, blame: Blame, name: str):
    assert (get_blame(error), name_error(error)) == (blame, name)
