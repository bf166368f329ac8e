"""Every tool with which a model uses a person's memory, in one table: those of chat (T1, X2) and those of MCP.

A door offers what `list_tools` gives it, as far as the caller's scopes allow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.db import transaction
from pydantic import Field

from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from apps.accounts.spaces import find_space, list_spaces
from apps.accounts.types import Handling, Scope, Sensitive
from apps.chat.context.read import say_memory
from apps.chat.search_tools import read_conversation, search, search_conversations
from apps.chat.tools import Arguments, Caller, Door, Result, Tags, Tool, read_time
from apps.core.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.core.text.fold import normalize_key
from apps.memory import contexts
from apps.memory.contexts import MAX_AUTHOR_CHARACTERS, get_context
from apps.memory.deletion import delete_memories, list_copies
from apps.memory.entries import create_memory, record_entries
from apps.memory.judge.types import JudgedStatement, Said
from apps.memory.judge.verdicts import record_verdicts
from apps.memory.keyed import Mode
from apps.memory.kinds import ATOMIC, LONG_TERM
from apps.memory.lifecycle import create_atomic_memory, mute_memories, update_memory
from apps.memory.models import AtomicMemory, LongTermMemory, SharedContext, Source, Status
from apps.memory.spaces import move_memories
from apps.memory.validation import MAX_CONTENT_CHARACTERS, Proposal
from apps.profile.services import get_user_profile
from apps.summaries.services import get_recent_session_summaries


class NoArguments(Arguments):
    """A tool without arguments."""


# Keeping and changing memories

VALID_UNTIL_HELP = (
    "For what holds for a while only: ISO 8601 date (all of that day) or time until which it does. After it, it is "
    "kept but not recalled."
)

SENSITIVE_HELP = (
    "Which of these kinds it tells something about, if any. What the person excluded is refused, and what they want to "
    "review waits for them."
)

CategoryName = Literal["preference", "fact", "pattern"]


class MemoryResult(Result):
    """A memory of either kind. A long-term one has a key and a value, an atomic one tags; `text` is what it says."""

    id: UUID
    kind: Literal["long_term", "atomic"]
    text: str
    key: str | None
    value: Any = Field(description="The value of a long-term memory: text, or any JSON.")
    category: CategoryName | None
    tags: list[str]
    status: str
    muted: bool
    valid_until: datetime | None
    sensitive: list[Sensitive]
    created_at: datetime
    updated_at: datetime


def describe_memory(memory: LongTermMemory | AtomicMemory) -> MemoryResult:
    """Return a memory of either kind as tools and resources show it."""
    own: dict[str, Any] = {"key": None, "value": None, "category": None, "tags": []}
    if isinstance(memory, AtomicMemory):
        own |= {"kind": "atomic", "tags": memory.tags, "created_at": memory.create_time}
    else:
        own |= {"kind": "long_term", "created_at": memory.created_at}
        own |= {name: getattr(memory, name) for name in ("key", "value", "category")}
    names = ("id", "status", "muted", "valid_until", "sensitive", "updated_at")
    common = {name: getattr(memory, name) for name in names}
    return MemoryResult(text=say_memory(memory), **common, **own)


def get_memory(user: User, memory_id: UUID, *, to_change: bool = False) -> LongTermMemory | AtomicMemory:
    """Return the person's memory of either kind, of any status; `NotFound` for none and for another person's.

    `to_change`: also for one that is seen, and not changed, from where they look.
    """
    for kind in (LONG_TERM, ATOMIC):
        rows = kind.changeable(user) if to_change else kind.rows(user)
        memory: LongTermMemory | AtomicMemory | None = rows.filter(id=memory_id).first()
        if memory is not None:
            return memory
    raise NotFound("This memory does not exist.")


class AddMemoryArguments(Arguments):
    """What to remember."""

    content: str = Field(
        description="What to remember, in the person's language: self-contained sentences with names and full dates, "
        'such as "Mei moves to York on 2026-06-01." With a key, the value alone, such as "York".'
    )
    key: str | None = Field(
        None,
        description='For a lasting attribute that has one value at a time, its name, such as "home town" or '
        '"reply language". A new value replaces the one before. Leave it out for everything else.',
    )
    category: CategoryName | None = Field(None, description="With a key: what it is. fact, if left out.")
    tags: Tags | None = Field(None, description="Without a key: a few words to group memories by.")
    valid_until: str | None = Field(None, description=VALID_UNTIL_HELP)
    sensitive: list[Sensitive] | None = Field(None, description=SENSITIVE_HELP)


class AddMemoryResult(Result):
    """The memory, and whether it is new (`created`), replaces a value (`superseded`), was known (`refreshed`) or waits
    for the person's review (`pending`).
    """

    action: Literal["created", "superseded", "refreshed", "pending"]
    memory: MemoryResult


def add_memory(caller: Caller, arguments: AddMemoryArguments) -> AddMemoryResult:
    """Keep a memory: with a key a long-term one, else an atomic one. What is known already is not there twice."""
    common: dict[str, Any] = {
        "valid_until": _read_until(caller, arguments.valid_until),
        "sensitive": arguments.sensitive or [],
    }
    waits = _handle(caller, arguments.sensitive) is Handling.REVIEW
    if arguments.key is None:
        _refuse(arguments, "category", because="Only a memory with a key has a category.")
        atomic = {"content": arguments.content, "tags": arguments.tags or [], **common}
        if waits:
            return _propose(caller, atomic=atomic)
        memory, is_new = create_atomic_memory(user=caller.user, now=caller.now, **atomic)
        return AddMemoryResult(action="created" if is_new else "refreshed", memory=describe_memory(memory))
    _refuse(arguments, "tags", because="Only a memory without a key has tags.")
    stated = {"category": arguments.category or "fact", "key": arguments.key, "value": arguments.content, **common}
    if waits:
        return _propose(caller, stated=stated)
    entry, action = create_memory(user=caller.user, now=caller.now, **stated)
    return AddMemoryResult.model_validate({"action": action.value, "memory": describe_memory(entry)})


def _handle(caller: Caller, marks: Sequence[Sensitive] | None) -> Handling:
    """Return how what a model marked is handled (D4); `Forbidden` for what the person excluded."""
    chosen = get_settings(caller.user).sensitive
    handling = chosen.decide(marks or ())
    if handling is Handling.EXCLUDE:
        excluded = [mark.value for mark in chosen.select(Handling.EXCLUDE) if mark in (marks or ())]
        raise Forbidden(f"Not remembered: the person has excluded {' and '.join(excluded)}.")
    return handling


def _propose(
    caller: Caller, *, atomic: Mapping[str, Any] | None = None, stated: Mapping[str, Any] | None = None
) -> AddMemoryResult:
    """Let a memory wait for review. `Conflict` where the same waits, or was turned down or deleted."""
    sensitive = get_settings(caller.user).sensitive
    given: dict[str, Any] = {"user": caller.user, "auto_accept_confidence": 0.0, "sensitive": sensitive}
    if atomic is not None:
        values = ATOMIC.clean(atomic)
        said = Said(None, None, caller.now, values["content"])
        statement = JudgedStatement(source=said, **values)
        length = MAX_CONTENT_CHARACTERS
        rows = record_verdicts(statements=[statement], known=[], max_length=length, now=caller.now, **given)
        found = [row.id for row in rows]
    else:
        values = LONG_TERM.clean(stated or {})
        key = normalize_key(values["key"])
        proposal = Proposal(**values, source=Source.USER_STATED, confidence=1.0, mode=Mode.REPLACE, normalized_key=key)
        given |= {"session_id": None, "message_id": None, "said_at": caller.now, "message_text": ""}
        found = [update.id for update in record_entries(entries=[proposal], now=caller.now, **given)]
    if not found:
        raise Conflict("Not remembered: the same waits for review, or the person turned it down or deleted it.")
    memory = get_memory(caller.user, found[0])
    action = "pending" if memory.status == Status.PENDING else "refreshed"
    return AddMemoryResult.model_validate({"action": action, "memory": describe_memory(memory)})


def _read_until(caller: Caller, given: str | None) -> datetime | None:
    return read_time("valid_until", given, zone=get_settings(caller.user).zone, end=True) if given else None


class UpdateMemoryArguments(Arguments):
    """Which memory, and what to change of it."""

    texts = frozenset({"content"})

    id: UUID = Field(description="The ID of the memory, as search_memories returns it.")
    content: str | None = Field(None, description="The new text; of a long-term memory, the new value.")
    key: str | None = Field(None, description="The new key of a long-term memory.")
    category: CategoryName | None = Field(None, description="The new category of a long-term memory.")
    tags: Tags | None = Field(None, description="The new tags of an atomic memory, in place of those it has.")
    valid_until: str | None = Field(None, description=VALID_UNTIL_HELP)
    sensitive: list[Sensitive] | None = Field(None, description=SENSITIVE_HELP)


def change_memory(caller: Caller, arguments: UpdateMemoryArguments) -> MemoryResult:
    """Change a memory. `NotFound`; `Conflict` where another one says the same, or where it is history."""
    memory = get_memory(caller.user, arguments.id, to_change=True)
    if not arguments.model_dump(exclude={"id"}, exclude_none=True):
        raise InvalidInput("Name at least one of content, key, category, tags, valid_until and sensitive to change.")
    if _handle(caller, arguments.sensitive) is Handling.REVIEW:
        raise Forbidden("Not changed: the person reviews this kind first. add_memory lets it wait for them.")
    is_atomic = isinstance(memory, AtomicMemory)
    for name in ("key", "category") if is_atomic else ("tags",):
        _refuse(arguments, name, because="An atomic memory has none." if is_atomic else "A long-term memory has none.")
    changes: dict[str, Any] = {"content" if is_atomic else "value": arguments.content, "key": arguments.key}
    changes |= {"category": arguments.category, "tags": arguments.tags}
    changes |= {"valid_until": _read_until(caller, arguments.valid_until), "sensitive": arguments.sensitive}
    given = {name: value for name, value in changes.items() if value is not None}
    kind = ATOMIC if is_atomic else LONG_TERM
    return describe_memory(update_memory(kind, user=caller.user, memory_id=memory.id, changes=given, now=caller.now))


def _refuse(arguments: Arguments, name: str, *, because: str) -> None:
    if getattr(arguments, name) is not None:
        raise InvalidInput(f"{name}: {because}", fields={name: [because]})


class DeleteMemoryArguments(Arguments):
    """Which memory to delete."""

    id: UUID = Field(description="The ID of the memory.")
    copies: bool = Field(
        False,
        description="Also delete what else says the same, as far as it is known: other memories, and passages of the "
        "profile, of summaries, shared contexts and running sessions. Ask the person first.",
    )


class CopyResult(Result):
    """Another place that says what a deleted memory said."""

    kind: str
    id: UUID
    text: str


class DeleteMemoryResult(Result):
    """How many memories were deleted, and other places that still say the same."""

    deleted: int
    copies_left: list[CopyResult]


@transaction.atomic
def delete_memory(caller: Caller, arguments: DeleteMemoryArguments) -> DeleteMemoryResult:
    """Delete a memory for good (L6), and list where else its text is unless `copies` are deleted, too."""
    memory = get_memory(caller.user, arguments.id, to_change=True)
    if isinstance(memory, AtomicMemory):
        gone = delete_memories(ATOMIC, user=caller.user, ids=[memory.id], now=caller.now)
        return DeleteMemoryResult(deleted=gone.deleted, copies_left=[])
    copies = [] if arguments.copies else list_copies(caller.user, [memory])
    forgotten = delete_memories(LONG_TERM, user=caller.user, ids=[memory.id], copies=arguments.copies, now=caller.now)
    return DeleteMemoryResult(
        deleted=forgotten.deleted,
        copies_left=[CopyResult.model_validate(copy, from_attributes=True) for copy in copies],
    )


class MuteMemoryArguments(Arguments):
    """Which memory to mute, or to use again."""

    id: UUID = Field(description="The ID of the memory.")
    muted: bool = Field(True, description="false: it may be recalled again.")


def set_muted(caller: Caller, arguments: MuteMemoryArguments) -> MemoryResult:
    """Keep a memory but recall it in no reply, or recall it again (L10). `Conflict` for one that is history."""
    memory = get_memory(caller.user, arguments.id, to_change=True)
    kind = ATOMIC if isinstance(memory, AtomicMemory) else LONG_TERM
    mute_memories(kind, user=caller.user, ids=[memory.id], muted=arguments.muted, now=caller.now)
    memory = get_memory(caller.user, arguments.id)
    if memory.muted != arguments.muted:
        raise Conflict(f"Only active and pending memories can be muted; this one is {memory.status}.")
    return describe_memory(memory)


# Spaces (P4)


class MoveMemoriesArguments(Arguments):
    """Which memories, and where to."""

    ids: list[UUID] = Field(min_length=1, max_length=100, description="The IDs of the memories.")
    to: str | None = Field(
        None, description="Name or ID of the space, as list_spaces returns it. Left out: they are known everywhere."
    )


class MoveMemoriesResult(Result):
    """How many moved, and which stay as the space has a memory that says the same, or has the same key."""

    moved: int
    taken: list[UUID]


def move(caller: Caller, arguments: MoveMemoriesArguments) -> MoveMemoriesResult:
    """Move memories to a space, or out of all. `Forbidden` for who is bound to one."""
    if caller.bound:
        raise Forbidden("This token is bound to a space: it moves nothing.")
    owner = caller.user.overseeing()
    target = find_space(owner, arguments.to).pk if arguments.to else None
    done = move_memories(user=owner, ids=arguments.ids, space_id=target, now=caller.now)
    return MoveMemoriesResult(moved=done.moved, taken=list(done.taken))


class SpaceResult(Result):
    """A project, an assistant or a character with memories of its own."""

    id: UUID
    name: str
    kind: Literal["project", "assistant", "character"]


class SpacesResult(Result):
    """The person's spaces."""

    results: list[SpaceResult]


