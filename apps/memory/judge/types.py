"""What a judge of memories is given and what it answers (A3). Plain values; no Django.

A judge compares new statements with the memories it is shown, by number, and says of each statement whether it is new,
known already, a refinement, or the end of something. The connected model writes its verdicts into its extraction
answer. What a verdict may do without its owner's consent is decided in `verdicts`, never by the judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Self
from uuid import UUID

from apps.memory.types import KindName


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
class Target:
    """A memory that a verdict names. `text`: what it said then; where it says something else now, it is left alone.

    `item`: the index of an item, where the memory is a list.
    """

    kind: KindName
    memory_id: UUID
    text: str
    item: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownMemory(Target):
    """A memory as a judge sees it. `number`: by which a verdict names it, from 1.

    `text`: the content of an atomic memory, ``key: value`` of a long-term one. A list stands as one known memory for
    each of its items, under the same `key`. `said_at`: when it was said; `event`: the day it is about, `until`: when it
    ceases to hold, if known. `by_owner`: its owner wrote or edited it by hand. `by_assistant`: it tells the assistant's
    words (A6). `elsewhere`: it is everywhere, and what is judged was said in a space, which ends nothing outside by
    itself (P3).
    """

    number: int = 0
    key: str = ""
    said_at: datetime | None = None
    event: datetime | None = None
    until: datetime | None = None
    by_owner: bool = False
    by_assistant: bool = False
    elsewhere: bool = False


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


@dataclass(frozen=True, slots=True)
class Said:
    """What was said and where: a message, `text` as it was written, at `said_at`.

    `message_id` is None once the message has been deleted.
    """

    message_id: UUID | None
    session_id: UUID | None
    said_at: datetime
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedStatement:
    """A statement to be remembered, with the verdict on it. `grounded`: it rests on what was said.

    `confirmed`: a second look did not deny that it ends its targets. `number`: by which later statements of the same
    answer name it; `revises`: those that this one takes back or corrects. `by_assistant`: the assistant said it (A6).
    `sensitive`: the categories that the judge marked it with (D4).
    """

    content: str
    source: Said
    verdict: Verdict = Verdict()
    tags: Sequence[str] = ()
    event_start: datetime | None = None
    event_end: datetime | None = None
    valid_until: datetime | None = None
    grounded: bool = True
    confirmed: bool = True
    number: int = 0
    revises: tuple[int, ...] = ()
    by_assistant: bool = False
    sensitive: Sequence[str] = ()

    @property
    def text(self) -> str:
        """The content."""
        return self.content

    @property
    def targets(self) -> tuple[int, ...]:
        """What the verdict names."""
        return self.verdict.targets

    @property
    def confidence(self) -> float:
        """That of the verdict."""
        return self.verdict.confidence

    @property
    def ends(self) -> bool:
        """Whether it ends its targets."""
        return self.verdict.relation is Relation.CONTRADICTS


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
    sensitive: Sequence[str] = ()

    @property
    def ends(self) -> bool:
        """Whether it ends its targets."""
        return self.operation is not Operation.ADD


class Reason(StrEnum):
    """Why a verdict waits for review."""

    UNSURE = "unsure"
    INSTRUCTION = "instruction"
    UNGROUNDED = "ungrounded"
    BY_OWNER = "by_owner"
    MANY_ENDS = "many_ends"
    UNCONFIRMED = "unconfirmed"
    SET_ASIDE = "set_aside"
    ELSEWHERE = "elsewhere"
    DERIVED = "derived"
    UNCERTAIN = "uncertain"
    SENSITIVE = "sensitive"


Judged = JudgedStatement | JudgedOperation


@dataclass(frozen=True, slots=True)
class PendingVerdict:
    """A verdict that waits. `is_memory`: accepting makes the text a memory, or else only carries the verdict out."""

    reason: Reason
    relation: Relation = Relation.NEW
    targets: Sequence[Target] = ()
    left: str | None = None
    merged: str | None = None
    is_memory: bool = True

    def to_json(self) -> dict[str, Any]:
        """Return what `AtomicMemory.proposal` stores."""
        return {
            "reason": str(self.reason),
            "relation": str(self.relation),
            "targets": [
                {"kind": str(target.kind), "id": str(target.memory_id), "text": target.text, "item": target.item}
                for target in self.targets
            ],
            "left": self.left,
            "merged": self.merged,
            "is_memory": self.is_memory,
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any] | None) -> Self | None:
        """Return the proposal of a pending memory, None for one that proposes nothing but itself."""
        if stored is None:
            return None
        return cls(
            reason=Reason(stored["reason"]),
            relation=Relation(stored["relation"]),
            targets=[
                Target(KindName(target["kind"]), UUID(target["id"]), target["text"], target["item"])
                for target in stored["targets"]
            ],
            left=stored["left"],
            merged=stored["merged"],
            is_memory=stored["is_memory"],
        )
