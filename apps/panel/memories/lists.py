"""The list of one kind of memories: cards or a table, filters as chips, search, and what is new while one looks."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.memory.models import Category, Change, Status
from apps.panel.answers import is_partial
from apps.panel.memories.kinds import LONG_TERM, MemoryKind
from apps.panel.memories.query import AGES, ALL, CHOICES, ListQuery, narrow, narrow_owner, read_query
from apps.panel.memories.rows import Page, Row, count_choices, read_page, read_rows, sum_choices
from apps.panel.owned import OwnedAdmin, sees_everybody

LOOK_COOKIE = "panel_look"
NOBODY = "0"
"""The ID of no account."""

MAX_NEWS = 100
"""Changes reported one by one; with more, the page says that there are many."""


class ListPages(OwnedAdmin):
    """`changelist_view` and its parts, each also an address of its own for htmx."""

    kind: ClassVar[MemoryKind]

    def list_parts(self) -> list[URLPattern]:
        """The addresses of the list's parts, below its own."""
        name = f"{self.opts.app_label}_{self.opts.model_name}"
        view = self.admin_site.admin_view
        return [
            path("news/", view(self.news_view), name=f"{name}_news"),
            path("<uuid:memory_id>/row/", view(self.row_view), name=f"{name}_row"),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The whole page, or for htmx all of it that a filter changes."""
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        query = self.read_query(request)
        if sees_everybody(request) and (name := request.GET.get("person", "").strip()):
            person = User.objects.filter(username=name).first()
            there = reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")
            return HttpResponseRedirect(there + query.encode(user=str(person.pk) if person else NOBODY))
        memories = self.get_queryset(request)
        # First: what comes after it is reported as news.
        cursor = self._get_cursor(request, query)
        counts = count_choices(narrow_owner(memories, query), self.kind)
        total = sum(sum_choices(counts, query, self.kind).values()) if query.counts_everything else None
        page = read_page(narrow(memories, query, self.kind, now=timezone.now()), query, self.kind, total=total)
        owner = self._find_owner(query)
        context = {
            **self._row_context(request, query),
            "page": page,
            "cursor": cursor,
            "groups": list_groups(query, self.kind, counts),
            "active": list_active(query, owner),
            "orders": list_orders(query, self.kind),
            "links": list_page_links(query, page),
            "anything": any(row["count"] for row in counts),
            "owner_for_clearing": owner if sees_everybody(request) else request.user,
            "category_choices": Category.choices,
            "look": "table" if request.COOKIES.get(LOOK_COOKIE) == "table" else "cards",
            "hidden": {name: value for name, value in query_fields(query).items() if name != "q"},
            **(extra_context or {}),
        }
        if is_partial(request):
            return TemplateResponse(request, "panel/memories/page.html", context)
        request.current_app = self.admin_site.name
        title = str(self.opts.verbose_name_plural)
        frame = {**self.admin_site.each_context(request), "title": title[:1].upper() + title[1:], "media": self.media}
        return TemplateResponse(request, "panel/memories/list.html", {**frame, **context})

    def news_view(self, request: HttpRequest) -> HttpResponse:
        """What has changed since the page was made (`after`, the ID of a change): rows, and marks of those gone.

        Writers of one person's memories take turns, so their changes are visible in the order of their IDs.
        """
        query = self.read_query(request)
        after = request.GET.get("after", "")
        since = int(after) if after.isascii() and after.isdecimal() and len(after) <= 18 else 0
        changes = self._list_changes(request, query).filter(id__gt=since, kind=self.kind.change_kind)
        found = list(changes.order_by("id").values_list("id", "object_id")[: MAX_NEWS + 1])
        ids = list(dict.fromkeys(object_id for _id, object_id in found))
        rows: list[Row] = []
        if ids:
            shown = narrow(self.get_queryset(request).filter(pk__in=ids), query, self.kind, now=timezone.now())
            rows = read_rows(self.kind, list(shown.values_list("pk", flat=True)), query)
        there = {row.memory.pk for row in rows}
        context = {
            **self._row_context(request, query),
            "rows": rows,
            "gone": [memory_id for memory_id in ids if memory_id not in there],
            "cursor": found[-1][0] if found else since,
            "many": len(found) > MAX_NEWS,
        }
        return TemplateResponse(request, "panel/memories/news.html", context)

    def row_view(self, request: HttpRequest, memory_id: UUID) -> HttpResponse:
        """One row as it is, as when an editor is left."""
        return self.render_row(request, memory_id)

    def render_row(self, request: HttpRequest, memory_id: UUID, *, fresh: bool = False) -> HttpResponse:
        """Answer with the row of a memory; `fresh` shows that it has just changed. 404 for none and another's."""
        query = self.read_query(request)
        memory = self.find(request, memory_id)
        (row,) = read_rows(self.kind, [memory.pk], query) or self._missing()
        context = {**self._row_context(request, query), "row": row, "fresh": fresh}
        return TemplateResponse(request, "panel/memories/row.html", context)

    def find(self, request: HttpRequest, memory_id: UUID) -> Any:
        """Return a memory that who asks may see, else 404."""
        memory = self.get_queryset(request).select_related("user").filter(pk=memory_id).first()
        return memory or self._missing()

    def _missing(self) -> Any:
        raise Http404(_("This memory does not exist."))

    def read_query(self, request: HttpRequest) -> ListQuery:
        """What the list is to show."""
        return read_query(request.GET, self.kind, staff=sees_everybody(request))

    def _row_context(self, request: HttpRequest, query: ListQuery) -> dict[str, Any]:
        staff = sees_everybody(request)
        return {
            "opts": self.opts,
            "kind": self.kind,
            "base": f"admin:{self.opts.app_label}_{self.opts.model_name}",
            "row_template": f"panel/memories/{self.kind.change_kind.value}_row.html",
            "is_long_term": self.kind is LONG_TERM,
            "query": query,
            "here": query.encode(page=query.page),
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


def query_fields(query: ListQuery) -> dict[str, str]:
    """What of a list is not as lists are by themselves, by name."""
    plain = ListQuery()
    names = (name for name in ListQuery.__dataclass_fields__ if name != "page")
    return {name: getattr(query, name) for name in names if getattr(query, name) != getattr(plain, name)}


def list_groups(query: ListQuery, kind: MemoryKind, counts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The chips to filter by, in groups; with counts where these are those of the list."""
    titles = {"status": _("Status"), "category": _("Category"), "source": _("Source")}
    groups = []
    for name in kind.choices:
        sums = sum_choices(counts, query, kind, of=name)
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


def list_orders(query: ListQuery, kind: MemoryKind) -> list[dict[str, Any]]:
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
    for name in kind.sorts:
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
