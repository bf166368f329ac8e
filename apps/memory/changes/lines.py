"""What replaced what, as one line: Berlin → Hamburg → Munich, with the time that each held. Pure: no Django."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.memory.changes.types import Snapshot

ACTIVE = "active"
UNDO = "undo"


@dataclass(frozen=True, slots=True)
class Member:
    """A memory of a line. `text`: what it says now. `ended_at`: when it was last written, which is when it ended."""

    id: UUID
    text: str
    status: str
    made_at: datetime
    ended_at: datetime
    superseded_by: UUID | None = None
    session_id: UUID | None = None
    message_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class LineRecord:
    """A change of a member, in the order in which they were made. `undone`: it does not hold any more."""

    object_id: UUID
    action: str
    before: Snapshot | None
    after: Snapshot | None
    operation: UUID
    created_at: datetime
    undone: bool = False
    session_id: UUID | None = None
    message_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """What was true from `since` until `until`, None: it is still. `message_id`: what was said that made it so."""

    memory_id: UUID
    text: str
    since: datetime
    until: datetime | None
    session_id: UUID | None = None
    message_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """Steps, the earliest first. `status`: that of the last memory. `undoable`: the operation that made the last step,
    or ended it, where nothing was changed since; None where there is nothing to go back to.
    """

    id: UUID
    status: str
    steps: Sequence[Step]
    undoable: UUID | None = None

    @property
    def latest(self) -> Step:
        return self.steps[-1]


def build_line(
    members: Iterable[Member], records: Iterable[LineRecord], *, read_text: Callable[[Snapshot], Any]
) -> Line | None:
    """Return memories that replaced each other as one line; None for what was never known, only proposed.

    Exactly one of `members` has no successor among them: the last. `read_text`: what a state of a record says.
    """
    by_id = {member.id: member for member in members}
    told: dict[UUID, list[LineRecord]] = {member_id: [] for member_id in by_id}
    for record in records:
        told[record.object_id].append(record)
    head = next(member for member in by_id.values() if member.superseded_by not in by_id)
    known = [member for member in by_id.values() if _was_active(member, told[member.id])]
    if not known:
        return None
    steps = _order([_list_versions(member, told[member.id], read_text) for member in known], by_id)
    last = by_id[steps[-1].memory_id]
    ended = [_end(step, steps[number + 1 :], by_id) for number, step in enumerate(steps)]
    is_changed = len(ended) > 1 or ended[-1].until is not None
    undoable = _find_undoable(told[last.id], steps[-1]) if is_changed else None
    return Line(id=head.id, status=last.status, steps=ended, undoable=undoable)


def _was_active(member: Member, records: Sequence[LineRecord]) -> bool:
    if member.status == ACTIVE:
        return True
    states = [state for record in records for state in (record.before, record.after) if state is not None]
    return not states or any(state["status"] == ACTIVE for state in states)


def _list_versions(member: Member, records: Sequence[LineRecord], read_text: Callable[[Snapshot], Any]) -> list[Step]:
    """What a memory has said one after the other while it was active, as far as it is kept; what it says now last."""
    first = Step(member.id, member.text, member.made_at, None, member.session_id, member.message_id)
    versions: list[Step] = []
    for record in records:
        # What was undone, and its undoing, are as if nothing had happened.
        if record.undone or record.action == UNDO or record.after is None or record.after["status"] != ACTIVE:
            continue
        text = read_text(record.after)
        if versions and text == versions[-1].text:
            continue
        if not versions and record.before is not None and record.before["status"] == ACTIVE:
            earlier = read_text(record.before)  # how it began is not recorded
            if earlier == text:
                continue
            versions.append(replace(first, text=earlier))
        version = replace(first, text=text)
        if versions:
            version = replace(
                version, since=record.created_at, session_id=record.session_id, message_id=record.message_id
            )
        versions.append(version)
    if not versions or versions[-1].text != member.text:
        # Emptied records, or none at all: only what stands in it now is known.
        return [first]
    return versions


def _order(versions: Sequence[Sequence[Step]], by_id: Mapping[UUID, Member]) -> list[Step]:
    """All versions by time; what took the place of a memory comes after it, whatever their times say."""
    depths = {steps[0].memory_id: _measure_depth(steps[0].memory_id, by_id) for steps in versions}
    latest: dict[UUID, datetime] = {}
    placed: list[tuple[datetime, int, int, Step]] = []
    for steps in sorted(versions, key=lambda steps: -depths[steps[0].memory_id]):
        memory_id = steps[0].memory_id
        for number, step in enumerate(steps):
            is_last = number == len(steps) - 1
            time = max(step.since, latest.get(memory_id, step.since)) if is_last else step.since
            placed.append((time, -depths[memory_id], number, step))
        successor = by_id[memory_id].superseded_by
        if successor in by_id:
            assert successor is not None
            latest[successor] = max(time, latest.get(successor, time))
    return [step for *_place, step in sorted(placed, key=lambda place: place[:3])]


def _measure_depth(memory_id: UUID, by_id: Mapping[UUID, Member]) -> int:
    depth, seen = 0, {memory_id}
    successor = by_id[memory_id].superseded_by
    while successor in by_id and successor not in seen:
        assert successor is not None
        seen.add(successor)
        depth, successor = depth + 1, by_id[successor].superseded_by
    return depth


def _end(step: Step, later: Sequence[Step], by_id: Mapping[UUID, Member]) -> Step:
    """The step with its end: when the next version of it, or what took its place, began."""
    member = by_id[step.memory_id]
    following = next((other for other in later if other.memory_id in (member.id, member.superseded_by)), None)
    if following is not None:
        return replace(step, until=max(step.since, following.since))
    return step if member.status == ACTIVE else replace(step, until=max(step.since, member.ended_at))


def _find_undoable(records: Sequence[LineRecord], step: Step) -> UUID | None:
    """The operation that last changed what the last memory says or whether it holds, unless more happened since."""
    last = records[-1] if records else None
    if last is None or last.undone or last.after is None or last.action == UNDO:
        return None
    before = last.before or {}
    is_about_it = last.before is None or any(before[name] != last.after[name] for name in before if name in _SAYING)
    return last.operation if is_about_it else None


_SAYING = ("key", "value", "content", "status")
