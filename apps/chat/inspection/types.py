"""A past turn's prompt as it can be rebuilt today (M6): plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from apps.core.llm.types import PromptMessage
from apps.memory.selectors import WorkingMemoryState


class State(StrEnum):
    """What has become of something since it was put before the model."""

    SAME = "same"
    EDITED = "edited"
    DELETED = "deleted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing that stood in a layer, or was cut: its text then, and now where that is another.

    `kind` is one of `CutKind`, or "working". `status`: of a memory, what it is now.
    """

    kind: str
    id: str
    state: State
    then: str
    now: str
    status: str = ""


@dataclass(frozen=True, slots=True)
class CutPieces:
    """Something the token budget left out; `pieces` is empty for a variable, which is kept by number only."""

    kind: str
    tokens: int
    pieces: Sequence[Piece]


@dataclass(frozen=True, slots=True)
class RebuiltLayer:
    """A layer as it can be rebuilt. `tokens` is what it took then.

    `exact`: whether it is letter for letter what was sent; None where no digest was kept.
    """

    index: int
    name: str
    tokens: int
    content: str
    exact: bool | None
    pieces: Sequence[Piece]


@dataclass(frozen=True, slots=True)
class RebuiltCall:
    """A tool that the model called (T1, X2). `pieces`: what it found, read, made or added to, as it was and is.

    `keyword` None: it was not kept, as it had other words than the message. `ms`: how long it ran.
    """

    name: str
    outcome: str
    keyword: str | None
    since: str | None
    until: str | None
    left_out: int
    ms: float
    pieces: Sequence[Piece]


@dataclass(frozen=True, slots=True)
class RebuiltPrompt:
    """The whole prompt. `recorded`: whether the turn kept the revisions of what it was made from; turns from before
    that was so are rebuilt from what there is now.

    `sent` False: the turn composed its reply itself and asked no model.

    `settings`: those that were not at their default. `budget` in tokens, None where it was not kept. `working`: topic
    and variables as the turn found them. `calls`: of tools; what they returned stood in the requests after the first.
    """

    layers: Sequence[RebuiltLayer]
    messages: Sequence[PromptMessage]
    cut: Sequence[CutPieces]
    read_at: datetime
    recorded: bool
    budget: int | None
    settings: Mapping[str, object]
    working: WorkingMemoryState | None = None
    sent: bool = True
    calls: Sequence[RebuiltCall] = ()

    @property
    def exact(self) -> bool | None:
        """Whether all of it is what was sent; None where that is not known of some layer."""
        known = [layer.exact for layer in self.layers]
        if False in known:
            return False
        return None if None in known else True

    @property
    def total_tokens(self) -> int:
        return sum(layer.tokens for layer in self.layers)

    @property
    def cut_tokens(self) -> int:
        return sum(cut.tokens for cut in self.cut)
