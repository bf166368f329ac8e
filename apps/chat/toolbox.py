"""Every tool with which a model uses a person's memory, in one table: those of chat (T1, X2) and those of MCP.

A door offers what `list_tools` gives it, as far as the caller's scopes allow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.db import transaction
from pydantic import BeforeValidator, Field

from apps.accounts import spaces
from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from apps.accounts.types import Handling, Scope, Sensitive
from apps.chat.search_tools import read_conversation, search_conversations, search_memories
from apps.chat.tools import EVERYWHERE, FREE_TEXT, Caller, Door, Result, Results, Tags, Tool, read_time, tool
from apps.core.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.core.text.fold import normalize_key
from apps.memory import contexts, lifecycle
from apps.memory import spaces as memory_spaces
from apps.memory.contexts import MAX_AUTHOR_CHARACTERS
from apps.memory.deletion import delete_memories, list_copies
from apps.memory.entries import create_memory, record_entries
from apps.memory.judge.types import JudgedStatement, Said
from apps.memory.judge.verdicts import record_verdicts
from apps.memory.keyed import Mode
from apps.memory.kinds import ATOMIC, KINDS, LONG_TERM, MemoryKind
from apps.memory.lifecycle import create_atomic_memory, mute_memories
from apps.memory.models import Source, Status
from apps.memory.validation import MAX_CONTENT_CHARACTERS, Proposal
from apps.profile.services import get_user_profile
from apps.summaries.services import SessionSummarySnapshot, get_recent_session_summaries

# Keeping and changing memories

ValidUntil = Annotated[
    str | None,
    Field(
        description="For what holds for a while only: ISO 8601 date (all of that day) or time until which it does. "
        "After it, it is kept but not recalled."
    ),
]
Marks = Annotated[
    list[Sensitive] | None,
    Field(
        description="Which of these kinds it tells something about, if any. What the person excluded is refused, and "
        "what they want to review waits for them."
    ),
]
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


def describe_memory(kind: MemoryKind, memory: Any) -> MemoryResult:
    """Return a memory as tools and resources show it."""
    values = {name: getattr(memory, name, None) for name in MemoryResult.model_fields}
    values |= {"kind": kind.name.value, "text": kind.say(vars(memory)), "created_at": getattr(memory, kind.made_at)}
    return MemoryResult.model_validate({**values, "tags": values["tags"] or []})


def find_memory(user: User, memory_id: UUID, *, to_change: bool = False) -> tuple[MemoryKind, Any]:
    """Return the person's memory of either kind, of any status, and its kind; `NotFound` as `MemoryKind.get`."""
    for kind in KINDS:
        with suppress(NotFound):
            return kind, kind.get(user, memory_id, to_change=to_change)
    raise NotFound("This memory does not exist.")


class AddMemoryResult(Result):
    """The memory, and whether it is new (`created`), replaces a value (`superseded`), was known (`refreshed`) or waits
    for the person's review (`pending`).
    """

    action: Literal["created", "superseded", "refreshed", "pending"]
    memory: MemoryResult


