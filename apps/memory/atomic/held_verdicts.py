"""What a pending atomic memory proposes beside itself: the verdict that waits for its owner (A3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from apps.memory.judging.types import KnownMemory, Reason, Relation
from apps.memory.types import MemoryKind


@dataclass(frozen=True, slots=True)
class Target:
    """A memory that a verdict names. `text`: what it said then; where it says something else now, it is left alone.

    `item`: the index of an item, where the memory is a list.
    """

    kind: MemoryKind
    memory_id: UUID
    text: str
    item: int | None = None


@dataclass(frozen=True, slots=True)
class HeldVerdict:
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
                Target(MemoryKind(target["kind"]), UUID(target["id"]), target["text"], target["item"])
                for target in stored["targets"]
            ],
            left=stored["left"],
            merged=stored["merged"],
            is_memory=stored["is_memory"],
        )


def name_targets(known: Sequence[KnownMemory]) -> list[Target]:
    """Return known memories as the targets of a verdict."""
    return [
        Target(memory.kind, memory.memory_id, memory.text, memory.item)
        for memory in known
        if memory.memory_id is not None
    ]
