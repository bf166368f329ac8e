"""The two kinds of memory, each declared once: its fields and what they take part in, its identity, its text.

History, undo, what was known at a time, the timeline, files of memories, deletion and the lists of API and panel read
these declarations: a new field of a model is one line here, and a test fails where it is missing.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, ClassVar
from uuid import UUID

from django.db import models
from django.db.models import BooleanField, Exists, F, Func, OuterRef, Q, QuerySet, Value
from django.utils.translation import gettext_noop

from apps.accounts.models import User
from apps.accounts.spaces import changed_from, held_by, seen_from
from apps.core.errors import NotFound
from apps.core.text.clean import readable_text
from apps.core.text.fold import fold_for_search, normalize_key, normalize_value
from apps.core.text.keywords import extract_keywords
from apps.core.text.search import bm25_terms, index_literal, index_terms, keyword_query
from apps.core.text.segment import is_cjk
from apps.core.text.sentences import split_sentences
from apps.memory.changes.records import ChangeDraft, Snapshot, describe_change
from apps.memory.keyed import add_question_words, join_text, list_items, list_words, phrase_memory
from apps.memory.marks import sort_marks
from apps.memory.models import (
    SEARCH_FIELDS,
    AtomicEmbedding,
    AtomicMemory,
    Change,
    LongTermEmbedding,
    LongTermMemory,
    Status,
)
from apps.memory.tombstones import digest_content, digest_key, digest_values
from apps.memory.types import KindName
from apps.memory.validation import check_atomic, check_long_term, find_event_problem

CURRENT = (Status.ACTIVE, Status.PENDING)  # what can be changed. The other statuses are history.

_MAX_SEARCH_KEYWORDS = 50
_STEM_BEGINS = 3  # letters that a word and its stem have in common


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a memory, as the API, files and the audit record call it.

    `text`: it is what the memory says, and its derived columns follow. `tracked`: the audit record keeps it, and undo
    restores it; with `if_set` only where it is set, so that records from before there was such a field stay true.
    `editable`: its owner writes it. `in_api`: False for what only files hold.
    """

    name: str
    text: bool = False
    tracked: bool = False
    if_set: bool = False
    editable: bool = False
    required: bool = False
    in_api: bool = True


