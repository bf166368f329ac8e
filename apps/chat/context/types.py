"""What goes into the context of a turn and what comes out: plain values, no Django."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Any

from apps.accounts.types import Sensitive
from apps.chat.emotions import ReplyStrategy
from apps.conversations.types import Line, Round, SentFile
from apps.core.llm.types import PromptMessage

# C4, by index.
LAYER_NAMES = (
    "system",
    "user_profile",
    "working_memory",
    "memories",
    "session_summaries",
    "conversation",
    "message",
)


# What layer 3 holds: the two kinds of memory, and past rounds by what the person said.
LONG_TERM, ATOMIC, MESSAGE = "long_term", "atomic", "message"


@dataclass(frozen=True, slots=True)
class RecalledMemory:
    """A memory or a past round as layer 3 shows it; `line` is what the prompt says of it.

    `components` of its score; those of an atomic memory have the ``parts`` that it is the sum of, those of a past round
    where and when it was said (A5).
    """

    id: str
    kind: str
    text: str
    line: Mapping[str, Any]
    score: float
    components: Mapping[str, Any]

    def to_wire(self) -> dict[str, Any]:
        """Return it as an item of `memories_used`."""
        return {"id": self.id, "kind": self.kind, "text": self.text, "score": self.score, **self.components}


@dataclass(frozen=True, slots=True)
class Form:
    """A submitted form (H1)."""

    title: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Profile:
    """The person's profile document (U2): its sections by name, in the order in which they are shown."""

    version: int
    sections: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CaseNotes:
    """A shared context of this session (X1): the background of a case, and what was added to it since."""

    id: str
    title: str
    content: str
    entries: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class SessionNote:
    """The summary of another session (S2)."""

    id: str
    title: str
    snippet: str
    day: date


@dataclass(frozen=True, slots=True)
class ClientLine:
    """One message of a client's history; `id` of the stored one, None where it is not stored."""

    id: uuid.UUID | None
    role: str
    content: str


@dataclass(frozen=True, slots=True)
class ClientPrompt:
    """What a client of the OpenAI-compatible endpoint brings along (T3).

    `instructions`: its system messages. `history`: its messages before the new one, in place of layer 5; None where it
    sends only the new one. `relayed`: the answer goes back as the model writes it, and nothing is asked of its form.
    """

    instructions: str = ""
    history: Sequence[ClientLine] | None = None
    relayed: bool = False


@dataclass(frozen=True, slots=True)
class ContextInput:
    """Everything a turn may put before the model, before the token budget.

    `message` is the new one; `submitted` a form sent in its place (H2). `now` is in the person's time zone. `summary`
    is that of this conversation's earlier messages (S5). Of `cases` and `session_notes` the first matter most. `files`:
    what was attached, newest first; they have a budget of their own, as large as `budget`. `actions`: what the message
    told the memory to do, by outcome (L9). `temporary`: nothing is kept, and the prompt says so (C7). `paused_by`:
    what pauses remembering, as the prompt says, too (D5). `everything`: `memories` are all there are, as the message
    asks for them. `tools`: names of those that the model may call (T1).
    `guarded`: the sensitive categories that are not simply remembered (D4).
    `instructions`: those of the space that the session is in (P1). They and what `client` brings are never trimmed and
    take nothing of the budget. `masked`: secrets are masked in all but the new message, a form in its place, files and
    what `client` brings (D4). `budget` is in tokens; `context_limit` in messages (C3).
    """

    message: str
    now: datetime
    budget: int
    context_limit: int
    strategy: ReplyStrategy | None
    emotions: Sequence[str] = ()
    topic: str | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)
    forms: Sequence[Form] = ()
    submitted: Form | None = None
    files: Sequence[SentFile] = ()
    actions: Mapping[str, Any] = field(default_factory=dict)
    profile: Profile | None = None
    cases: Sequence[CaseNotes] = ()
    memories: Sequence[RecalledMemory] = ()
    everything: bool = False
    temporary: bool = False
    paused_by: str = ""
    tools: Sequence[str] = ()
    guarded: Sequence[Sensitive] = ()
    session_notes: Sequence[SessionNote] = ()
    summary: Line | None = None
    rounds: Sequence[Round] = ()
    instructions: str = ""
    client: ClientPrompt | None = None
    masked: bool = False

    @property
    def relayed(self) -> bool:
        """Whether the answer goes back to a client as the model writes it (T3)."""
        return self.client is not None and self.client.relayed

    @property
    def application(self) -> str:
        """The instructions of the space, then those of the client."""
        return "\n\n".join(filter(None, (self.instructions, self.client.instructions if self.client else "")))


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer as the model gets it (C4). `refs` name what is in it, so that it can be found again (M6)."""

    index: int
    name: str
    content: str
    tokens: int
    refs: tuple[str, ...] = ()


class CutKind(StrEnum):
    """What the token budget can leave out (C4)."""

    MESSAGES = "messages"
    SESSION_SUMMARY = "session_summary"
    LONG_TERM = "long_term"
    ATOMIC = "atomic"
    MESSAGE = "message"
    CONVERSATION_SUMMARY = "conversation_summary"
    CONTEXT = "context"
    VARIABLE = "variable"
    PROFILE = "profile"


@dataclass(frozen=True, slots=True)
class Cut:
    """Something the token budget left out, by reference: a round by its messages, a variable by nothing."""

    kind: CutKind
    tokens: int
    refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """The context of one turn: what to send, what was in it (`given`, after trimming), and what was cut, in order.

    `block`: what stands before the person's words in the last of `messages`.
    """

    layers: tuple[Layer, ...]
    messages: tuple[PromptMessage, ...]
    given: ContextInput
    cut: tuple[Cut, ...] = ()
    block: str = ""

    @property
    def memories(self) -> tuple[RecalledMemory, ...]:
        return tuple(self.given.memories)

    @property
    def rounds(self) -> tuple[Round, ...]:
        return tuple(self.given.rounds)

    @property
    def total_tokens(self) -> int:
        return sum(layer.tokens for layer in self.layers)
