"""The list of memories, of one kind or of both: cards or a table, filters as chips, search, and what is new while one
looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.memory.models import Category, Change, Status
from apps.panel.answers import is_partial
from apps.panel.memories.kinds import BOTH, LONG_TERM, MemoryKind, list_choices, list_sorts
from apps.panel.memories.query import AGES, ALL, CHOICES, ListQuery, knows_words, narrow, narrow_owner, read_query
from apps.panel.memories.rows import Page, Part, Row, count_choices, read_first, read_page, sum_choices
from apps.panel.owned import sees_everybody

BOTH_NAME = "memories"
"""What the names of the addresses begin with where both kinds are in one list."""

LOOK_COOKIE = "panel_look"
NOBODY = "0"
"""The ID of no account."""

MAX_NEWS = 100
"""Changes reported one by one; with more, the page says that there are many."""


class ListPages:
    """`list_view` and its parts, each also an address of its own for htmx.

    `kinds`: what the list is of; `list_name`: what the names of its addresses begin with; `title`: its heading.
    """

    kinds: tuple[MemoryKind, ...]
    list_name: str
    admin_site: Any

    @property
    def base(self) -> str:
        """What the names of the list's addresses begin with, in their namespace."""
        return f"admin:{self.list_name}"

    @property
    def list_title(self) -> str:
        """The heading."""
        raise NotImplementedError

    def list_parts(self) -> list[URLPattern]:
        """The addresses of the list's parts, below its own."""
        return [path("news/", self.admin_site.admin_view(self.news_view), name=f"{self.list_name}_news")]

    def list_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The whole page, or for htmx all of it that a filter changes."""
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        query = replace(self.read_query(request), both="")
        if sees_everybody(request) and (name := request.GET.get("person", "").strip()):
            person = User.objects.filter(username=name).first()
            there = reverse(f"{self.base}_changelist")
            return HttpResponseRedirect(there + query.encode(user=str(person.pk) if person else NOBODY))
        # First: what comes after it is reported as news.
        cursor = self._get_cursor(request, query)
        counts = count_choices([(kind, narrow_owner(list_owned(request, kind), query)) for kind in BOTH])
        own = [row for row in counts if any(row["kind"] == kind.name for kind in self.kinds)]
        total = sum(sum_choices(own, query).values()) if query.counts_everything else None
        page = read_page(self._narrow(request, query), query, total=total)
        owner = self._find_owner(query)
        context = {
            **self._row_context(request, query),
            "page": page,
            "cursor": cursor,
            "groups": [list_kinds(query, self.kinds, counts), *list_groups(query, self.kinds, own)],
            "active": list_active(query, owner),
            "orders": list_orders(query, self.kinds),
            "links": list_page_links(query, page),
            "anything": any(row["count"] for row in own),
            "owner_for_clearing": owner if sees_everybody(request) else request.user,
            "category_choices": Category.choices,
            "look": "table" if request.COOKIES.get(LOOK_COOKIE) == "table" else "cards",
            "hidden": {name: value for name, value in query_fields(query).items() if name != "q"},
            **(extra_context or {}),
        }
        if is_partial(request):
            return TemplateResponse(request, "panel/memories/page.html", context)
        request.current_app = self.admin_site.name
        frame = {**self.admin_site.each_context(request), "title": self.list_title}
        return TemplateResponse(request, "panel/memories/list.html", {**frame, **context})

    def news_view(self, request: HttpRequest) -> HttpResponse:
        """What has changed since the page was made (`after`, the ID of a change): rows, and marks of those gone.

        Writers of one person's memories take turns, so their changes are visible in the order of their IDs.
        """
        query = self.read_query(request)
        after = request.GET.get("after", "")
        since = int(after) if after.isascii() and after.isdecimal() and len(after) <= 18 else 0
        kinds = [kind.change_kind for kind in self.kinds]
        changes = self._list_changes(request, query).filter(id__gt=since, kind__in=kinds)
        found = list(changes.order_by("id").values_list("id", "object_id")[: MAX_NEWS + 1])
        ids = list(dict.fromkeys(object_id for _id, object_id in found))
        rows: list[Row] = []
        if ids:
            rows = read_first(self._narrow(request, query, ids=ids), query, until=len(ids))
        there = {row.memory.pk for row in rows}
        context = {
            **self._row_context(request, query),
            "rows": rows,
            "gone": [memory_id for memory_id in ids if memory_id not in there],
            "cursor": found[-1][0] if found else since,
            "many": len(found) > MAX_NEWS,
        }
        return TemplateResponse(request, "panel/memories/news.html", context)

    def _narrow(self, request: HttpRequest, query: ListQuery, *, ids: Sequence[UUID] | None = None) -> list[Part]:
        """What the list shows of each kind; of certain memories with `ids`."""
        parts = [(kind, list_owned(request, kind)) for kind in self.kinds]
        if ids is not None:
            parts = [(kind, memories.filter(pk__in=ids)) for kind, memories in parts]
        now = timezone.now()
        by_index = knows_words(parts, query, now=now)
        return [(kind, narrow(memories, query, kind, now=now, by_index=by_index)) for kind, memories in parts]

    def read_query(self, request: HttpRequest) -> ListQuery:
        """What the list is to show."""
        return read_query(request.GET, self.kinds, staff=sees_everybody(request))

    def _row_context(self, request: HttpRequest, query: ListQuery) -> dict[str, Any]:
        staff = sees_everybody(request)
        is_both = len(self.kinds) > 1 or bool(query.both)
        template = "both" if is_both else self.kinds[0].name
        return {
            "base": self.base,
            "list_title": self.list_title,
            "row_template": f"panel/memories/{template}_row.html",
            "is_both": is_both,
            "is_long_term": self.kinds == (LONG_TERM,),
            "has_long_term": LONG_TERM in self.kinds,
            "query": query,
            "here": query.encode(page=query.page),
            "row_here": query.encode(page=query.page, both="yes" if is_both else ""),
            "now": timezone.now(),
            "show_owner": staff and not query.user,
            "sees_everybody": staff,
            "shows_status": query.status != Status.ACTIVE,
        }

    def _find_owner(self, query: ListQuery) -> User | None:
        return User.objects.filter(pk=int(query.user)).first() if query.user else None

    def _get_cursor(self, request: HttpRequest, query: ListQuery) -> int:
        newest = self._list_changes(request, query).order_by("-id").values_list("id", flat=True).first()
        return newest or 0

    def _list_changes(self, request: HttpRequest, query: ListQuery) -> QuerySet[Change]:
        if not sees_everybody(request):
            return Change.objects.filter(user=request.user.pk)
        return Change.objects.filter(user=int(query.user)) if query.user else Change.objects.all()


def list_owned(request: HttpRequest, kind: MemoryKind) -> QuerySet[Any]:
    """The memories of a kind that who asks may see, without what only search reads."""
    memories: QuerySet[Any] = kind.model.objects.defer(*kind.derived)
    return memories if sees_everybody(request) else memories.filter(user=request.user.pk)


def query_fields(query: ListQuery) -> dict[str, str]:
    """What of a list is not as lists are by themselves, by name."""
    plain = ListQuery()
    names = (name for name in ListQuery.__dataclass_fields__ if name not in ("page", "both"))
    return {name: getattr(query, name) for name in names if getattr(query, name) != getattr(plain, name)}


def list_kinds(query: ListQuery, kinds: Sequence[MemoryKind], counts: list[dict[str, Any]]) -> dict[str, Any]:
    """The lists of each kind and of both, with as much of the filters as their memories have."""
    names = [((kind,), kind.list_name, kind.model._meta.verbose_name_plural) for kind in BOTH]
    choices = []
    for of, list_name, label in [*names, (BOTH, BOTH_NAME, _("all"))]:
        there = read_query(asdict(query), of, staff=True)
        sums = sum_choices([row for row in counts if any(row["kind"] == kind.name for kind in of)], there)
        choices.append(
            {
                "label": label,
                "name": ALL if of is BOTH else of[0].name,
                "url": reverse(f"admin:{list_name}_changelist") + there.encode(),
                "on": tuple(kinds) == of,
                "count": sum(sums.values()) if query.counts_everything else None,
            }
        )
    return {"title": _("Kind"), "name": "kind", "choices": choices}


def list_groups(query: ListQuery, kinds: Sequence[MemoryKind], counts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The chips to filter by, in groups; with counts where these are those of the list."""
    titles = {"status": _("Status"), "category": _("Category"), "source": _("Source")}
    groups = []
    for name in list_choices(kinds):
        sums = sum_choices(counts, query, of=name)
        wanted = getattr(query, name)
        everything = ALL if name == "status" else ""
        choices = [
            {
                "label": label,
                "name": value,
                "url": query.encode(**{name: everything if wanted == value else value}),
                "on": wanted == value,
                "count": sums.get(value, 0) if query.counts_everything else None,
            }
            for value, label in CHOICES[name].choices
        ]
        if name == "status":
            total = sum(sums.values()) if query.counts_everything else None
            choices.append(
                {"label": _("all"), "name": ALL, "url": query.encode(status=ALL), "on": wanted == ALL, "count": total}
            )
        groups.append({"title": titles[name], "name": name, "choices": choices})
    ages = [
        {"label": label, "name": days, "url": query.encode(days="" if query.days == days else days),
         "on": query.days == days, "count": None}
        for days, label in list_ages().items()
    ]  # fmt: skip
    groups.append({"title": _("Added"), "name": "days", "choices": ages})
    muted = {
        "label": _("muted"),
        "name": "muted",
        "url": query.encode(muted="" if query.muted == "yes" else "yes"),
        "on": query.muted == "yes",
        "count": None,
    }
    groups.append({"title": _("Recall"), "name": "muted", "choices": [muted]})
    return groups