def show_spaces(caller: Caller, _arguments: NoArguments) -> SpacesResult:
    """Return the spaces that are not archived."""
    owner = caller.user if caller.bound else caller.user.overseeing()
    spaces = list_spaces(owner).filter(archived=False)
    return SpacesResult(results=[SpaceResult.model_validate(space, from_attributes=True) for space in spaces])


# Shared contexts (X)


class CreateContextArguments(Arguments):
    """What a new context holds (X1)."""

    title: str = Field(description="A short title that names the case.")
    content: str = Field(description="The background: who, what, when, and what is wanted. Plain text.")


class FetchContextArguments(Arguments):
    """Which context."""

    id: UUID = Field(description="The ID of the shared context.")


class UpdateContextArguments(Arguments):
    """Which context, and what to add."""

    id: UUID = Field(description="The ID of the shared context.")
    text: str = Field(description="What to add. What is there already stays.")


class ContextEntryResult(Result):
    """One addition to a shared context."""

    id: UUID
    author: str
    text: str
    created_at: datetime


class ContextResult(Result):
    """A shared context with everything added to it, oldest first (X1)."""

    id: UUID
    session_id: UUID | None
    title: str
    content: str
    entries: list[ContextEntryResult]
    created_at: datetime
    updated_at: datetime

    @classmethod
    def describe(cls, context: SharedContext) -> ContextResult:
        """Return a context and its entries as tools show them."""
        fields = {name: getattr(context, name) for name in cls.model_fields if name != "entries"}
        return cls.model_validate({**fields, "entries": list(context.entries.all())}, from_attributes=True)


