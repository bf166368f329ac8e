"""What a list of memories shows, as its address says it, and which of them a person selected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils.dateparse import parse_datetime

from apps.accounts.spaces import NONE
from apps.accounts.types import Sensitive
from apps.core.text.clean import clean_text
from apps.memory.models import AtomicSource, Category, Source, Status
from apps.panel.memories.kinds import BOTH, KINDS, MemoryKind, list_choices, list_sorts
from apps.panel.texts import read_id, read_number

ALL = "all"
MAX_WORDS_CHARACTERS = 1_000
MAX_TAG_CHARACTERS = 50

# How old what is shown may be, by days.
AGES = {"1": timedelta(days=1), "7": timedelta(days=7), "30": timedelta(days=30), "365": timedelta(days=365)}


class AnySource:
    """The sources of both kinds, which have the first in common."""

    choices = tuple(dict((*Source.choices, *AtomicSource.choices)).items())
    values = tuple(value for value, _label in choices)


CHOICES: Mapping[str, type[Any]] = {"status": Status, "category": Category, "source": AnySource}


@dataclass(frozen=True, slots=True)
class ListQuery:
    """One list. Empty fields do not narrow it; ``status`` is `ALL` for every status, ``muted`` and ``over``
    "yes" or "no".

    ``sensitive``: a category that they are marked with (D4).
    ``sort``: a name of `MemoryKind.sorts`, after a minus the largest first. ``days``: a key of `AGES`. ``user``: the
    ID of the person, for staff. ``kind``: a name of `KINDS`. ``space``: the ID of one, or `NONE` for none.
    """

    kind: str = ""
    q: str = ""
    status: str = Status.ACTIVE.value
    category: str = ""
    source: str = ""
    tag: str = ""
    muted: str = ""
    over: str = ""
    sensitive: str = ""
    days: str = ""
    space: str = ""
    user: str = ""
    sort: str = "-created"
    page: int = 1

    @property
    def kinds(self) -> tuple[MemoryKind, ...]:
        return (KINDS[self.kind],) if self.kind else BOTH

    @property
    def counts_everything(self) -> bool:
        """Whether the counts by choice are the counts of this list: nothing else narrows it."""
        return not (self.q or self.tag or self.muted or self.over or self.sensitive or self.days or self.space)

    def encode(self, **changes: Any) -> str:
        """Return the address of this list with changes, from its first page on, as a query string: "?…", or ""."""
        wanted = asdict(replace(self, **{"page": 1, **changes}))
        plain = asdict(ListQuery())
        told = urlencode({name: value for name, value in wanted.items() if value != plain[name]})
        return f"?{told}" if told else ""


def read_query(parameters: Mapping[str, str], *, staff: bool) -> ListQuery:
    """Return what the address of a list asks for; what it cannot mean is left out.

    Only staff look at somebody in particular.
    """
    given = {name: clean_text(_read(parameters, name)).strip() for name in ListQuery.__dataclass_fields__}
    found: dict[str, Any] = {"q": given["q"][:MAX_WORDS_CHARACTERS]}
    if given["kind"] in KINDS:
        found["kind"] = given["kind"]
    kinds = ListQuery(**found).kinds
    for name in list_choices(kinds):
        if given[name] in CHOICES[name].values or (name == "status" and given[name] == ALL):
            found[name] = given[name]
    if any(kind.tagged for kind in kinds):
        found["tag"] = given["tag"][:MAX_TAG_CHARACTERS]
    for name in ("muted", "over"):
        if given[name] in ("yes", "no"):
            found[name] = given[name]
    if given["sensitive"] in tuple(Sensitive):
        found["sensitive"] = given["sensitive"]
    if given["days"] in AGES:
        found["days"] = given["days"]
    if given["space"] == NONE or read_id(given["space"]):
        found["space"] = given["space"]
    if staff and read_number(given["user"]) is not None:
        found["user"] = given["user"]
    if given["sort"].removeprefix("-") in list_sorts(kinds):
        found["sort"] = given["sort"]
    found["page"] = read_number(given["page"]) or 1
    return ListQuery(**found)


# What the panel's other lists call it: links to those lead here, too.
_OTHERWISE = {"user": "user__id__exact", **{name: f"{name}__exact" for name in CHOICES}}


def _read(parameters: Mapping[str, str], name: str) -> str:
    return str(parameters.get(name) or parameters.get(_OTHERWISE.get(name, ""), ""))


def narrow(
    memories: QuerySet[Any], query: ListQuery, kind: MemoryKind, *, now: datetime, by_index: bool | None = None
) -> QuerySet[Any]:
    """Return those of `memories` that the list shows, in its order. Looking for words takes a query of its own.

    `by_index`: whether the index of words answers, where that is known already.
    """
    if not has_all(kind, query):
        return memories.none()
    chosen = narrow_owner(memories, query)
    for name in kind.choices:
        wanted = getattr(query, name)
        if wanted and wanted != ALL:
            chosen = chosen.filter(**{name: wanted})
    if query.days:
        chosen = chosen.filter(**{f"{kind.memory.made_at}__gte": now - AGES[query.days]})
    if query.space:
        chosen = chosen.filter(space=None if query.space == NONE else query.space)
    if query.muted:
        chosen = chosen.filter(muted=query.muted == "yes")
    if query.over:
        is_over = Q(valid_until__lte=now)
        chosen = chosen.filter(is_over if query.over == "yes" else ~is_over)
    if query.sensitive:
        chosen = chosen.filter(sensitive__contains=[query.sensitive])
    if query.tag:
        chosen = chosen.filter(tags__contains=[query.tag])
    if query.q:
        chosen = kind.memory.search(chosen, query.q, by_index=by_index)
    return chosen.order_by(*_order(query, kind))


def has_all(kind: MemoryKind, query: ListQuery) -> bool:
    """Whether memories of a kind have everything that the list is narrowed by: a category, say, only one kind has."""
    named = [name for name in CHOICES if getattr(query, name) not in ("", ALL)]
    return all(name in kind.choices for name in named) and (kind.tagged or not query.tag)


def knows_words(parts: Sequence[tuple[MemoryKind, QuerySet[Any]]], query: ListQuery, *, now: datetime) -> bool | None:
    """Whether the index of words answers: where it knows one memory in any of `parts`, texts of none are searched.

    One query for each part up to the first that is found; None without a search.
    """
    if not query.q:
        return None
    return any(narrow(memories, query, kind, now=now, by_index=True).exists() for kind, memories in parts)


def narrow_owner(memories: QuerySet[Any], query: ListQuery) -> QuerySet[Any]:
    return memories.filter(user_id=int(query.user)) if query.user else memories


def _order(query: ListQuery, kind: MemoryKind) -> tuple[Any, ...]:
    name = kind.sorts[query.sort.removeprefix("-")]
    # Found by the index of words, few rows are to be sorted. The planner takes them for many, and would rather go
    # through all in order: over an expression it cannot.
    field = Coalesce(F(name), F(name)) if query.q else F(name)
    nulls_last = True if kind.model._meta.get_field(name).null else None
    is_down = query.sort.startswith("-")
    return field.desc(nulls_last=nulls_last) if is_down else field.asc(nulls_last=nulls_last), "-id"


@dataclass(frozen=True, slots=True)
class Selection:
    """``ids``, or with ``until`` everything in the list that was stored by then: what came later was not seen.

    ``by_index``: how a search found it when it was selected. Once all of that is deleted, the same search would find
    parts of words, which nobody selected.
    """

    ids: tuple[UUID, ...] = ()
    until: datetime | None = None
    by_index: bool | None = None

    def pick(self, memories: QuerySet[Any], query: ListQuery, kind: MemoryKind, *, now: datetime) -> QuerySet[Any]:
        """Return the selected ones of `memories`, which who asks may see."""
        if self.until is None:
            return memories.filter(pk__in=self.ids)
        return narrow(memories, query, kind, now=now, by_index=self.by_index).filter(
            **{f"{kind.memory.made_at}__lte": self.until}
        )

    def settle(
        self, parts: Sequence[tuple[MemoryKind, QuerySet[Any]]], query: ListQuery, *, now: datetime
    ) -> Selection:
        """Return the selection with ``by_index`` as it is now, unless it is known already or makes no difference."""
        if self.until is None or self.by_index is not None:
            return self
        return replace(self, by_index=knows_words(parts, query, now=now))

    @property
    def fields(self) -> Mapping[str, Any]:
        """What a form repeats so that it means the same."""
        if self.until is None:
            return {"selected": [str(memory_id) for memory_id in self.ids]}
        found = {} if self.by_index is None else {"by_index": "1" if self.by_index else "0"}
        return {"all": "1", "until": self.until.isoformat(), **found}


def read_selection(request: HttpRequest, *, now: datetime) -> Selection:
    """Return what a form names in ``selected`` (IDs), or with ``all`` the list as it was at ``until``, or now."""
    if request.POST.get("all") == "1":
        try:
            until = parse_datetime(request.POST.get("until", ""))
        except ValueError:
            until = None
        by_index = {"1": True, "0": False}.get(request.POST.get("by_index", ""))
        return Selection(until=min(until, now) if until is not None and until.tzinfo else now, by_index=by_index)
    ids = filter(None, map(read_id, request.POST.getlist("selected")))
    return Selection(ids=tuple(dict.fromkeys(ids)))
