"""Deciding what of a model's proposals is done, what waits for its owner, and what is dropped (D1, D2). Pure.

Nothing that a run does by itself makes a text active that was not: it ends memories in favour of others, and says of
plans that they are over. Every text that the model wrote waits for its owner, and so does what ends their own words.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from apps.core.text.clean import clean_text
from apps.core.text.fold import normalize_value
from apps.core.text.grounding import is_grounded
from apps.core.text.instructions import is_instruction
from apps.core.text.secrets import find_secret, mask_secrets
from apps.core.text.sentences import cut_at_sentence
from apps.memory.judge.types import Reason
from apps.tidying.prompt import MAX_REASON, Action, ProposedChange, ReadMemory

# Memories that have to show a pattern, at least.
PATTERN_FROM = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What is to be done. `targets`: the memories that end, or show a pattern; `keep`: what takes their place.

    `text`: what waits, "" for a decision that has no text of its own. `waits`: why it waits for its owner, None for
    what is done at once.
    """

    action: Action
    targets: tuple[ReadMemory, ...]
    keep: ReadMemory | None = None
    text: str = ""
    reason: str = ""
    waits: Reason | None = None


# What was proposed before and is not proposed again: the memories that it named.
Proposed = Collection[frozenset[UUID]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What decisions depend on besides the memories. `is_related`: whether two are about the same.

    `said`: what active, pending and rejected memories say, normalised (`normalize_value`).
    """

    is_related: Callable[[ReadMemory, ReadMemory], bool]
    proposed: Proposed = ()
    said: Collection[str] = ()
    threshold: float = 0.0
    max_length: int = 500
    now: datetime


@dataclass(slots=True)
class _Progress:
    """What earlier changes of the same run have taken: no memory ends twice, and none that has ended is kept."""

    ended: set[UUID] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)


class Decider:
    """Decides about answer after answer of one run."""

    def __init__(self, situation: Situation) -> None:
        self._situation, self._progress = situation, _Progress(texts=set(situation.said))

    def decide(self, changes: Sequence[ProposedChange], shown: Sequence[ReadMemory]) -> list[Decision]:
        """Return the decisions on the changes that a model proposed for the memories `shown`, numbered from 1."""
        return list(self._decide(changes, shown))

    def _decide(self, changes: Sequence[ProposedChange], shown: Sequence[ReadMemory]) -> Iterator[Decision]:
        numbered = dict(enumerate(shown, start=1))
        for change in changes:
            named = [numbered[number] for number in change.memories if number in numbered]
            if len(named) < len(change.memories) or any(memory.id in self._progress.ended for memory in named):
                continue
            keep = numbered.get(change.keep or 0)
            decision = self._read(change, named, keep)
            if decision is None or _name(decision) in self._situation.proposed:
                continue
            if decision.action is not Action.PATTERN:
                self._progress.ended |= {memory.id for memory in decision.targets}
            if decision.text:
                self._progress.texts.add(normalize_value(decision.text))
            yield decision

    def _read(self, change: ProposedChange, named: Sequence[ReadMemory], keep: ReadMemory | None) -> Decision | None:
        match change.action:
            case Action.PATTERN:
                return self._derive(change, named)
            case Action.END:
                return self._end(change, named)
            case Action.MERGE if keep is None and change.text:
                return self._join(change, named)
            case _:
                return self._replace(change, named, keep)

    def _replace(self, change: ProposedChange, named: Sequence[ReadMemory], keep: ReadMemory | None) -> Decision | None:
        """A merge into one of the memories, or the end of what a later one makes untrue."""
        if keep is None or keep.id in self._progress.ended:
            return None
        targets = [memory for memory in named if memory.id != keep.id]
        is_merge = change.action is Action.MERGE
        if not targets or any(memory.fixed or not _may_end(memory, keep, is_merge=is_merge) for memory in targets):
            return None
        waits = self._find_wait(change, targets)
        if waits is None and not all(self._situation.is_related(memory, keep) for memory in targets):
            waits = Reason.UNCERTAIN
        return Decision(
            action=change.action, targets=tuple(targets), keep=keep, reason=_clean(change.reason), waits=waits
        )

    def _end(self, change: ProposedChange, named: Sequence[ReadMemory]) -> Decision | None:
        now = self._situation.now
        if any(memory.fixed or (memory.ends_at is not None and memory.ends_at > now) for memory in named):
            return None
        waits = self._find_wait(change, named)
        if waits is None and any(memory.ends_at is None for memory in named):
            waits = Reason.UNCERTAIN
        return Decision(action=Action.END, targets=tuple(named), reason=_clean(change.reason), waits=waits)

    def _join(self, change: ProposedChange, named: Sequence[ReadMemory]) -> Decision | None:
        """Several memories as one new statement."""
        text, first = self._read_text(change, named), named[0]
        if text is None or len(named) < 2:
            return None
        if any(memory.fixed or not _may_end(memory, first, is_merge=True) for memory in named):
            return None
        return Decision(
            action=Action.MERGE,
            targets=tuple(named),
            text=text,
            reason=_clean(change.reason),
            waits=Reason.INSTRUCTION if is_instruction(text) else Reason.DERIVED,
        )

    def _derive(self, change: ProposedChange, named: Sequence[ReadMemory]) -> Decision | None:
        text = self._read_text(change, named)
        if text is None or len(named) < PATTERN_FROM or any(memory.by_assistant for memory in named):
            return None
        if len({memory.space_id for memory in named}) > 1:
            return None
        return Decision(
            action=Action.PATTERN,
            targets=tuple(named),
            text=text,
            waits=Reason.INSTRUCTION if is_instruction(text) else Reason.DERIVED,
        )

    def _read_text(self, change: ProposedChange, named: Sequence[ReadMemory]) -> str | None:
        """A text of the model's that rests on the memories it names, and that nothing says or said before."""
        text = cut_at_sentence(clean_text(change.text or "").strip(), self._situation.max_length)
        if not text or find_secret(text) or not is_grounded(text, said="\n".join(memory.text for memory in named)):
            return None
        return None if normalize_value(text) in self._progress.texts else text

    def _find_wait(self, change: ProposedChange, targets: Sequence[ReadMemory]) -> Reason | None:
        if any(memory.by_owner for memory in targets):
            return Reason.BY_OWNER
        return Reason.UNSURE if change.confidence < self._situation.threshold else None


def _may_end(memory: ReadMemory, keep: ReadMemory, *, is_merge: bool) -> bool:
    """Whether one memory may end for another: within a space, and never the person's words for the assistant's (A6)."""
    if memory.space_id != keep.space_id or (keep.by_assistant and not memory.by_assistant):
        return False
    if not is_merge:
        return memory.said_at < keep.said_at
    days = {one.event.date() for one in (memory, keep) if one.event}
    return memory.kind is keep.kind and memory.by_assistant is keep.by_assistant and len(days) < 2


def _name(decision: Decision) -> frozenset[UUID]:
    """The memories by which a decision that waits is known again; of what is done at once, nothing."""
    return frozenset(memory.id for memory in decision.targets) if decision.waits else frozenset()


def _clean(reason: str) -> str:
    return mask_secrets(clean_text(" ".join(reason.split())))[:MAX_REASON]
