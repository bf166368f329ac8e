"""What a tool is: a function of validated arguments that a model can call. `apps.chat.toolbox` has them all.

Its JSON schemas are read from its types. What a caller did wrong is an error of `apps.core.errors`, whose message is a
sentence for the model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from datetime import time as time_of_day
from enum import StrEnum
from functools import cached_property
from inspect import Parameter, signature
from typing import Annotated, Any, Generic, TypeVar, get_type_hints
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, create_model, model_validator

from apps.accounts.models import User
from apps.accounts.types import Scope
from apps.conversations.pausing import RememberingPaused
from apps.core.errors import InvalidInput
from apps.core.fields import refuse_forbidden
from apps.core.times import exists_everywhere


class Door(StrEnum):
    """Where tools are offered."""

    CHAT = "chat"
    MCP = "mcp"


EVERYWHERE = frozenset(Door)


@dataclass(frozen=True, slots=True)
class Caller:
    """For whom a tool runs, and when. `author` is named beside what it adds; `session_id`: where, in a conversation.

    `user` looks from the place that the tool is called in; `bound`: whoever calls may act there alone (P5).

    `message_id`: of the message that is being answered, if one is; `number`: how often the tool did the same kind of
    thing for it before. What was done for a message is not done again when its reply is retried.
    `paused_by`: what pauses remembering there, "" for nothing (D5).
    """

    user: User
    author: str
    now: datetime
    session_id: UUID | None = None
    message_id: UUID | None = None
    number: int = 0
    bound: bool = False
    paused_by: str = ""


# Marks an argument that is free text, in which "none" is an answer.
FREE_TEXT = "free text"


class Arguments(BaseModel):
    """Arguments of a tool. Unknown ones are refused: a mistyped one would be lost.

    Models fill in every argument that they see. So one that may be left out is, where null stands for it, in whatever
    writing.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _leave_out_absent(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        required = {name for name, field in cls.model_fields.items() if field.is_required()}
        texts = {name for name, field in cls.model_fields.items() if FREE_TEXT in field.metadata}
        return {
            name: value
            for name, value in given.items()
            if name in required or not is_absent(value, or_none=name not in texts)
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


def read_time(name: str, text: str | None, *, zone: tzinfo, end: bool = False) -> datetime | None:
    """Return the time that `text` names; a date is its first moment in the zone, or with `end` its last.

    `name`: of the argument, for the error.
    """
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
        raise InvalidInput(f"{name}: {reason}", fields={name: [reason]})
    return found


class Result(BaseModel):
    """What a tool returns; every field is always there."""

    model_config = ConfigDict(frozen=True, from_attributes=True, json_schema_serialization_defaults_required=True)


Item = TypeVar("Item")


class Results(Result, Generic[Item]):
    """What a tool found or lists."""

    results: list[Item]


@dataclass(frozen=True)
class Tool:
    """A function that a model can call, and how it is described to one. Its schemas follow from its annotations.

    `function`: of a caller and of the arguments, by name. `scope`: what a caller's token must allow. `doors`: where it
    is offered. `destructive`, `idempotent`: hints for MCP clients; calling an idempotent tool again changes nothing.
    `remembers`: it adds to what is remembered, so that it is refused while remembering is paused.
    """

    name: str
    title: str
    description: str
    function: Callable[..., Result]
    scope: Scope = Scope.READ
    doors: frozenset[Door] = frozenset({Door.MCP})
    destructive: bool = False
    idempotent: bool = True
    remembers: bool = False

    @property
    def writes(self) -> bool:
        """Whether it changes something."""
        return self.scope is Scope.WRITE

    def run(self, caller: Caller, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call it with arguments as a model gave them; returns JSON of `output_schema`.

        Raises a `JiyiError` for arguments that do not fit and for everything that the services refuse.
        """
        if self.remembers and caller.paused_by:
            raise RememberingPaused(caller.paused_by)
        refuse_forbidden(arguments)
        try:
            read = self._arguments.model_validate(arguments)
        except ValidationError as error:
            problems = dict(_list_problems(error))
            name, reasons = next(iter(problems.items()))
            raise InvalidInput(f"{name}: {reasons[0]}" if name else reasons[0], fields=problems) from None
        values = {name: getattr(read, name) for name in self._arguments.model_fields}
        return self.function(caller, **values).model_dump(mode="json")

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """JSON schema of the arguments: an object without references, in which optional arguments may be left out."""
        return _describe(self._arguments.model_json_schema(), drop_null=True)

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        """JSON schema of what `run` returns: an object without references."""
        result: type[Result] = get_type_hints(self.function)["return"]
        return _describe(result.model_json_schema(mode="serialization"), drop_null=False)

    @cached_property
    def _arguments(self) -> type[Arguments]:
        hints = get_type_hints(self.function, include_extras=True)
        _caller, *parameters = signature(self.function).parameters.values()
        fields: dict[str, Any] = {
            one.name: (hints[one.name], ... if one.default is Parameter.empty else one.default) for one in parameters
        }
        return create_model("Arguments", __base__=Arguments, **fields)


def tool(title: str, description: str, *, name: str = "", **hints: Any) -> Callable[[Callable[..., Result]], Tool]:
    """Make a tool of a function, of its name unless another is given. `hints`: what else a `Tool` has."""
    return lambda function: Tool(name or function.__name__, title, description, function, **hints)


def _list_problems(error: ValidationError) -> Iterator[tuple[str, list[str]]]:
    for problem in error.errors():
        unknown = problem["type"] == "extra_forbidden"
        yield ".".join(map(str, problem["loc"])), ["There is no such argument." if unknown else f"{problem['msg']}."]


def _describe(schema: dict[str, Any], *, drop_null: bool) -> dict[str, Any]:
    """Return the schema of arguments or a result without what the tool's description says anyway."""
    simple: dict[str, Any] = _simplify(schema, drop_null=drop_null)
    simple.pop("description", None)
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
