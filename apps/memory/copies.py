"""Where else a memory's text lives (L6): what a copy is, and how apps above memory say that they may hold some."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from apps.accounts.models import User
from apps.core.text.traces import Traces


@dataclass(frozen=True, slots=True)
class MemoryCopy:
    """Another place that holds a memory's text (L6).

    `kind` "long_term": `id` is another memory, `field` its key. "atomic": an atomic memory, "content". "working": the
    session, and the context variable. "topic": the session, "current_topic". "profile": the profile, and the section.
    "summary": the summary of a session ("title" or "snippet") or the message that is one of a conversation ("content").
    "title": a session whose title nobody typed, "title".
    "context": the shared context, and "title", "content" or "entry". `text` is what stands there; of a longer text only
    what would be removed.
    """

    kind: str
    id: UUID
    field: str
    text: str


class FindCopies(Protocol):
    """Return what of a person's holds a value; a fixed number of queries."""

    def __call__(self, *, user: User, traces: Traces) -> Iterable[MemoryCopy]: ...


class RemoveCopies(Protocol):
    """Remove all that `find` would name, and every earlier state of it, in the caller's transaction."""

    def __call__(self, *, user: User, traces: Traces, now: datetime) -> None: ...


@dataclass(frozen=True, slots=True)
class CopyHolder:
    """One kind of running text in which copies stand."""

    find: FindCopies
    remove: RemoveCopies


_holders: dict[str, CopyHolder] = {}


def register_copy_holder(name: str, holder: CopyHolder) -> None:
    """Let copies in a kind of text be listed and removed with a memory; said in an app's `ready`."""
    _holders[name] = holder


def list_copy_holders() -> Sequence[CopyHolder]:
    """Return all of them, in the order of their names: whoever removes copies locks in the same order."""
    return [_holders[name] for name in sorted(_holders)]