@tool(
    "Add memory",
    "Remember something about the person beyond this conversation, when they ask for it or say something that will "
    "matter later. Without a key it is kept as a statement; with a key as an attribute whose earlier value it "
    "replaces. What is known already is not stored twice.",
    scope=Scope.WRITE,
    remembers=True,
)
def add_memory(
    caller: Caller,
    content: Annotated[
        str,
        Field(
            description="What to remember, in the person's language: self-contained sentences with names and full "
            'dates, such as "Mei moves to York on 2026-06-01." With a key, the value alone, such as "York".'
        ),
    ],
    key: Annotated[
        str | None,
        Field(
            description='For a lasting attribute that has one value at a time, its name, such as "home town" or '
            '"reply language". A new value replaces the one before. Leave it out for everything else.'
        ),
    ] = None,
    category: Annotated[CategoryName | None, Field(description="With a key: what it is. fact, if left out.")] = None,
    tags: Annotated[Tags | None, Field(description="Without a key: a few words to group memories by.")] = None,
    valid_until: ValidUntil = None,
    sensitive: Marks = None,
) -> AddMemoryResult:
    """Keep a memory: with a key a long-term one, else an atomic one. What is known already is not there twice."""
    common: dict[str, Any] = {"valid_until": _read_until(caller, valid_until), "sensitive": sensitive or []}
    waits = _handle(caller, sensitive) is Handling.REVIEW
    if key is None:
        _refuse("category", category, because="Only a memory with a key has a category.")
        atomic = {"content": content, "tags": tags or [], **common}
        if waits:
            return _propose(caller, atomic=atomic)
        memory, is_new = create_atomic_memory(user=caller.user, now=caller.now, **atomic)
        return AddMemoryResult(action="created" if is_new else "refreshed", memory=describe_memory(ATOMIC, memory))
    _refuse("tags", tags, because="Only a memory without a key has tags.")
    stated = {"category": category or "fact", "key": key, "value": content, **common}
    if waits:
        return _propose(caller, stated=stated)
    entry, action = create_memory(user=caller.user, now=caller.now, **stated)
    return AddMemoryResult.model_validate({"action": action.value, "memory": describe_memory(LONG_TERM, entry)})


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
    kind, memory = find_memory(caller.user, found[0])
    action = "pending" if memory.status == Status.PENDING else "refreshed"
    return AddMemoryResult.model_validate({"action": action, "memory": describe_memory(kind, memory)})


def _read_until(caller: Caller, given: str | None) -> datetime | None:
    return read_time("valid_until", given, zone=get_settings(caller.user).zone, end=True) if given else None


MemoryId = Annotated[UUID, Field(description="The ID of the memory.")]


@tool(
    "Update memory",
    "Correct a memory: its text, or the key, category or tags. The person can undo it.",
    scope=Scope.WRITE,
    remembers=True,
    destructive=True,
)
def update_memory(
    caller: Caller,
    id: Annotated[UUID, Field(description="The ID of the memory, as search_memories returns it.")],
    content: Annotated[
        str | None, FREE_TEXT, Field(description="The new text; of a long-term memory, the new value.")
    ] = None,
    key: Annotated[str | None, Field(description="The new key of a long-term memory.")] = None,
    category: Annotated[CategoryName | None, Field(description="The new category of a long-term memory.")] = None,
    tags: Annotated[
        Tags | None, Field(description="The new tags of an atomic memory, in place of those it has.")
    ] = None,
    valid_until: ValidUntil = None,
    sensitive: Marks = None,
) -> MemoryResult:
    """Change a memory. `NotFound`; `Conflict` where another one says the same, or where it is history."""
    kind, memory = find_memory(caller.user, id, to_change=True)
    changes: dict[str, Any] = {
        "key": key,
        "category": category,
        "tags": tags,
        "valid_until": valid_until,
        "sensitive": sensitive,
    }
    if all(value is None for value in (content, *changes.values())):
        raise InvalidInput("Name at least one of content, key, category, tags, valid_until and sensitive to change.")
    if _handle(caller, sensitive) is Handling.REVIEW:
        raise Forbidden("Not changed: the person reviews this kind first. add_memory lets it wait for them.")
    is_atomic = kind is ATOMIC
    for name in ("key", "category") if is_atomic else ("tags",):
        because = "An atomic memory has none." if is_atomic else "A long-term memory has none."
        _refuse(name, changes[name], because=because)
    changes |= {"content" if is_atomic else "value": content, "valid_until": _read_until(caller, valid_until)}
    given = {name: value for name, value in changes.items() if value is not None}
    memory = lifecycle.update_memory(kind, user=caller.user, memory_id=memory.id, changes=given, now=caller.now)
    return describe_memory(kind, memory)


def _refuse(name: str, value: Any, *, because: str) -> None:
    if value is not None:
        raise InvalidInput(f"{name}: {because}", fields={name: [because]})