class MemoryKind(ABC):
    """One kind of memory. Whatever differs between the kinds is declared in its two subclasses.

    `derived`: columns that follow from the text, which only search and comparison read. `internal`: other columns
    that no record, file or answer holds. `made_at`, `said_at`: the columns of when it was stored and said. `identity`:
    the derived column that no two active memories of a person share; `named`: the field in which such a clash is told,
    `taken` and `taken_since`: the sentences for it.
    """

    name: ClassVar[KindName]
    slug: ClassVar[str]
    model: ClassVar[type[Any]]
    embeddings: ClassVar[type[Any]]
    fields: ClassVar[tuple[Field, ...]]
    derived: ClassVar[tuple[str, ...]]
    internal: ClassVar[tuple[str, ...]] = ("user", "embedding_refusals")
    made_at: ClassVar[str]
    said_at: ClassVar[str]
    identity: ClassVar[str]
    named: ClassVar[str]
    taken: ClassVar[str]
    taken_since: ClassVar[str]

    # What follows from the declaration

    @cached_property
    def change_kind(self) -> Change.Kind:
        """The kind that its records have."""
        return Change.Kind(self.name.value)

    @cached_property
    def file_fields(self) -> tuple[str, ...]:
        """The names of all fields, as a file of memories has them."""
        return tuple(field.name for field in self.fields)

    @cached_property
    def api_fields(self) -> tuple[str, ...]:
        """The names of the fields that the API answers with."""
        return tuple(field.name for field in self.fields if field.in_api)

    @cached_property
    def editable(self) -> tuple[str, ...]:
        """The names of the fields that their owner writes."""
        return tuple(field.name for field in self.fields if field.editable)

    @cached_property
    def tracked(self) -> tuple[str, ...]:
        """The names of the fields that the audit record keeps."""
        return tuple(field.name for field in self.fields if field.tracked)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The names of the fields that say what a memory says."""
        return tuple(field.name for field in self.fields if field.text)

    @cached_property
    def text_columns(self) -> tuple[str, ...]:
        """The text with all that is derived from it: what saves one of these must save them all."""
        return (*self.texts, *self.derived)

    @cached_property
    def plain_columns(self) -> tuple[str, ...]:
        """The names of the model's other fields that services change."""
        left_out = {"id", *self.internal, *self.text_columns}
        return tuple(field.name for field in self.model._meta.concrete_fields if field.name not in left_out)

    def column(self, name: str) -> models.Field[Any, Any]:
        """Return the model's field of a declared one: `superseded_by` and `session_id` are its foreign keys."""
        found: models.Field[Any, Any] = self.model._meta.get_field(name.removesuffix("_id"))
        return found

    # Reading

    def rows(self, user: User) -> QuerySet[Any]:
        """Return the person's memories of every status that they see from where they look, newest first (P2)."""
        found: QuerySet[Any] = self.model.objects.filter(seen_from(user), user=user).defer(*self.derived)
        return found.order_by(f"-{self.made_at}", "-id")

    def active(self, user: User) -> QuerySet[Any]:
        """Return the person's active memories, newest first."""
        return self.rows(user).filter(status=Status.ACTIVE)

    def held(self, user: User) -> QuerySet[Any]:
        """Return the active memories in the very space that what the person makes goes to: no two are the same."""
        return self.active(user).filter(held_by(user))

    def changeable(self, user: User) -> QuerySet[Any]:
        """Return the memories that may be changed from where the person looks (P5)."""
        return self.rows(user).filter(changed_from(user))

    def get(self, user: User, memory_id: UUID, *, to_change: bool = False) -> Any:
        """Return a memory of any status, or raise `NotFound` for none and for another person's.

        `to_change`: also for one that is seen and not changed from where the person looks.
        """
        rows = self.changeable(user) if to_change else self.rows(user)
        memory = rows.filter(id=memory_id).first()
        if memory is None:
            raise NotFound(gettext_noop("This memory does not exist."))
        return memory

    def by_ids(self, user: User, ids: Collection[UUID]) -> dict[UUID, Any]:
        """Return those of the person's memories, of any status, that still exist."""
        return self.rows(user).in_bulk(list(ids))

    # History

    def snapshot(self, memory: Any) -> Snapshot:
        """Return the tracked fields of a memory, as JSON: what a person could care for."""
        state = {}
        for field in self.fields:
            if field.tracked:
                value = getattr(memory, self.column(field.name).attname)
                if value or not field.if_set:
                    state[field.name] = _encode(value)
        return state

    def draft(self, memory: Any, *, action: Change.Action, before: Snapshot | None, **fields: Any) -> ChangeDraft:
        """Return the record of a change of a memory, as it is now; `fields`: the others of `ChangeDraft`."""
        space_id = memory.space_id
        return describe_change(self.change_kind, memory, action=action, before=before, space_id=space_id, **fields)

    def put_back(self, memory: Any, state: Snapshot) -> None:
        """Give a memory the tracked fields that it had; what is derived from its text stays as it is."""
        for name in self.tracked:
            column = self.column(name)
            value = _decode(column, state[name]) if name in state else column.get_default()
            setattr(memory, column.attname, value)

    # Text

    def get_text(self, memory: Any) -> dict[str, Any]:
        """Return the fields that say what the memory says."""
        return {name: getattr(memory, name) for name in self.texts}

    def assign(self, memory: Any, values: Mapping[str, Any]) -> bool:
        """Set declared fields of a memory, and what is derived from them; whether it says something else now."""
        said = json.dumps(self.get_text(memory))  # as JSON: 1 is neither true nor 1.0 to whoever wrote it
        for name, value in values.items():
            setattr(memory, self.column(name).attname, value)
        is_rewritten = json.dumps(self.get_text(memory)) != said
        if is_rewritten:
            self.derive(memory)
        return is_rewritten

    @abstractmethod
    def derive(self, memory: Any) -> None:
        """Set the columns that follow from the text."""

    @abstractmethod
    def identify(self, values: Mapping[str, Any]) -> str:
        """Return the form of the identity for these fields."""

    @abstractmethod
    def describe(self, state: Mapping[str, Any]) -> tuple[str, str]:
        """Return the title and the text of a state of a memory, for people to read; the title may be empty."""

    def say(self, state: Mapping[str, Any]) -> str:
        """Return what the fields of a memory say, on one line: its text, behind its title where it has one."""
        return ": ".join(filter(None, self.describe(state)))

    @abstractmethod
    def phrase(self, memory: Any) -> str:
        """Return the text that is embedded."""

    @abstractmethod
    def split(self, values: Mapping[str, Any]) -> list[Any]:
        """Return the parts of which single ones can end: sentences, or items of a list."""

    @abstractmethod
    def join(self, parts: Sequence[Any]) -> dict[str, Any] | None:
        """Return the fields that say these parts; None where nothing is left to say."""

    # Rules

    @abstractmethod
    def clean(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return fields as they are stored. Raises `InvalidInput` or `TooLarge` with the reasons by field."""

    def find_problem(self, values: Mapping[str, Any]) -> str | None:
        """Return why fields cannot be together, though each of them can be."""
        return None

    @abstractmethod
    def digests(self, user: User, values: Mapping[str, Any], *, parts: bool = False) -> set[str]:
        """Return the digests by which these fields would be known as deleted; with `parts` those of sentences, too."""

    def list_replaced(self, user: User, memory: Any) -> list[Any]:
        """Return the active memories that took the place of one that is history."""
        return list(self.active(user).filter(supersedes=memory, space=memory.space_id))

    @abstractmethod
    def search(self, memories: QuerySet[Any], text: str, *, by_index: bool | None = None) -> QuerySet[Any]:
        """Keep the memories that hold what is looked for.

        Chinese and English, traditional and simplified, whatever the case and punctuation (K3). They are found by the
        index; only where it knows none, which takes a query to tell, are texts read. `by_index`: which of both, as told
        before.
        """

    @abstractmethod
    def holds(self, state: Snapshot, text: str) -> bool:
        """Whether a memory held what `search` would have found it by."""


def _encode(value: Any) -> Any:
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat()
        case UUID():
            return str(value)
        case str():
            return str(value)  # of a choice its word
        case list():
            return list(value)
    return value


def _decode(column: models.Field[Any, Any], value: Any) -> Any:
    if value is None:
        return None
    if isinstance(column, models.DateTimeField):
        return datetime.fromisoformat(value)
    if isinstance(column, models.ForeignKey):
        return UUID(value)
    return list(value) if isinstance(value, list) else value


class LongTermKind(MemoryKind):
    """Long-term memories (L1): a value under a key, which no two active ones share (L3)."""

    name, slug = KindName.LONG_TERM, "long-term"
    model, embeddings = LongTermMemory, LongTermEmbedding
    fields = (
        Field("id"),
        Field("session_id"),
        Field("message_id"),
        Field("space", tracked=True, if_set=True),
        Field("category", tracked=True, editable=True, required=True),
        Field("key", tracked=True, editable=True, required=True, text=True),
        Field("value", tracked=True, editable=True, required=True, text=True),
        Field("confidence", tracked=True, editable=True),
        Field("source", tracked=True, editable=True),
        Field("status", tracked=True),
        Field("mode", tracked=True),
        Field("superseded_by", tracked=True),
        Field("muted", tracked=True, if_set=True),
        Field("valid_until", tracked=True, if_set=True, editable=True),
        Field("sensitive", tracked=True, if_set=True, editable=True),
        Field("created_at"),
        Field("updated_at"),
        Field("last_accessed"),
        Field("access_count"),
    )
    derived = ("normalized_key", "normalized_value", *SEARCH_FIELDS)
    made_at = said_at = "created_at"
    identity, named = "normalized_key", "key"
    taken = gettext_noop("Another active memory already uses this key.")
    taken_since = gettext_noop("Another active memory now uses this key.")

    def rows(self, user: User) -> QuerySet[LongTermMemory]:
        # The normalised key groups and finds; only what search reads is too large to come with every row.
        found = LongTermMemory.objects.filter(seen_from(user), user=user).defer(*SEARCH_FIELDS)
        return found.order_by("-created_at", "-id")

    def active(self, user: User) -> QuerySet[Any]:
        """Return the active ones; in a space its own entry of a key, and not the one that is everywhere (P2)."""
        found = super().active(user)
        if user.sight.space is None:
            return found
        own = LongTermMemory.objects.filter(
            user=user, status=Status.ACTIVE, space=user.sight.space, normalized_key=OuterRef("normalized_key")
        )
        return found.exclude(Exists(own), space=None)

    def derive(self, memory: Any) -> None:
        """Set identity, sameness (L3), index terms (K3) and words (K4)."""
        memory.normalized_key, memory.normalized_value = normalize_key(memory.key), normalize_value(memory.value)
        text = add_question_words(join_text(key=memory.key, value=memory.value), key=memory.key)
        memory.words = list_words(text)
        memory.search_vector = index_literal(text)

    def identify(self, values: Mapping[str, Any]) -> str:
        return normalize_key(values["key"])

    def describe(self, state: Mapping[str, Any]) -> tuple[str, str]:
        return state["key"], readable_text(state["value"])

    def phrase(self, memory: Any) -> str:
        return phrase_memory(key=memory.key, value=memory.value)

    def split(self, values: Mapping[str, Any]) -> list[Any]:
        return list_items(values["value"])

    def join(self, parts: Sequence[Any]) -> dict[str, Any] | None:
        return {"value": list(parts)} if parts else None

    def clean(self, values: Mapping[str, Any]) -> dict[str, Any]:
        check_long_term(values)
        cleaned = {name: value.strip() if name == "key" else value for name, value in values.items()}
        return cleaned | ({"sensitive": sort_marks(cleaned["sensitive"])} if "sensitive" in cleaned else {})

    def digests(self, user: User, values: Mapping[str, Any], *, parts: bool = False) -> set[str]:
        return {digest_key(user, normalize_key(values["key"])), *digest_values(user, values["value"])}

    def list_replaced(self, user: User, memory: Any) -> list[Any]:
        return list(self.active(user).filter(normalized_key=memory.normalized_key, space=memory.space_id))

    def search(self, memories: QuerySet[Any], text: str, *, by_index: bool | None = None) -> QuerySet[Any]:
        """Keep what holds every keyword as the beginning of a word; without keywords, all of `text` as it stands."""
        if keywords := extract_keywords(text, limit=_MAX_SEARCH_KEYWORDS):
            matches = Func(
                F("search_vector"),
                Value(" & ".join(map(keyword_query, keywords))),
                template="(%(expressions)s::tsquery)",
                arg_joiner=" @@ ",
                output_field=BooleanField(),
            )
            indexed = memories.filter(matches)
            if indexed.exists() if by_index is None else by_index:
                return indexed
        whole = normalize_key(text)
        return memories.filter(Q(normalized_key__contains=whole) | Q(normalized_value__contains=whole))

    def holds(self, state: Snapshot, text: str) -> bool:
        said = join_text(key=state["key"], value=state["value"])
        folded = fold_for_search(said)
        if fold_for_search(text).strip() in folded:
            return True
        keywords = extract_keywords(text, limit=_MAX_SEARCH_KEYWORDS)
        if not keywords:
            return normalize_key(text) in normalize_key(said)
        if not all(keyword in folded for keyword in keywords):
            return False  # without cutting the text into words, which takes a hundred times as long
        terms = index_terms(said)
        return all(any(term.startswith(keyword) for term in terms) for keyword in keywords)


class AtomicKind(MemoryKind):
    """Atomic memories (A1): statements, of which no two active ones should say the same (A3).

    A file also holds what accepting a pending one does, and of which memory one is the rest.
    """

    name, slug = KindName.ATOMIC, "atomic"
    model, embeddings = AtomicMemory, AtomicEmbedding
    fields = (
        Field("id"),
        Field("session_id"),
        Field("message_id"),
        Field("space", tracked=True, if_set=True),
        Field("content", tracked=True, editable=True, required=True, text=True),
        Field("source"),
        Field("tags", tracked=True, editable=True),
        Field("timestamp", tracked=True, editable=True),
        Field("event_start", tracked=True, editable=True),
        Field("event_end", tracked=True, editable=True),
        Field("status", tracked=True),
        Field("superseded_by", tracked=True),
        Field("muted", tracked=True, if_set=True),
        Field("valid_until", tracked=True, if_set=True, editable=True),
        Field("sensitive", tracked=True, if_set=True, editable=True),
        Field("create_time"),
        Field("updated_at"),
        Field("left_of", in_api=False),
        Field("proposal", in_api=False),
    )
    derived = ("normalized_content", "terms", "term_count")
    made_at, said_at = "create_time", "timestamp"
    identity, named = "normalized_content", "content"
    taken = gettext_noop("Another active memory already says this.")
    taken_since = gettext_noop("Another active memory now says this.")

    def derive(self, memory: Any) -> None:
        """Set the form in which sameness is decided, and the terms for BM25."""
        memory.normalized_content = normalize_value(memory.content)
        memory.terms = bm25_terms(memory.content)
        memory.term_count = len(memory.terms)

    def identify(self, values: Mapping[str, Any]) -> str:
        return normalize_value(values["content"])

    def describe(self, state: Mapping[str, Any]) -> tuple[str, str]:
        return "", str(state["content"])

    def phrase(self, memory: Any) -> str:
        return str(memory.content)

    def split(self, values: Mapping[str, Any]) -> list[Any]:
        return split_sentences(values["content"])

    def join(self, parts: Sequence[Any]) -> dict[str, Any] | None:
        content = "".join(parts).strip()
        return {"content": content} if content else None

    def clean(self, values: Mapping[str, Any]) -> dict[str, Any]:
        check_atomic(values)
        cleaned = dict(values)
        if "content" in cleaned:
            cleaned["content"] = cleaned["content"].strip()
        if "tags" in cleaned:
            cleaned["tags"] = list(dict.fromkeys(tag.strip() for tag in cleaned["tags"]))
        if "sensitive" in cleaned:
            cleaned["sensitive"] = sort_marks(cleaned["sensitive"])
        return cleaned

    def find_problem(self, values: Mapping[str, Any]) -> str | None:
        return find_event_problem(values.get("event_start"), values.get("event_end"))

    def digests(self, user: User, values: Mapping[str, Any], *, parts: bool = False) -> set[str]:
        # A merged memory holds what several messages said: each of its sentences may come from one of its own.
        told = [values["content"], *(split_sentences(values["content"]) if parts else ())]
        return {digest_content(user, text.strip()) for text in told if text.strip()}

    def search(self, memories: QuerySet[Any], text: str, *, by_index: bool | None = None) -> QuerySet[Any]:
        """Keep what holds every term of `text`, whatever the inflection; without terms, all of it as it stands."""
        # The index knows words and pairs of characters, not where one character is: that is read.
        if (terms := bm25_terms(text)) and not all(len(term) == 1 and is_cjk(term) for term in terms):
            indexed = memories.filter(terms__contains=list(dict.fromkeys(terms)))
            if indexed.exists() if by_index is None else by_index:
                return indexed
        return memories.filter(normalized_content__contains=normalize_value(text))

    def holds(self, state: Snapshot, text: str) -> bool:
        folded = fold_for_search(state["content"])
        if fold_for_search(text).strip() in folded:
            return True
        terms = set(bm25_terms(text))
        if not terms:
            return normalize_value(text) in normalize_value(state["content"])
        if not all(term[:_STEM_BEGINS] in folded for term in terms):
            return False  # without cutting the text into words, which takes a hundred times as long
        return terms <= set(bm25_terms(state["content"]))


def join_contents(first: str, second: str) -> str:
    """Return what two contents say, one after the other; one of them where it says all that the other does."""
    one, other = normalize_value(first), normalize_value(second)
    if other in one:
        return first
    if one in other:
        return second
    between = "" if first.rstrip().endswith(("。", "！", "？")) else " "
    return f"{first.rstrip()}{between}{second.lstrip()}"


LONG_TERM, ATOMIC = LongTermKind(), AtomicKind()
KINDS: tuple[MemoryKind, ...] = (LONG_TERM, ATOMIC)
KINDS_BY_SLUG = {kind.slug: kind for kind in KINDS}


def get_kind(name: str) -> MemoryKind:
    """Return the kind of that name."""
    return next(kind for kind in KINDS if kind.name == name)
