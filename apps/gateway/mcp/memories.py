"""The tools that keep, change and read memories, beyond those that the chat model has (`apps.chat.tools`)."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.db import transaction
from pydantic import Field

from apps.accounts.models import User
from apps.chat.tools import Arguments, Caller, Result, Tags, Tool
from apps.core.errors import Conflict, InvalidInput, NotFound
from apps.core.text.json_text import readable_text
from apps.memory.atomic.services import mute_atomic_memories
from apps.memory.long_term.services import mute_memories
from apps.memory.models import AtomicMemory, LongTermMemory
from apps.memory.selectors import get_atomic_memories_by_id, get_memories_by_id, list_copies
from apps.memory.services import (
    create_atomic_memory,
    create_memory,
    forget_atomic_memories,
    forget_memories,
    update_atomic_memory,
    update_memory,
)
from apps.profile.services import get_user_profile
from apps.summaries.services import get_recent_session_summaries

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
    created_at: datetime
    updated_at: datetime


def describe_memory(memory: LongTermMemory | AtomicMemory) -> MemoryResult:
    """Return a memory of either kind as tools and resources show it."""
    if isinstance(memory, AtomicMemory):
        own: dict[str, Any] = {
            "kind": "atomic", "text": memory.content, "key": None, "value": None, "category": None,
            "tags": memory.tags, "created_at": memory.create_time,
        }  # fmt: skip
    else:
        own = {
            "kind": "long_term", "text": f"{memory.key}: {readable_text(memory.value)}", "key": memory.key,
            "value": memory.value, "category": memory.category, "tags": [], "created_at": memory.created_at,
        }  # fmt: skip
    return MemoryResult(id=memory.id, status=memory.status, muted=memory.muted, updated_at=memory.updated_at, **own)


def get_memory(user: User, memory_id: UUID) -> LongTermMemory | AtomicMemory:
    """Return the person's memory of either kind, of any status; `NotFound` for none and for another person's."""
    memory: LongTermMemory | AtomicMemory | None = get_memories_by_id(user, [memory_id]).get(memory_id)
    memory = memory or get_atomic_memories_by_id(user, [memory_id]).get(memory_id)
    if memory is None:
        raise NotFound("This memory does not exist.")
    return memory


# Keeping


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


class AddMemoryResult(Result):
    """The memory, and whether it is new (`created`), replaces a value (`superseded`) or was known (`refreshed`)."""

    action: Literal["created", "superseded", "refreshed"]
    memory: MemoryResult


def add_memory(caller: Caller, arguments: AddMemoryArguments) -> AddMemoryResult:
    """Keep a memory: with a key a long-term one, else an atomic one. What is known already is not there twice."""
    if arguments.key is None:
        _refuse(arguments, "category", because="Only a memory with a key has a category.")
        memory, is_new = create_atomic_memory(
            user=caller.user, content=arguments.content, tags=arguments.tags or (), now=caller.now
        )
        return AddMemoryResult(action="created" if is_new else "refreshed", memory=describe_memory(memory))
    _refuse(arguments, "tags", because="Only a memory without a key has tags.")
    stated, action = create_memory(
        user=caller.user,
        category=arguments.category or "fact",
        key=arguments.key,
        value=arguments.content,
        now=caller.now,
    )
    return AddMemoryResult.model_validate({"action": action.value, "memory": describe_memory(stated)})


class UpdateMemoryArguments(Arguments):
    """Which memory, and what to change of it."""

    texts = frozenset({"content"})

    id: UUID = Field(description="The ID of the memory, as search_memories returns it.")
    content: str | None = Field(None, description="The new text; of a long-term memory, the new value.")
    key: str | None = Field(None, description="The new key of a long-term memory.")
    category: CategoryName | None = Field(None, description="The new category of a long-term memory.")
    tags: Tags | None = Field(None, description="The new tags of an atomic memory, in place of those it has.")


def change_memory(caller: Caller, arguments: UpdateMemoryArguments) -> MemoryResult:
    """Change a memory. `NotFound`; `Conflict` where another one says the same, or where it is history."""
    memory = get_memory(caller.user, arguments.id)
    if not arguments.model_dump(exclude={"id"}, exclude_none=True):
        raise InvalidInput("Name at least one of content, key, category and tags to change.")
    if isinstance(memory, AtomicMemory):
        for name in ("key", "category"):
            _refuse(arguments, name, because="An atomic memory has none.")
        changes: dict[str, Any] = {"content": arguments.content, "tags": arguments.tags}
        return describe_memory(
            update_atomic_memory(user=caller.user, memory_id=memory.id, changes=_given(changes), now=caller.now)
        )
    _refuse(arguments, "tags", because="A long-term memory has none.")
    changes = {"value": arguments.content, "key": arguments.key, "category": arguments.category}
    return describe_memory(
        update_memory(user=caller.user, memory_id=memory.id, changes=_given(changes), now=caller.now)
    )


def _given(changes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in changes.items() if value is not None}


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
    """Delete a memory for good (L6), and tell where else its text is unless `copies` are deleted, too."""
    memory = get_memory(caller.user, arguments.id)
    if isinstance(memory, AtomicMemory):
        deleted = forget_atomic_memories(user=caller.user, ids=[memory.id], now=caller.now)
        return DeleteMemoryResult(deleted=deleted, copies_left=[])
    copies = [] if arguments.copies else list_copies(caller.user, [memory])
    forgotten = forget_memories(user=caller.user, ids=[memory.id], copies=arguments.copies, now=caller.now)
    return DeleteMemoryResult(
        deleted=forgotten.deleted,
        copies_left=[CopyResult(kind=copy.kind, id=copy.id, text=copy.text) for copy in copies],
    )


class MuteMemoryArguments(Arguments):
    """Which memory to mute, or to use again."""

    id: UUID = Field(description="The ID of the memory.")
    muted: bool = Field(True, description="false: it may be recalled again.")


def mute_memory(caller: Caller, arguments: MuteMemoryArguments) -> MemoryResult:
    """Keep a memory but recall it in no reply, or recall it again (L10). `Conflict` for one that is history."""
    memory = get_memory(caller.user, arguments.id)
    mute = mute_atomic_memories if isinstance(memory, AtomicMemory) else mute_memories
    mute(user=caller.user, ids=[memory.id], muted=arguments.muted, now=caller.now)
    memory = get_memory(caller.user, arguments.id)
    if memory.muted != arguments.muted:
        raise Conflict(f"Only active and pending memories can be muted; this one is {memory.status}.")
    return describe_memory(memory)


# Reading


class NoArguments(Arguments):
    """A tool without arguments."""


class ProfileResult(Result):
    """The profile document (U1). Without one, the texts are empty, `version` is 0 and `updated_at` is null."""

    reply_style: str = ""
    language_habits: str = ""
    background: str = ""
    sections: dict[str, str] = Field(default_factory=dict)
    version: int = 0
    updated_at: datetime | None = None


def get_profile(caller: Caller, arguments: NoArguments | None = None) -> ProfileResult:
    """The person's profile document."""
    profile = get_user_profile(user=caller.user)
    if profile is None:
        return ProfileResult()
    return ProfileResult(
        reply_style=profile.reply_style,
        language_habits=profile.language_habits,
        background=profile.background,
        sections=dict(profile.sections),
        version=profile.version,
        updated_at=profile.updated_at,
    )


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


