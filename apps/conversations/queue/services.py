"""What the rest of the product does with the queue."""

from __future__ import annotations

from apps.conversations.queue.blame import DATABASE_ERRORS
from apps.conversations.queue.claiming import claim_batch, claim_rounds, claim_session, finish, put_off
from apps.conversations.queue.draining import drain
from apps.conversations.queue.restarting import take_up_name
from apps.conversations.queue.rows import (
    WORKER_LOST,
    add_work,
    claim_session_work,
    claim_work,
    fail_lost_work,
    release_all_claims,
    release_work,
    replay_failed,
    take_work,
)
from apps.conversations.queue.sending import send_task, wake_workers

__all__ = [
    "DATABASE_ERRORS",
    "WORKER_LOST",
    "add_work",
    "claim_batch",
    "claim_rounds",
    "claim_session",
    "claim_session_work",
    "claim_work",
    "drain",
    "fail_lost_work",
    "finish",
    "put_off",
    "release_all_claims",
    "release_work",
    "replay_failed",
    "send_task",
    "take_up_name",
    "take_work",
    "wake_workers",
]