def create_context(caller: Caller, arguments: CreateContextArguments) -> ContextResult:
    """Create a shared context (X1), of the session if there is one."""
    context = contexts.create_context(
        user=caller.user,
        title=arguments.title,
        content=arguments.content,
        session_id=caller.session_id,
        message_id=caller.message_id,
        number=caller.number,
        now=caller.now,
    )
    return ContextResult.describe(context)


def fetch_context(caller: Caller, arguments: FetchContextArguments) -> ContextResult:
    """Return a context with its entries. Raises `NotFound`, also for another person's."""
    return ContextResult.describe(get_context(caller.user, arguments.id))


def update_context(caller: Caller, arguments: UpdateContextArguments) -> ContextResult:
    """Add an entry by `caller.author` (X3). Raises `TooLarge` beyond the limit."""
    author = caller.author[:MAX_AUTHOR_CHARACTERS]
    return ContextResult.describe(
        contexts.append_entry(
            user=caller.user,
            context_id=arguments.id,
            text=arguments.text,
            author=author,
            message_id=caller.message_id,
            number=caller.number,
            now=caller.now,
        )
    )


# Profile and summaries


class ProfileResult(Result):
    """The profile document (U1). Without one, the texts are empty, `version` is 0 and `updated_at` is null."""

    reply_style: str = ""
    language_habits: str = ""
    background: str = ""
    sections: dict[str, str] = Field(default_factory=dict)
    version: int = 0
    updated_at: datetime | None = None


