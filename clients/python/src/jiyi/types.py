"""What the API answers, as plain values.

IDs are UUIDs in text, times are aware `datetime` values. Fields that a newer server adds are left out; a field without
which a value makes no sense has to be there (`jiyi.errors.UnexpectedAnswer`). The IDs in brackets are those of the
server's specification.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

T = TypeVar("T")

Category = Literal["preference", "fact", "pattern"]
Source = Literal["user_stated", "inferred", "system"]
AtomicSource = Literal["user_stated", "assistant"]
Sensitive = Literal["health", "faith", "sex", "money", "minors"]
MemoryStatus = Literal["active", "pending", "rejected", "superseded", "evicted"]
Mode = Literal["replace", "add", "remove"]
MemoryKind = Literal["long_term", "atomic"]
Role = Literal["user", "assistant", "summary"]
MessageStatus = Literal["pending", "complete", "failed", "replaced"]
MemoryAction = Literal["created", "superseded", "refreshed", "pending"]
PausedBy = Literal["everywhere", "space", "session", "request"]
CommandKind = Literal["remember", "forget"]
CommandStatus = Literal[
    "stored", "known", "waiting", "left_out", "forgotten", "not_found", "undone", "paused", "secret"
]
SecretKind = Literal[
    "api_key", "token", "password", "pin", "code", "private_key", "recovery_phrase", "card", "bank_account", "identity"
]
ToolOutcome = Literal["ok", "invalid", "not_found", "too_large", "unknown_tool", "repeated", "too_many", "failed"]
CopyKind = Literal["long_term", "atomic", "working", "topic", "profile", "summary", "title", "context"]
ChangeKind = Literal["long_term", "atomic", "profile", "proposal", "summary", "context", "entry"]
ChangeAction = Literal[
    "create",
    "edit",
    "refresh",
    "accept",
    "reject",
    "supersede",
    "merge",
    "import",
    "evict",
    "mute",
    "move",
    "undo",
    "delete",
]
SpaceKind = Literal["project", "assistant", "character"]
LearnsTo = Literal["space", "everywhere"]
ImportFormat = Literal[
    "chatgpt", "claude", "gemini", "grok", "deepseek", "openwebui", "librechat", "lobehub", "sillytavern",
    "mem0", "letta", "zep", "text", "plain", "jiyi",
]  # fmt: skip
ImportState = Literal["queued", "reading", "running", "done", "cancelled", "failed", "undoing", "undone"]
ImportItemKind = Literal["conversation", "memory", "other"]
ImportItemState = Literal["waiting", "imported", "skipped", "failed"]
WebhookEvent = Literal["memory.changed", "review.waiting", "person.erased"]
Origin = Literal["turn", "extraction", "api", "panel", "command", "life_cycle", "tidying"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """One page of a list; iterating it yields its results. `next` and `previous` are URLs."""

    count: int
    next: str | None
    previous: str | None
    results: list[T]

    def __iter__(self) -> Iterator[T]:
        return iter(self.results)


# Conversations


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A conversation. A temporary one reads and writes no memory (C7). `model`: "" for the default one.

    `space`: the ID of the one it is in, None for none (P1). `paused`: nothing new is remembered from it; `paused_by`:
    what pauses remembering there now, None for nothing (D5).
    """

    id: str
    title: str
    created_at: datetime
    last_active_at: datetime
    temporary: bool
    paused: bool = False
    paused_by: PausedBy | None
    space: str | None
    pinned: bool
    archived: bool
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """A chat model that a session can be set to. `server`: "" for the model of the environment."""

    name: str
    server: str
    default: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message, or the summary of several (C1, S4). `paused_by`: what paused remembering when it was said (D5)."""

    id: str
    session_id: str
    role: Role
    content: str
    create_time: datetime
    is_collected: bool
    emotion: str | None
    status: MessageStatus
    summarized_by: str | None
    paused_by: PausedBy | None
    stopped: bool
    not_remembered: list[Sensitive]
    secrets: list[SecretKind]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionExport(Session):
    """A session with everything that was said in it; `replaced`: what was edited or answered anew."""

    session: str
    exported_at: datetime
    messages: list[Message]
    replaced: list[Message]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """An edited message, and how many messages and changes of memories undoing the edit brings back."""

    message_id: str
    messages: int
    memories: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file of a session; `message_id` is that of the message it was sent with, None until then."""

    id: str
    name: str
    characters: int
    message_id: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFigures:
    """How much a reply recalled and remembered; `message_id` is the reply's."""

    message_id: str
    recalled: int
    remembered: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """How many messages and changes of memories undoing an edit brought back."""

    messages: int
    memories: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Emotion:
    """The emotion detected in a message; `confidence` is from 0 to 1 (E1)."""

    primary: str
    category: str
    confidence: float
    indicators: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """How the reply was asked to be; `max_length` is in characters and a guideline (E2)."""

    emotion: str
    tone: str
    max_length: int
    use_memory: bool
    proactive_question: bool
    formality: Literal["casual", "formal"]
    emoji_allowed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUsed:
    """A memory or a past message that was in the prompt of a reply, and why.

    Only atomic memories have `parts`, unless their turn was stored before there were any; only long-term memories have
    the fields after it, and only past messages the last four.
    """

    id: str
    kind: Literal["long_term", "atomic", "message"]
    text: str
    score: float
    keyword_score: float
    semantic_score: float
    parts: dict[str, float] | None = None
    category_boost: float | None = None
    recency_score: float | None = None
    frequency_score: float | None = None
    confidence: float | None = None
    topic_boost: float | None = None
    message_id: str | None = None
    session_id: str | None = None
    role: Literal["user", "assistant"] | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUpdate:
    """What a turn stored in long-term memory (L2)."""

    id: str
    action: MemoryAction
    category: str | None
    key: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A memory that a request to forget may have meant."""

    id: str
    kind: MemoryKind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What a message told the memory to do ("remember …", "forget …"), and what was done (L9)."""

    kind: CommandKind
    status: CommandStatus
    texts: list[str]
    operation: str | None
    memory_ids: list[str]
    unclear: list[Candidate]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMemory:
    """A memory that a search of the model found."""

    id: str
    kind: MemoryKind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedTimes:
    """From when to when the model searched: ISO 8601, as it wrote them."""

    since: str | None
    until: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool that the model called before it replied (T1, X2); `name` is None for one that does not exist.

    `keyword` is None unless it consists of words of the message. `message_ids`: of past conversations. `context_id`:
    of a shared context.
    """

    name: str | None
    outcome: ToolOutcome
    keyword: str | None
    time_range: SearchedTimes | None
    memories: list[FoundMemory]
    message_ids: list[str]
    context_id: str | None
    left_out: int
    duration_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingMemory:
    """What a live session is about (W1); it expires when the session is idle."""

    session_id: str
    current_topic: str | None
    context_variables: dict[str, Any]
    turn_count: int
    last_emotion: str | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyMetadata:
    """What the turn remembered, if the setting `memory.remembered_feedback` is on."""

    remembered: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A message and its reply, with what was recalled for it and what was remembered of it.

    `paused_by`: what paused remembering, None for nothing (D5).
    """

    user_message: Message | None
    assistant_message: Message
    emotion: Emotion | None
    strategy: Strategy | None
    paused_by: PausedBy | None
    memories_used: list[MemoryUsed]
    memory_updates: list[MemoryUpdate]
    commands: list[Command]
    tool_calls: list[ToolCall]
    working_memory: WorkingMemory | None
    metadata: ReplyMetadata | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The first event of a streamed turn: the message is stored."""

    user_message: Message | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """The next piece of a streamed reply; the pieces joined are the stored reply."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The last event of a streamed turn: the reply is stored."""

    turn: Turn


