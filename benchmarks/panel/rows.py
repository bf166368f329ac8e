"""Somebody with very much of everything, and people beside them: what the pages of the panel have to read."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from benchmarks.panel import conversations, memories, people
from benchmarks.panel.vectors import fill_vectors

SEED = 4


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many rows there are: `memories` of each kind, each with a vector, as every message has one; `longest`
    messages of one session; `others` of everything else there is a list of, such as people, tokens and failed work.
    `pending`: the share of memories that wait for review.
    """

    memories: int
    messages: int
    longest: int
    sessions: int
    turns: int
    changes: int
    others: int
    pending: float

    @classmethod
    def with_memories(cls, count: int) -> Sizes:
        """The proportions of somebody who has talked for years."""
        return cls(
            memories=count,
            messages=count,
            longest=count // 50,
            sessions=count // 20,
            turns=count // 2,
            changes=count,
            others=count // 50,
            pending=0.02,
        )

    @classmethod
    def with_each(cls, count: int) -> Sizes:
        """As many rows in every list (in those of memories with what waits for review), half as many in one session."""
        return cls(
            memories=count,
            messages=2 * count,
            longest=count // 2,
            sessions=count,
            turns=count,
            changes=count,
            others=count,
            pending=0.5,
        )


def fill(user: Any, sizes: Sizes) -> None:
    """Give `user` all of it, and people beside them. Quicker without indexes of vectors; analyze the tables then."""
    draw = random.Random(SEED)
    sessions, messages = conversations.fill_talk(
        user, sessions=sizes.sessions, messages=sizes.messages, longest=sizes.longest, draw=draw
    )
    long_term = memories.fill_long_term(user, sizes.memories, messages, pending=sizes.pending, draw=draw)
    atomic = memories.fill_atomic(user, sizes.memories, messages, pending=sizes.pending, draw=draw)
    conversations.fill_turns(user, messages, sizes.turns, long_term, atomic, draw)
    conversations.fill_work(user, messages, sizes.others)
    conversations.fill_in_mind(user, sessions, sizes.others, draw)
    memories.fill_changes(user, long_term, sizes.changes, draw)
    people.fill_belongings(user, sessions, messages, sizes.others, draw)
    people.fill_people(sizes.others)
    fill_vectors(user)