def get_profile(caller: Caller, _arguments: NoArguments) -> ProfileResult:
    """Return the person's profile document."""
    profile = get_user_profile(user=caller.user)
    return ProfileResult() if profile is None else ProfileResult.model_validate(profile, from_attributes=True)


class ListSummariesArguments(Arguments):
    """How many summaries."""

    limit: int = Field(10, ge=1, le=50, description="At most so many.")


class SummaryResult(Result):
    """What one conversation was about."""

    id: UUID
    session_id: UUID
    title: str
    snippet: str
    created_at: datetime
    last_active_at: datetime


class SummariesResult(Result):
    """Summaries of conversations, the most recently active first."""

    results: list[SummaryResult]


def list_summaries(caller: Caller, arguments: ListSummariesArguments) -> SummariesResult:
    """Return summaries of the most recently active conversations that have one."""
    found = get_recent_session_summaries(user=caller.user, limit=arguments.limit)
    return SummariesResult(results=[SummaryResult.model_validate(one, from_attributes=True) for one in found])


_EVERYWHERE = frozenset(Door)

# By name, in the order in which they are listed.
TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            name="search_memories",
            title="Search memories",
            description=(
                "Search what is remembered about the person: facts, preferences, plans and events from all "
                "conversations. Use it before answering anything that may depend on what they said earlier. Finds "
                "words and meaning, in Chinese and English; an empty list means that nothing is remembered about it."
            ),
            function=search,
            doors=_EVERYWHERE,
        ),
        Tool(
            name="search_conversations",
            title="Search conversations",
            description=(
                "Search what the person and the assistant said in past conversations, word for word: where no memory "
                "tells it, or the exact words or the assistant's own answers matter. Returns excerpts with their IDs "
                "and times; read_conversation has what was said around one."
            ),
            function=search_conversations,
            doors=_EVERYWHERE,
        ),
        Tool(
            name="read_conversation",
            title="Read conversation",
            description=(
                "Read part of a past conversation by its session_id, oldest first: its end, or what was said around a "
                "message. earlier and later count the messages before and after; read on around the first or last one."
            ),
            function=read_conversation,
            doors=_EVERYWHERE,
        ),
        Tool(
            name="add_memory",
            title="Add memory",
            description=(
                "Remember something about the person beyond this conversation, when they ask for it or say something "
                "that will matter later. Without a key it is kept as a statement; with a key as an attribute whose "
                "earlier value it replaces. What is known already is not stored twice."
            ),
            function=add_memory,
            scope=Scope.WRITE,
            remembers=True,
        ),
        Tool(
            name="update_memory",
            title="Update memory",
            description="Correct a memory: its text, or the key, category or tags. The person can undo it.",
            function=change_memory,
            scope=Scope.WRITE,
            remembers=True,
            destructive=True,
        ),
        Tool(
            name="delete_memory",
            title="Delete memory",
            description=(
                "Delete a memory for good; it cannot be undone, and it is not learned again from earlier messages. "
                "copies_left lists other places that still say the same: offer to delete those as well."
            ),
            function=delete_memory,
            scope=Scope.WRITE,
            destructive=True,
        ),
        Tool(
            name="mute_memory",
            title="Mute memory",
            description="Keep a memory but recall it in no reply and no search; with muted false, recall it again.",
            function=set_muted,
            scope=Scope.WRITE,
        ),
        Tool(
            name="list_spaces",
            title="List spaces",
            description=(
                "List the person's spaces: projects, assistants and characters whose memories stay there. With the "
                "argument space, the other tools look from one; without, they see what is known everywhere."
            ),
            function=show_spaces,
        ),
        Tool(
            name="move_memories",
            title="Move memories",
            description=(
                "Move memories to a space, where alone they are known from then on, or out of all spaces. When the "
                "person asks for it; they can undo it."
            ),
            function=move,
            scope=Scope.WRITE,
        ),
        Tool(
            name="get_profile",
            title="Read profile",
            description="Read the person's profile: how they like replies, the languages they use, their background.",
            function=get_profile,
        ),
        Tool(
            name="list_session_summaries",
            title="List conversation summaries",
            description="List what the person's most recent conversations were about, newest first.",
            function=list_summaries,
        ),
        Tool(
            name="createContext",
            title="Create shared context",
            description=(
                "Save the background of a case or project as a shared context and get its ID. Other agents and later "
                "conversations can read it with fetchContext and add to it with updateContext."
            ),
            function=create_context,
            scope=Scope.WRITE,
            remembers=True,
            doors=_EVERYWHERE,
            idempotent=False,
        ),
        Tool(
            name="fetchContext",
            title="Read shared context",
            description="Read a shared context by its ID, with everything that was added to it, oldest first.",
            function=fetch_context,
            doors=_EVERYWHERE,
        ),
        Tool(
            name="updateContext",
            title="Add to shared context",
            description=(
                "Add a text, such as a finding or a decision, to a shared context. Nothing in it is changed or "
                "removed; content and additions together have at most 64 KiB."
            ),
            function=update_context,
            scope=Scope.WRITE,
            remembers=True,
            doors=_EVERYWHERE,
            idempotent=False,
        ),
    )
}


def list_tools(door: Door) -> dict[str, Tool]:
    """Return the tools that a door offers, by name."""
    return {name: tool for name, tool in TOOLS.items() if door in tool.doors}
