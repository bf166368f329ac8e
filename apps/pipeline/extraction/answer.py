"""The answer an extraction call asks for, and reading it: each item as far as it is valid, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from apps.core.llm.types import ResponseFormat

MAX_ITEMS = 50
"""Of each kind that are read of one answer; a model that gives more is in a loop."""

_Text = Annotated[str, Field(min_length=1, max_length=8_000)]
_Confidence = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
_Item = TypeVar("_Item", bound="_AnswerItem")


def _read_targets(value: Any) -> tuple[int, ...]:
    """The numbers among what was given; a wrong one does not void the others."""
    given = value if isinstance(value, list | tuple) else (value,)
    return tuple(int(one) for one in given if type(one) is int or (isinstance(one, str) and one.strip().isdecimal()))


class _AnswerItem(BaseModel):
    """An item, with the number of the user's message that it comes from."""

    model_config = ConfigDict(str_strip_whitespace=True)

    about: int


Targets = Annotated[tuple[int, ...], BeforeValidator(_read_targets)]
"""Numbers of known memories; a model may write one number, a list of them, or null."""


class MemoryAnswer(_AnswerItem):
    """One fact, and the verdict on it. `event`: the words that say when it happened.

    `target`: the known memories that the relation is to; `left`: what still holds of one that ends in part; `merged`:
    one text that says both, for a refinement. `revises`: the places in this list, from 1, of facts of earlier messages
    that this one takes back or corrects.
    """

    content: _Text
    tags: list[str] = Field(default_factory=list, max_length=20)
    event: str | None = None
    relation: Literal["new", "same", "refines", "contradicts"] = "new"
    target: Targets = ()
    left: str | None = None
    merged: str | None = None
    revises: Targets = ()
    confidence: _Confidence = 0.9


class ChangeAnswer(_AnswerItem):
    """A change to known memories that comes without a fact ("Deleted it."). `text`: for replace and add."""

    action: Literal["end", "replace", "add"]
    target: Targets
    text: str | None = None
    confidence: _Confidence = 0.9


class EntryAnswer(_AnswerItem):
    """One long-term entry (E5); `apps.memory` judges what is in it."""

    category: Any = None
    key: Any = None
    value: Any = None
    source: Any = None
    confidence: Any = None
    mode: Any = None


class ProfileAnswer(_AnswerItem):
    """The whole new text of a section of the profile."""

    section: Annotated[str, Field(min_length=1, max_length=100)]
    text: _Text


class ContextAnswer(_AnswerItem):
    """The background of a case."""

    title: Annotated[str, Field(min_length=1)]
    content: Annotated[str, Field(min_length=1)]


class ExtractionAnswer(BaseModel):
    """The whole answer; every part may be empty."""

    memories: list[MemoryAnswer] = Field(default_factory=list)
    changes: list[ChangeAnswer] = Field(default_factory=list)
    entries: list[EntryAnswer] = Field(default_factory=list)
    profile: list[ProfileAnswer] = Field(default_factory=list)
    context: ContextAnswer | None = None


@cache
def get_extraction_format() -> ResponseFormat:
    """Return the JSON schema of `ExtractionAnswer`."""
    return ResponseFormat(name="extraction", schema=ExtractionAnswer.model_json_schema())


def read_answer(answer: dict[str, Any]) -> ExtractionAnswer:
    """Return what is valid of a model's answer: a wrong item is left out, a wrong detail falls back to its default."""
    context = answer.get("context")
    return ExtractionAnswer.model_construct(
        memories=_read_memories(answer.get("memories")),
        changes=list(_read_items(ChangeAnswer, answer.get("changes"))),
        entries=list(_read_items(EntryAnswer, answer.get("entries"))),
        profile=list(_read_items(ProfileAnswer, answer.get("profile"))),
        context=_read_item(ContextAnswer, context) if isinstance(context, dict) else None,
    )


def _read_memories(value: Any) -> list[MemoryAnswer]:
    """The valid facts; `revises` names their places among these."""
    items = enumerate(value[:MAX_ITEMS] if isinstance(value, list) else (), start=1)
    read = {place: fact for place, item in items if isinstance(item, dict) and (fact := _read_item(MemoryAnswer, item))}
    places = {place: at for at, place in enumerate(read, start=1)}
    return [
        fact.model_copy(update={"revises": tuple(places[one] for one in fact.revises if one in places)})
        for fact in read.values()
    ]


def _read_items(model: type[_Item], value: Any) -> Iterator[_Item]:
    for item in value[:MAX_ITEMS] if isinstance(value, list) else ():
        if isinstance(item, dict) and (read := _read_item(model, item)) is not None:
            yield read


def _read_item(model: type[_Item], item: dict[str, Any]) -> _Item | None:
    """The item without the optional details that are wrong; None where a required one is."""
    try:
        return model.model_validate(item)
    except ValidationError as error:
        wrong = {problem["loc"][0] for problem in error.errors() if problem["loc"]}
    if any(field.is_required() for name, field in model.model_fields.items() if name in wrong):
        return None
    return model.model_validate({name: value for name, value in item.items() if name not in wrong})