TurnEvent = Started | Delta | Done


@dataclass(frozen=True, slots=True, kw_only=True)
class FormReply:
    """The reply to a form; `key` is its name among the context variables (H1)."""

    key: str
    working_memory: WorkingMemory
    paused_by: PausedBy | None
    assistant_message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer of a prompt (C4)."""

    index: int
    name: str
    content: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The prompt that a message would get."""

    layers: list[Layer]
    total_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationMatch:
    """A message found by its meaning; `similarity` is the cosine, at most 1 (V5)."""

    content: str
    similarity: float
    created_at: datetime
    chat_id: str
    space: str | None
    message_type: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A message that a search found. `ranges`: start and end of each match in the excerpt, in characters."""

    id: str
    role: Literal["user", "assistant"]
    create_time: datetime
    excerpt: str
    ranges: list[list[int]]
    found_by: Literal["words", "meaning"]
    similarity: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSession:
    """A session that a search found, with its best messages; none if only its title has the words."""

    session: Session
    title_ranges: list[list[int]]
    messages: list[Hit]


# Memories


@dataclass(frozen=True, slots=True, kw_only=True)
class LongTermMemory:
    """An attribute remembered across sessions, `key: value` (L1)."""

    id: str
    session_id: str | None
    message_id: str | None
    space: str | None
    category: Category
    key: str
    value: Any
    confidence: float
    source: Source
    status: MemoryStatus
    mode: Mode
    superseded_by: str | None
    muted: bool
    valid_until: datetime | None
    sensitive: list[Sensitive]
    created_at: datetime
    updated_at: datetime
    last_accessed: datetime
    access_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredMemory:
    """A long-term memory with every component of its score (K5)."""

    memory: LongTermMemory
    score: float
    keyword_score: float
    semantic_score: float
    category_boost: float
    recency_score: float
    frequency_score: float
    confidence: float
    topic_boost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AtomicMemory:
    """A self-contained statement out of a conversation (A1)."""

    id: str
    session_id: str | None
    message_id: str | None
    space: str | None
    content: str
    source: AtomicSource
    tags: list[str]
    timestamp: datetime
    event_start: datetime | None
    event_end: datetime | None
    status: MemoryStatus
    superseded_by: str | None
    muted: bool
    valid_until: datetime | None
    sensitive: list[Sensitive]
    create_time: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredAtomic:
    """An atomic memory with its score, comparable within one answer only (A4), and the `parts` that add up to it."""

    memory: AtomicMemory
    score: float
    keyword_score: float
    semantic_score: float
    parts: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCopy:
    """Another place that holds the text of a memory (L6)."""

    kind: CopyKind
    id: str
    field: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDeleted:
    """The number of deleted memories, and the IDs that were not found."""

    deleted: int
    missing: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRowError:
    """Why a row of a file cannot be imported, by field; rows are counted from 1."""

    row: int
    reasons: dict[str, list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """The numbers of created, changed and unchanged memories of an import; `refused`: rows that hold a secret."""

    created: int
    updated: int
    skipped: int
    refused: list[ImportedRowError]
    errors: list[ImportedRowError]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextEntry:
    """An addition to a shared context."""

    id: str
    author: str
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedContext:
    """Key information of a case that several agents share (X1)."""

    id: str
    session_id: str | None
    space: str | None
    title: str
    content: str
    entries: list[ContextEntry]
    created_at: datetime
    updated_at: datetime


# Spaces


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """A project, an assistant or a character with memories of its own (P1); `sessions`, `memories`: how many it has.

    `paused`: nothing new is remembered from what is said in its sessions (D5).
    """

    id: str
    name: str
    kind: SpaceKind
    instructions: str
    learns_to: LearnsTo
    archived: bool
    paused: bool = False
    created_at: datetime
    sessions: int
    memories: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedSpace:
    """What became of a space and of what was in it, by kind. `verified`: nothing was left there."""

    deleted: int
    moved: dict[str, int]
    erased: dict[str, int]
    verified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """How many memories moved, and by which operation, None if none did; `taken`: those that stay where they are."""

    moved: int
    taken: list[str]
    operation: str | None


# The person


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileProposal:
    """A change that the assistant proposes for a section that its owner has edited."""

    id: str
    section: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The profile document (U1). Without one, the texts are empty and `version` is 0."""

    reply_style: str
    language_habits: str
    background: str
    sections: dict[str, str]
    version: int
    updated_at: datetime | None
    proposals: list[ProfileProposal]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """The summary of a session (S1)."""

    id: str
    session_id: str
    space: str | None
    title: str
    snippet: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One record of the audit history; those of one `operation` are undone together (L7)."""

    operation: str
    object_id: str
    kind: ChangeKind
    action: ChangeAction
    origin: Origin
    actor: str | None
    space: str | None
    message_id: str | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    reason: str
    undone_by: str | None
    can_be_undone: bool
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Tidying:
    """A run that tidied up memories (D2). `shown`: how many the model saw. `error`: why it failed, as a code.

    `seen_at`: when its person saw what it did.
    """

    id: str
    state: Literal["waiting", "done", "failed"]
    by_hand: bool
    shown: int
    operations: list[str]
    proposals: list[str]
    error: str
    created_at: datetime
    finished_at: datetime | None
    seen_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldTidying(Tidying):
    """A run with its changes, newest first: before, after, and the reason of each."""

    changes: list[Change]


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoneTidying:
    """What undoing a run did. `kept`: operations that stay, as something has changed since."""

    operation: str | None
    undone: int
    kept: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """An address to which signed events are sent. `failing_since`: None while the last event arrived.

    `last_result`: the status of its answer, or why there was none.
    """

    id: str
    url: str
    events: list[WebhookEvent]
    space: str | None
    enabled: bool
    failing_since: datetime | None
    last_result: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookWithSecret(Webhook):
    """A webhook with its secret, which is shown once."""

    secret: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """An event for a webhook. `due_at`: when it is sent next; None once it arrived or was given up."""

    id: str
    event: str
    attempts: int
    result: str
    due_at: datetime | None
    delivered_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CostSum:
    """What calls of models came to on a day, for a job. `cost`: by today's prices, in the currency of `Costs`."""

    day: str
    job: Literal["reply", "tool_round", "extraction", "summary", "embedding", "tidying"]
    calls: int
    estimated_calls: int
    tokens_in: int
    tokens_cached: int
    tokens_out: int
    seconds: float
    cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthlyBudget:
    """How the person stands this month; `paused`: background work waits."""

    amount: float | None
    spent: float
    paused: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What models cost, what memory cost apart from replies."""

    currency: str
    memory_cost: float
    reply_cost: float
    budget: MonthlyBudget
    sums: list[CostSum]


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What an erasure deleted, by table, and whether reading back found nothing left (R3)."""

    deleted: dict[str, int]
    verified: bool


