"""What a judge of memories is given and what it answers (SPEC A3). Plain values and one protocol; no Django.

A judge compares new statements with the memories it is shown, by number, and says of each statement whether it is new,
known already, a refinement, or the end of something. `model.ModelJudge` gives the verdicts that the connected model
wrote into its extraction answer; the offline model answers the same call. What a verdict may do without its owner's
consent is decided by `guards`, never by the judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from apps.memory.types import MemoryKind


class Relation(StrEnum):
    """What a statement is to the memories it targets; a `NEW` one targets none."""

    NEW = "new"
    SAME = "same"
    REFINES = "refines"
    CONTRADICTS = "contradicts"


class Operation(StrEnum):
    """A change that a message asks for without stating anything to be remembered ("Deleted it.")."""

    END = "end"
    REPLACE = "replace"
    ADD = "add"


@dataclass(frozen=True, slots=True)
class KnownMemory:
    """A memory as a judge sees it. `number`: by which a verdict names it, from 1.

    `text`: the content of an atomic memory, ``key: value`` of a long-term one. A list stands as one known memory for
    each of its items, under the same `key`; `item` is the index of that item. `said_at`: when it was said; `event`: the
    day it is about, if known. `memory_id`: its row. `by_owner`: its owner wrote or edited it by hand.
    """

    number: int
    kind: MemoryKind
    text: str
    key: str = ""
    said_at: datetime | None = None
    event: datetime | None = None
    memory_id: UUID | None = None
    item: int | None = None
    by_owner: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """What somebody stated, to be compared with known memories. `text`: in their words, or as a model put it."""

    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one statement stands to the known memories numbered `targets`.

    `left`: of a memory that ends only in part, what still holds, as a text (of several targets, it belongs to the one
    whose words it has); `merged`: of a memory that the statement refines, one text that says both. None where the judge
    gave none. `confidence`: 0 to 1.
    """

    relation: Relation = Relation.NEW
    targets: tuple[int, ...] = ()
    confidence: float = 1.0
    left: str | None = None
    merged: str | None = None


class MemoryJudge(Protocol):
    """Anything that compares statements with known memories."""

    def judge(self, statements: Sequence[Statement], known: Sequence[KnownMemory]) -> Sequence[Verdict]:
        """Return one verdict for each statement, in order."""
        ...


@dataclass(frozen=True, slots=True)
class Said:
    """What was said and where: a message of the person, `text` as they wrote it, at `said_at`.

    `message_id` is None once the message has been deleted.
    """

    message_id: UUID | None
    session_id: UUID | None
    said_at: datetime
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedStatement:
    """A statement to be remembered, with the verdict on it. `grounded`: it rests on what was said.

    `confirmed`: a second look did not deny that it ends its targets. `number`: by which later statements of the same
    answer name it; `revises`: those that this one takes back or corrects.
    """

    content: str
    source: Said
    verdict: Verdict = Verdict()
    tags: Sequence[str] = ()
    event_start: datetime | None = None
    event_end: datetime | None = None
    grounded: bool = True
    confirmed: bool = True
    number: int = 0
    revises: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedOperation:
    """A change without a statement. `text`: what takes the targets' place, or joins them; None for an end."""

    operation: Operation
    targets: tuple[int, ...]
    source: Said
    text: str | None = None
    confidence: float = 1.0
    grounded: bool = True
    confirmed: bool = True


class Reason(StrEnum):
    """Why a verdict waits for review."""

    UNSURE = "unsure"
    INSTRUCTION = "instruction"
    UNGROUNDED = "ungrounded"
    BY_OWNER = "by_owner"
    MANY_ENDS = "many_ends"
    UNCONFIRMED = "unconfirmed"
    SET_ASIDE = "set_aside"
