"""The rows of a list, read so that long texts and large numbers of memories cost nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.db.models import Count, F, Func, IntegerField, JSONField, QuerySet, TextField, Value
from django.utils.text import Truncator

from apps.core.text.clean import readable_text
from apps.panel.memories.kinds import BOTH, CHANGEABLE, LONG_TERM, MemoryKind
from apps.panel.memories.query import ALL, CHOICES, ListQuery, has_all
from apps.panel.texts import list_needles, split_found

PER_PAGE = 50

# Of a text in a list; a value may have 32,000.
SHOWN_CHARACTERS = 400

# Of a list in a list, and of each of its items.
SHOWN_ITEMS, ITEM_CHARACTERS = 12, 80

# How far the results of a search are counted.
COUNTED = 10_000

# Memories of one kind: a list may be of both.
Part = tuple[MemoryKind, QuerySet[Any]]

_STRUCTURED = "CASE WHEN jsonb_typeof(%(expressions)s) IN ('array', 'object') THEN %(expressions)s END"


@dataclass(frozen=True, slots=True)
class Row:
    """A memory as a list shows it. ``title``, ``text``: pieces, each with whether it is a word that was looked for.

    ``items``: the first of a list, each in pieces, and ``more``: how many there are besides; then ``text`` is empty.
    ``base``: what the names of its addresses begin with.
    """

    memory: Any
    kind: MemoryKind
    title: Sequence[tuple[bool, str]]
    text: Sequence[tuple[bool, str]]
    items: Sequence[Sequence[tuple[bool, str]]]
    more: int
    is_cut: bool
    changeable: bool
    made_at: datetime

    @property
    def base(self) -> str:
        return self.kind.base

    @property
    def name(self) -> str:
        return str(self.memory.key) if self.is_long_term else Truncator(self.memory.shown).chars(40)

    @property
    def is_long_term(self) -> bool:
        return self.kind is LONG_TERM


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list. ``total``: all rows; where ``is_more``, there are more than that."""

    rows: Sequence[Row]
    number: int
    total: int
    is_more: bool

    @property
    def first(self) -> int:
        return (self.number - 1) * PER_PAGE + 1

    @property
    def last(self) -> int:
        return self.first + len(self.rows) - 1

    def list_numbers(self) -> list[int | None]:
        """The pages to offer, None where some are left out."""
        paginator = Paginator(range(self.total), PER_PAGE)
        numbers = paginator.get_elided_page_range(self.number, on_each_side=1, on_ends=1)
        return [number if isinstance(number, int) else None for number in numbers]


