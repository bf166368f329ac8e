"""Tools with which a model searches memories and shares contexts (T1, X2): the chat model, and any agent over MCP.

A tool is a plain function of validated arguments; its JSON schemas are read from their types. What a caller did wrong
is an error of `apps.core.errors`, whose message is a sentence for the model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from datetime import time as time_of_day
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from apps.conversations.types import MAX_CONTENT_CHARS
from apps.core.errors import InvalidInput, TooLarge
from apps.core.parsing import refuse_forbidden
from apps.core.times import exists_everywhere
from apps.memory import services as memory
from apps.memory.models import SharedContext
from apps.memory.selectors import TimeRange, get_context
from apps.memory.selectors import search_memories as find_memories
from apps.memory.shared_context.types import MAX_AUTHOR_CHARACTERS


@dataclass(frozen=True, slots=True)
class Caller:
    """For whom a tool runs, and when. `author` is named beside what it adds; `session_id`: where, in a conversation.

    `message_id`: of the message that is being answered, if one is; `number`: how often the tool did the same kind of
    thing for it before. What was done for a message is not done again when its reply is tried again.
    """

    user: User
    author: str
    now: datetime
    session_id: UUID | None = None
    message_id: UUID | None = None
    number: int = 0


class Arguments(BaseModel):
    """Arguments of a tool. Unknown ones are refused: a mistyped one would be lost.

    Models fill in every argument that they see. So one that may be left out is, where null stands for it, in whatever
    writing. `texts`: arguments that are free text, in which "none" is an answer.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    texts: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="before")
    @classmethod
    def _leave_out_absent(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        required = {name for name, field in cls.model_fields.items() if field.is_required()}
        return {
            name: value
            for name, value in given.items()
            if name in required or not is_absent(value, or_none=name not in cls.texts)
        }


def is_absent(value: Any, *, or_none: bool = True) -> bool:
    """Whether an argument is null, or a text with which models and languages write it."""
    if isinstance(value, str):
        return value.strip().casefold() in ("", "null", "undefined", *(("none", "nil") if or_none else ()))
    return value is None


def read_tags(value: Any) -> Any:
    """Return tags as a list: models also write them as one text, with commas or as JSON."""
    if isinstance(value, str):
        try:
            listed = json.loads(value)
        except (ValueError, RecursionError):
            listed = None
        value = listed if isinstance(listed, list) else [tag.strip() for tag in re.split("[,，、;；]", value)]
    return [tag for tag in value if not is_absent(tag)] if isinstance(value, list) else value


Tags = Annotated[list[str], BeforeValidator(read_tags)]


class Result(BaseModel):
    """What a tool returns; every field is always there."""

    model_config = ConfigDict(frozen=True, json_schema_serialization_defaults_required=True)


@dataclass(frozen=True)
class Tool:
    """A function that a model can call, and how it is described to one."""

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    result: type[Result]
    function: Callable[[Caller, Any], Result]

    def run(self, caller: Caller, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call it with arguments as a model gave them; returns JSON of `output_schema`.

        Raises a `JiyiError` for arguments that do not fit and for everything that the services refuse.
        """
        refuse_forbidden(arguments)
        try:
            read = self.arguments.model_validate(arguments)
        except ValidationError as error:
            problems = dict(_list_problems(error))
            name, reasons = next(iter(problems.items()))
            raise InvalidInput(f"{name}: {reasons[0]}" if name else reasons[0], fields=problems) from None
        return self.function(caller, read).model_dump(mode="json")

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """JSON schema of the arguments: an object without references, in which optional arguments may be left out."""
        return _describe(self.arguments.model_json_schema(), drop_null=True)

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        """JSON schema of what `run` returns: an object without references."""
        return _describe(self.result.model_json_schema(mode="serialization"), drop_null=False)


def _list_problems(error: ValidationError) -> Iterator[tuple[str, list[str]]]:
    for problem in error.errors():
        unknown = problem["type"] == "extra_forbidden"
        yield ".".join(map(str, problem["loc"])), ["There is no such argument." if unknown else f"{problem['msg']}."]


def _describe(schema: dict[str, Any], *, drop_null: bool) -> dict[str, Any]:
    """Return the schema of arguments or a result without what the tool's description says anyway."""
    simple: dict[str, Any] = _simplify(schema, drop_null=drop_null)
    del simple["description"]
    return simple


def _simplify(schema: Any, *, drop_null: bool, definitions: Mapping[str, Any] | None = None) -> Any:
    """Put definitions in the place of references, and leave out titles: not every client's model reads them.

    `drop_null`: that an argument may also be null is left out, too; leaving it out says the same.
    """
    if isinstance(schema, list):
        return [_simplify(item, drop_null=drop_null, definitions=definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    known = definitions or schema.get("$defs", {})
    if reference := schema.get("$ref"):
        schema = {**known[reference.rpartition("/")[2]], **{k: v for k, v in schema.items() if k != "$ref"}}
    if drop_null and (options := schema.get("anyOf")):
        kept = [option for option in options if option != {"type": "null"}]
        if len(kept) == 1 < len(options):
            rest = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
            return _simplify({**kept[0], **rest}, drop_null=drop_null, definitions=known)
    return {
        key: (
            {name: _simplify(item, drop_null=drop_null, definitions=known) for name, item in value.items()}
            if key == "properties"
            else _simplify(value, drop_null=drop_null, definitions=known)
        )
        for key, value in schema.items()
        if key not in ("$defs", "title")
    }


# Searching (T1)


class SearchTimes(Arguments):
    """From when to when, both included; each may be left out."""

    since: str | None = Field(
        None, description="ISO 8601 date or time, such as 2026-05-01 or 2026-05-01T08:00:00+08:00. Not before it."
    )
    until: str | None = Field(None, description="ISO 8601 date or time. Not after it; a date means all of that day.")


class SearchArguments(Arguments):
    """The arguments of T1."""

    keyword: str = Field(description="What to look for: keywords or a question, in the words the person would use.")
    time_range: SearchTimes | None = Field(None, description="Only memories from within this time.")


class FoundMemoryResult(Result):
    """A memory that a search found."""

    id: UUID
    kind: Literal["long_term", "atomic"]
    text: str
    time: datetime = Field(description="When it was said or last changed.")


class SearchResult(Result):
    """What a search found, best first."""

    results: list[FoundMemoryResult]


def search_memories(caller: Caller, arguments: SearchArguments) -> SearchResult:
    """The person's memories of both kinds that `keyword` finds (T1); dates are of the person's time zone (C8)."""
    if not arguments.keyword.strip():
        raise InvalidInput("keyword: Must not be blank.", fields={"keyword": ["Must not be blank."]})
    if len(arguments.keyword) > MAX_CONTENT_CHARS:
        raise TooLarge(f"keyword has over {MAX_CONTENT_CHARS:,} characters.")
    within = _read_range(caller.user, arguments.time_range) if arguments.time_range else TimeRange()
    if within.since and within.until and within.since > within.until:
        raise InvalidInput("time_range: since is later than until.")
    found = find_memories(user=caller.user, keyword=arguments.keyword, time_range=within)
    return SearchResult(
        results=[FoundMemoryResult(id=one.id, kind=one.kind, text=one.text, time=one.time) for one in found]
    )


def _read_range(user: User, times: SearchTimes) -> TimeRange:
    zone = get_settings(user).zone
    return TimeRange(
        since=_read_time("since", times.since, zone=zone), until=_read_time("until", times.until, zone=zone, end=True)
    )


def _read_time(name: str, text: str | None, *, zone: tzinfo, end: bool = False) -> datetime | None:
    """Return the time that `text` names; a date is its first moment in the zone, or with `end` its last."""
    if text is None:
        return None
    text = text.strip()
    try:
        if len(text) == len("2026-05-01"):
            found = datetime.combine(date.fromisoformat(text), time_of_day(), zone)
            found += timedelta(days=1, microseconds=-1) if end else timedelta()
        else:
            found = datetime.fromisoformat(text)
            found = found if found.tzinfo else found.replace(tzinfo=zone)
    except (ValueError, OverflowError):
        found = None
    if found is None or not exists_everywhere(found):
        reason = "Must be a date or time in ISO 8601, such as 2026-05-01T12:00:00+08:00."
        raise InvalidInput(f"time_range.{name}: {reason}", fields={f"time_range.{name}": [reason]})
    return found


# Shared contexts (X)


class CreateContextArguments(Arguments):
    """The arguments of X1."""

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


def create_context(caller: Caller, arguments: CreateContextArguments) -> ContextResult:
    """Make a shared context (X1), of the session if there is one."""
    context = memory.create_context(
        user=caller.user,
        title=arguments.title,
        content=arguments.content,
        session_id=caller.session_id,
        message_id=caller.message_id,
        number=caller.number,
        now=caller.now,
    )
    return _describe_context(context)


def fetch_context(caller: Caller, arguments: FetchContextArguments) -> ContextResult:
    """The context with its entries. `NotFound` for none, and for another person's."""
    return _describe_context(get_context(caller.user, arguments.id))


def update_context(caller: Caller, arguments: UpdateContextArguments) -> ContextResult:
    """Add an entry by `caller.author` (X3); `TooLarge` where it would pass the limit."""
    author = caller.author[:MAX_AUTHOR_CHARACTERS]
    return _describe_context(
        memory.append_entry(
            user=caller.user,
            context_id=arguments.id,
            text=arguments.text,
            author=author,
            message_id=caller.message_id,
            number=caller.number,
            now=caller.now,
        )
    )


def _describe_context(context: SharedContext) -> ContextResult:
    return ContextResult(
        id=context.id,
        session_id=context.session_id,
        title=context.title,
        content=context.content,
        entries=[
            ContextEntryResult(id=entry.id, author=entry.author, text=entry.text, created_at=entry.created_at)
            for entry in context.entries.all()
        ],
        created_at=context.created_at,
        updated_at=context.updated_at,
    )


SEARCH_MEMORIES = Tool(
    name="search_memories",
    title="Search memories",
    description=(
        "Search what is remembered about the person: facts, preferences, plans and events from all conversations. "
        "Use it before answering anything that may depend on what they said earlier. "
        "Finds words and meaning, in Chinese and English; an empty list means that nothing is remembered about it."
    ),
    arguments=SearchArguments,
    result=SearchResult,
    function=search_memories,
)
CREATE_CONTEXT = Tool(
    name="createContext",
    title="Create shared context",
    description=(
        "Save the background of a case or project as a shared context and get its ID. Other agents and later "
        "conversations can read it with fetchContext and add to it with updateContext."
    ),
    arguments=CreateContextArguments,
    result=ContextResult,
    function=create_context,
)
FETCH_CONTEXT = Tool(
    name="fetchContext",
    title="Read shared context",
    description="Read a shared context by its ID, with everything that was added to it, oldest first.",
    arguments=FetchContextArguments,
    result=ContextResult,
    function=fetch_context,
)
UPDATE_CONTEXT = Tool(
    name="updateContext",
    title="Add to shared context",
    description=(
        "Add a text, such as a finding or a decision, to a shared context. Nothing in it is changed or removed; "
        "content and additions together have at most 64 KiB."
    ),
    arguments=UpdateContextArguments,
    result=ContextResult,
    function=update_context,
)

TOOLS = (SEARCH_MEMORIES, CREATE_CONTEXT, FETCH_CONTEXT, UPDATE_CONTEXT)
"""What the chat model is offered with `memory.enable_agentic_search` (T1)."""
