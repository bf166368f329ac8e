"""Ending moves that somebody died over: what the directory has decided is done everywhere, all else taken back."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from apps.shards.servers import DIRECTORY, connect
from apps.shards.two_phase import end_left, hold_person, list_prepared


@dataclass(frozen=True, slots=True)
class Ended:
    """A transaction that a server had prepared to move a person, and whether it was committed."""

    server: str
    user_id: int
    committed: bool


def finish_moves() -> list[Ended]:
    """End what was left of moves that are not under way any more, and let the requests of these people go on."""
    ended: list[Ended] = []
    for name in settings.SHARDS:
        with connect(DIRECTORY, name) as (directory, shard):
            for user_id in dict.fromkeys(prepared.user_id for prepared in list_prepared(shard)):
                with hold_person(directory, user_id) as held:
                    if held:
                        decided = end_left(shard, directory, user_id=user_id)
                        ended += [Ended(name, user_id, committed) for committed in decided]
    _release_people()
    return ended


def _release_people() -> None:
    """Let requests go on of people whom nobody moves."""
    with connect(DIRECTORY) as (directory,):
        for (user_id,) in directory.fetch("SELECT id FROM accounts_user WHERE moving_until IS NOT NULL"):
            with hold_person(directory, user_id) as held:
                if held:
                    directory.execute("UPDATE accounts_user SET moving_until = NULL WHERE id = %s", [user_id])