def count_choices(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Count memories by kind and every combination of choices: {"kind": …, "status": …, …, "count": n}. One query.

    What memories of a kind have no choice of is "".
    """
    names = ("kind", *CHOICES)
    counted = []
    for kind, memories in parts:
        values = {name: F(name) if name in kind.choices else Value("", output_field=TextField()) for name in CHOICES}
        columns = {f"of_{name}": value for name, value in {"kind": Value(kind.name), **values}.items()}
        rows = memories.order_by().values(**columns).annotate(count=Count("*"))
        counted.append(rows.values_list(*columns, "count"))
    found = counted[0].union(*counted[1:], all=True) if len(counted) > 1 else counted[0]
    return [dict(zip((*names, "count"), row, strict=True)) for row in found]


def sum_choices(counts: Iterable[dict[str, Any]], query: ListQuery, *, of: str = "") -> dict[str, int]:
    """Add up counts that the list's choices leave over, by the values of the choice `of`, which does not narrow them.

    Without `of`, everything is under "".
    """
    sums: dict[str, int] = {}
    for row in counts:
        others = [name for name in CHOICES if name != of]
        if all(_is_wanted(row[name], getattr(query, name)) for name in others):
            value = row[of] if of else ""
            sums[value] = sums.get(value, 0) + row["count"]
    return sums


def _is_wanted(value: str, wanted: str) -> bool:
    return wanted in (value, ALL, "")


def read_page(parts: Sequence[Part], query: ListQuery, *, total: int | None = None) -> Page:
    """Return the page of the list that `query` asks for, or the last one there is.

    ``parts``: narrowed and in order. ``total``: how many, where known. IDs first: sorting carries no texts along.
    """
    is_more = False
    if total is None:
        total = _join(parts, query, until=COUNTED + 1).count()
        is_more, total = total > COUNTED, min(total, COUNTED)
    number = max(1, min(query.page, -(-total // PER_PAGE)))
    start = (number - 1) * PER_PAGE
    rows = read_first(parts, query, until=start + PER_PAGE, start=start)
    return Page(rows=rows, number=number, total=total, is_more=is_more)


def read_first(parts: Sequence[Part], query: ListQuery, *, until: int, start: int = 0) -> list[Row]:
    """Return the first `until` memories of all `parts` but for `start` of them, in the order of the list.

    A query for all their IDs, and one for each kind there is.
    """
    wanted = [(kind, memory_id) for kind, memory_id, _at in _join(parts, query, until=until)[start:]]
    rows: dict[tuple[str, UUID], Row] = {}
    for kind in BOTH:
        mine = [memory_id for name, memory_id in wanted if name == kind.name]
        rows |= {(kind.name, row.memory.pk): row for row in read_rows(kind, mine, query)}
    return [rows[place] for place in wanted if place in rows]


def _join(parts: Sequence[Part], query: ListQuery, *, until: int) -> QuerySet[Any]:
    """The kinds and IDs of the first memories of all `parts`, in the order of the list. Each part is cut by itself,
    so that an index may answer it."""
    sort = query.sort.removeprefix("-")
    # An empty part would be left out of the union, which is then none, and cannot be put in order.
    parts = [(kind, memories) for kind, memories in parts if has_all(kind, query)] or parts[:1]
    tops: list[QuerySet[Any]] = [
        memories.annotate(of_kind=Value(kind.name), at=F(kind.sorts[sort])).values_list("of_kind", "pk", "at")[:until]
        for kind, memories in parts
    ]
    if len(tops) < 2:
        return tops[0]
    return tops[0].union(*tops[1:], all=True).order_by("-at" if query.sort.startswith("-") else "at", "-id")[:until]


def read_rows(kind: MemoryKind, ids: Sequence[UUID], query: ListQuery) -> list[Row]:
    """Return these memories as rows, in this order, with the words of the search marked; what is gone is left out."""
    if not ids:
        return []
    text = "(%(expressions)s #>> '{}')" if kind is LONG_TERM else "%(expressions)s"
    rows = kind.model.objects.select_related("user", "space").defer(*kind.memory.derived, kind.text)
    rows = rows.annotate(
        shown=Func(F(kind.text), template=f"left({text}, {SHOWN_CHARACTERS})", output_field=TextField()),
        length=Func(F(kind.text), template=f"length({text})", output_field=IntegerField()),
    )
    if kind is LONG_TERM:
        rows = rows.annotate(structured=Func(F(kind.text), template=_STRUCTURED, output_field=JSONField()))
    found = rows.in_bulk(ids)
    needles = list_needles(query.q)
    return [_make_row(found[memory_id], kind, needles) for memory_id in ids if memory_id in found]


def _make_row(memory: Any, kind: MemoryKind, needles: Sequence[str]) -> Row:
    value = getattr(memory, "structured", None)
    items = [readable_text(item) for item in value] if isinstance(value, list) else []
    text = "" if items else memory.shown if value is None else readable_text(value)[:SHOWN_CHARACTERS]
    is_cut = not items and memory.length > SHOWN_CHARACTERS
    return Row(
        memory=memory,
        kind=kind,
        title=split_found(getattr(memory, "key", ""), needles),
        text=split_found(text, needles),
        items=[split_found(item[:ITEM_CHARACTERS], needles) for item in items[:SHOWN_ITEMS]],
        more=max(len(items) - SHOWN_ITEMS, 0),
        is_cut=is_cut,
        changeable=memory.status in CHANGEABLE,
        made_at=getattr(memory, kind.memory.made_at),
    )