class CopyResult(Result):
    """Another place that says what a deleted memory said."""

    kind: str
    id: UUID
    text: str


class DeleteMemoryResult(Result):
    """How many memories were deleted, and other places that still say the same."""

    deleted: int
    copies_left: list[CopyResult]


@tool(
    "Delete memory",
    "Delete a memory for good; it cannot be undone, and it is not learned again from earlier messages. copies_left "
    "lists other places that still say the same: offer to delete those as well.",
    scope=Scope.WRITE,
    destructive=True,
)
@transaction.atomic
def delete_memory(
    caller: Caller,
    id: MemoryId,
    copies: Annotated[
        bool,
        Field(
            description="Also delete what else says the same, as far as it is known: other memories, and passages of "
            "the profile, of summaries, shared contexts and running sessions. Ask the person first."
        ),
    ] = False,
) -> DeleteMemoryResult:
    """Delete a memory for good (L6), and list where else its text is unless `copies` are deleted, too."""
    kind, memory = find_memory(caller.user, id, to_change=True)
    left = list_copies(caller.user, [memory]) if kind is LONG_TERM and not copies else []
    gone = delete_memories(kind, user=caller.user, ids=[memory.id], copies=copies, now=caller.now)
    return DeleteMemoryResult.model_validate({"deleted": gone.deleted, "copies_left": left})


@tool(
    "Mute memory",
    "Keep a memory but recall it in no reply and no search; with muted false, recall it again.",
    scope=Scope.WRITE,
)
def mute_memory(
    caller: Caller,
    id: MemoryId,
    muted: Annotated[bool, Field(description="false: it may be recalled again.")] = True,
) -> MemoryResult:
    """Keep a memory but recall it in no reply, or recall it again (L10). `Conflict` for one that is history."""
    kind, memory = find_memory(caller.user, id, to_change=True)
    mute_memories(kind, user=caller.user, ids=[memory.id], muted=muted, now=caller.now)
    memory = kind.get(caller.user, id)
    if memory.muted != muted:
        raise Conflict(f"Only active and pending memories can be muted; this one is {memory.status}.")
    return describe_memory(kind, memory)


# Spaces (P4)


class MoveMemoriesResult(Result):
    """How many moved, and which stay as the space has a memory that says the same, or has the same key."""

    moved: int
    taken: list[UUID]


@tool(
    "Move memories",
    "Move memories to a space, where alone they are known from then on, or out of all spaces. When the person asks for "
    "it; they can undo it.",
    scope=Scope.WRITE,
)
def move_memories(
    caller: Caller,
    ids: Annotated[list[UUID], Field(min_length=1, max_length=100, description="The IDs of the memories.")],
    to: Annotated[
        str | None,
        Field(description="Name or ID of the space, as list_spaces returns it. Left out: they are known everywhere."),
    ] = None,
) -> MoveMemoriesResult:
    """Move memories to a space, or out of all. `Forbidden` for who is bound to one."""
    if caller.bound:
        raise Forbidden("This token is bound to a space: it moves nothing.")
    owner = caller.user.overseeing()
    target = spaces.find_space(owner, to).pk if to else None
    done = memory_spaces.move_memories(user=owner, ids=ids, space_id=target, now=caller.now)
    return MoveMemoriesResult.model_validate(done)


class SpaceResult(Result):
    """A project, an assistant or a character with memories of its own."""

    id: UUID
    name: str
    kind: Literal["project", "assistant", "character"]


@tool(
    "List spaces",
    "List the person's spaces: projects, assistants and characters whose memories stay there. With the argument space, "
    "the other tools look from one; without, they see what is known everywhere.",
)
def list_spaces(caller: Caller) -> Results[SpaceResult]:
    """Return the spaces that are not archived."""
    owner = caller.user if caller.bound else caller.user.overseeing()
    return Results[SpaceResult].model_validate({"results": list(spaces.list_spaces(owner).filter(archived=False))})