def list_ages() -> dict[str, str]:
    """The names of `AGES`."""
    return dict(zip(AGES, (_("last 24 hours"), _("last 7 days"), _("last 30 days"), _("last 12 months")), strict=True))


def list_active(query: ListQuery, owner: User | None) -> list[dict[str, str]]:
    """What narrows the list now, each with the address of the list without it."""
    found = [("q", f"“{query.q}”"), ("tag", f"#{query.tag}")] if query.q or query.tag else []
    labels = {name: dict(choices.choices) for name, choices in CHOICES.items()} | {"days": list_ages()}
    found += [(name, str(labels[name][getattr(query, name)])) for name in ("category", "source", "days")
              if getattr(query, name)]  # fmt: skip
    if query.muted:
        found.append(("muted", _("muted") if query.muted == "yes" else _("not muted")))
    if query.status not in (Status.ACTIVE, ALL):
        found.append(("status", str(labels["status"][query.status])))
    if query.user:
        found.append(("user", owner.get_username() if owner else _("unknown user")))
    plain = ListQuery()
    return [
        {"label": label, "url": query.encode(**{name: getattr(plain, name)})}
        for name, label in found
        if getattr(query, name)
    ]


def list_orders(query: ListQuery, kinds: Sequence[MemoryKind]) -> list[dict[str, Any]]:
    """What the list can be sorted by; choosing what it is sorted by turns it round."""
    titles = {
        "created": _("added"),
        "updated": _("changed"),
        "used": _("last used"),
        "uses": _("uses"),
        "confidence": _("confidence"),
        "key": _("key"),
        "said": _("mentioned"),
        "happened": _("happened"),
    }
    orders = []
    for name in list_sorts(kinds):
        on = query.sort.removeprefix("-") == name
        usual, turned = (name, f"-{name}") if name == "key" else (f"-{name}", name)
        following = turned if on and query.sort == usual else usual
        orders.append(
            {
                "name": name,
                "label": titles[name],
                "on": on,
                "down": query.sort.startswith("-"),
                "url": query.encode(sort=following),
            }
        )
    return orders


def list_page_links(query: ListQuery, page: Page) -> list[dict[str, Any]]:
    """The pages to go to; without an address for what is left out between them."""
    return [
        {"number": number, "url": query.encode(page=number) if number else "", "on": number == page.number}
        for number in page.list_numbers()
    ]