# Imports


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """Numbers of conversations, messages and memories."""

    conversations: int
    messages: int
    memories: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationSample:
    """A conversation in a file, and the first thing that was said in it by the user."""

    title: str
    said: str
    messages: int
    started_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Omission:
    """Something in a file that is not imported, `count` times."""

    reason: str
    label: str
    detail: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a file holds.

    `ended`: memories that no longer hold. `rows`: of an export of everything, by table. `left_out`: how much is not
    imported, by reason. `problem`: why the file cannot be read to its end, or that it is not all there is.
    `unlearned`: conversations that are kept for reading only. `proposals`: texts that are proposed for the profile.
    """

    format: ImportFormat
    found: Amounts
    ended: int
    rows: dict[str, int]
    left_out: dict[str, int]
    first: datetime | None
    last: datetime | None
    problem: str
    conversations: list[ConversationSample]
    memories: list[str]
    examples: list[Omission]
    unlearned: int = 0
    proposals: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredTable:
    """Rows of a table that were restored or left out."""

    restored: int
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """What undoing an import has removed so far; `kept`: what was changed since, and stays."""

    sessions: int
    operations: int
    kept: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a file holds and what was imported of it so far; what is not known yet is None."""

    found: Amounts | None = None
    left_out: dict[str, int] | None = None
    first: datetime | None = None
    last: datetime | None = None
    imported: Amounts | None = None
    skipped: dict[str, int] | None = None
    failed: int | None = None
    unlearned: int | None = None
    proposals: int | None = None
    tables: dict[str, RestoredTable] | None = None
    undone: Undone | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PastImport:
    """An import of a file. `done` of `total` items are dealt with; `total` is 0 until the file is read."""

    id: str
    format: ImportFormat
    file_name: str
    size: int
    state: ImportState
    problem: str
    total: int
    done: int
    report: Report
    can_undo: bool
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportItem:
    """A conversation, a memory, or what was left out. `count`: of a conversation, the messages that were stored."""

    number: int
    kind: ImportItemKind
    state: ImportItemState
    label: str
    reason: str
    detail: str
    count: int
    session_id: str | None
    memory_id: str | None