def list_session_summaries(caller: Caller, arguments: ListSummariesArguments) -> SummariesResult:
    """Summaries of the most recently active conversations that have one."""
    found = get_recent_session_summaries(user=caller.user, limit=arguments.limit)
    return SummariesResult(
        results=[
            SummaryResult(
                id=one.id,
                session_id=one.session_id,
                title=one.title,
                snippet=one.snippet,
                created_at=one.created_at,
                last_active_at=one.last_active_at,
            )
            for one in found
        ]
    )


ADD_MEMORY = Tool(
    name="add_memory",
    title="Add memory",
    description=(
        "Remember something about the person beyond this conversation, when they ask for it or say something that "
        "will matter later. Without a key it is kept as a statement; with a key as an attribute whose earlier value it "
        "replaces. What is known already is not stored twice."
    ),
    arguments=AddMemoryArguments,
    result=AddMemoryResult,
    function=add_memory,
)
UPDATE_MEMORY = Tool(
    name="update_memory",
    title="Update memory",
    description="Correct a memory: its text, or the key, category or tags. The person can undo it.",
    arguments=UpdateMemoryArguments,
    result=MemoryResult,
    function=change_memory,
)
DELETE_MEMORY = Tool(
    name="delete_memory",
    title="Delete memory",
    description=(
        "Delete a memory for good; it cannot be undone, and it is not learned again from earlier messages. "
        "copies_left lists other places that still say the same: offer to delete them, too."
    ),
    arguments=DeleteMemoryArguments,
    result=DeleteMemoryResult,
    function=delete_memory,
)
MUTE_MEMORY = Tool(
    name="mute_memory",
    title="Mute memory",
    description="Keep a memory but recall it in no reply and no search; with muted false, recall it again.",
    arguments=MuteMemoryArguments,
    result=MemoryResult,
    function=mute_memory,
)
GET_PROFILE = Tool(
    name="get_profile",
    title="Read profile",
    description="Read the person's profile: how they like replies, the languages they use, their background.",
    arguments=NoArguments,
    result=ProfileResult,
    function=get_profile,
)
LIST_SESSION_SUMMARIES = Tool(
    name="list_session_summaries",
    title="List conversation summaries",
    description="List what the person's most recent conversations were about, newest first.",
    arguments=ListSummariesArguments,
    result=SummariesResult,
    function=list_session_summaries,
)