# Shared contexts (X)


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
    entries: Annotated[list[ContextEntryResult], BeforeValidator(lambda entries: list(entries.all()))]
    created_at: datetime
    updated_at: datetime


ContextId = Annotated[UUID, Field(description="The ID of the shared context.")]


@tool(
    "Create shared context",
    "Save the background of a case or project as a shared context and get its ID. Other agents and later conversations "
    "can read it with fetchContext and add to it with updateContext.",
    name="createContext",
    scope=Scope.WRITE,
    remembers=True,
    doors=EVERYWHERE,
    idempotent=False,
)
def create_context(
    caller: Caller,
    title: Annotated[str, Field(description="A short title that names the case.")],
    content: Annotated[str, Field(description="The background: who, what, when, and what is wanted. Plain text.")],
) -> ContextResult:
    """Create a shared context (X1), of the session if there is one."""
    context = contexts.create_context(
        user=caller.user,
        title=title,
        content=content,
        session_id=caller.session_id,
        message_id=caller.message_id,
        number=caller.number,
        now=caller.now,
    )
    return ContextResult.model_validate(context)


@tool(
    "Read shared context",
    "Read a shared context by its ID, with everything that was added to it, oldest first.",
    name="fetchContext",
    doors=EVERYWHERE,
)
def fetch_context(caller: Caller, id: ContextId) -> ContextResult:
    """Return a context with its entries. Raises `NotFound`, also for another person's."""
    return ContextResult.model_validate(contexts.get_context(caller.user, id))


@tool(
    "Add to shared context",
    "Add a text, such as a finding or a decision, to a shared context. Nothing in it is changed or removed; content "
    "and additions together have at most 64 KiB.",
    name="updateContext",
    scope=Scope.WRITE,
    remembers=True,
    doors=EVERYWHERE,
    idempotent=False,
)
def update_context(
    caller: Caller,
    id: ContextId,
    text: Annotated[str, Field(description="What to add. What is there already stays.")],
) -> ContextResult:
    """Add an entry by `caller.author` (X3). Raises `TooLarge` beyond the limit."""
    context = contexts.append_entry(
        user=caller.user,
        context_id=id,
        text=text,
        author=caller.author[:MAX_AUTHOR_CHARACTERS],
        message_id=caller.message_id,
        number=caller.number,
        now=caller.now,
    )
    return ContextResult.model_validate(context)


# Profile and summaries


class ProfileResult(Result):
    """The profile document (U1). Without one, the texts are empty, `version` is 0 and `updated_at` is null."""

    reply_style: str = ""
    language_habits: str = ""
    background: str = ""
    sections: dict[str, str] = Field(default_factory=dict)
    version: int = 0
    updated_at: datetime | None = None


@tool("Read profile", "Read the person's profile: how they like replies, the languages they use, their background.")
def get_profile(caller: Caller) -> ProfileResult:
    """Return the person's profile document."""
    profile = get_user_profile(user=caller.user)
    return ProfileResult() if profile is None else ProfileResult.model_validate(profile)


@tool("List conversation summaries", "List what the person's most recent conversations were about, newest first.")
def list_session_summaries(
    caller: Caller, limit: Annotated[int, Field(ge=1, le=50, description="At most so many.")] = 10
) -> Results[SessionSummarySnapshot]:
    """Return summaries of the most recently active conversations that have one."""
    return Results[SessionSummarySnapshot](results=get_recent_session_summaries(user=caller.user, limit=limit))


# By name, in the order in which they are listed.
TOOLS = {
    tool.name: tool
    for tool in (
        search_memories,
        search_conversations,
        read_conversation,
        add_memory,
        update_memory,
        delete_memory,
        mute_memory,
        list_spaces,
        move_memories,
        get_profile,
        list_session_summaries,
        create_context,
        fetch_context,
        update_context,
    )
}


def list_tools(door: Door) -> dict[str, Tool]:
    """Return the tools that a door offers, by name."""
    return {name: tool for name, tool in TOOLS.items() if door in tool.doors}
