"""The list of memories: cards or a table, filters as chips, search, what is new while one looks, and actions on many.

Actions work in portions, so that a hundred thousand memories are no different from ten (M3).
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from django.contrib.admin import AdminSite
from django.db.models import QuerySet
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBadRequest,
    HttpResponseBase,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
)
from django.template.response import TemplateResponse
from django.urls import URLResolver, include, path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from apps.accounts.models import Space, User
from apps.accounts.spaces import NONE, get_colour, list_spaces
from apps.accounts.types import Sensitive
from apps.core.errors import JiyiError
from apps.core.words import word
from apps.memory.changes.records import collect_operations
from apps.memory.deletion import delete_all_memories, delete_memories, list_copies
from apps.memory.judge.review import accept_memory, reject_memory
from apps.memory.lifecycle import mute_memories, set_category
from apps.memory.models import Category, Change, Status
from apps.memory.spaces import move_memories
from apps.panel.memories.kinds import BOTH, CHANGEABLE, LONG_TERM, MemoryKind, list_choices, list_sorts
from apps.panel.memories.query import (
    AGES,
    ALL,
    CHOICES,
    ListQuery,
    Selection,
    knows_words,
    narrow,
    narrow_owner,
    read_query,
    read_selection,
)
from apps.panel.memories.rows import Part, Row, count_choices, read_first, read_page, sum_choices
from apps.panel.owned import sees_everybody
from apps.panel.pages import UNPROCESSABLE, is_partial, show_page, with_toast
from apps.panel.refusals import translate_reason
from apps.panel.texts import read_id, read_number
from apps.panel.transfer import download_memories

LOOK_COOKIE = "panel_look"

# The ID of no account.
NOBODY = "0"

# Changes reported one by one; with more, the page says that there are many.
MAX_NEWS = 100

PORTION = 200

# How long a request processes portions before it reports progress.
SECONDS = 2.0

# Memories for which a toast offers to undo it all; the list of changes has every one.
MAX_UNDOABLE = 2_000

# For how many memories copies are looked for: each value is compared with every text there is.
COPIES_OF = 50

ACTIONS = ("category", "move", "accept", "reject", "mute", "unmute", "delete", "export")


def include_memories(site: AdminSite) -> URLResolver:
    """Return the addresses below ``memories/``: the list, and its parts for htmx."""

    def page(address: str, view: Any, name: str) -> Any:
        return path(address, site.admin_view(view), name=f"memories_{name}")

    return path(
        "memories/",
        include(
            [
                page("", list_view, "changelist"),
                page("news/", news_view, "news"),
                page("bulk/", require_POST(bulk_view), "bulk"),
                page("clear/", clear_view, "clear"),
            ]
        ),
    )


def read_list(request: HttpRequest) -> ListQuery:
    return read_query(request.GET, staff=sees_everybody(request))


def list_owned(request: HttpRequest, kind: MemoryKind) -> QuerySet[Any]:
    memories: QuerySet[Any] = kind.model.objects.defer(*kind.memory.derived)
    return memories if sees_everybody(request) else memories.filter(user=request.user.pk)


def row_context(request: HttpRequest, query: ListQuery) -> dict[str, Any]:
    staff = sees_everybody(request)
    return {
        "has_long_term": LONG_TERM in query.kinds,
        "query": query,
        "here": query.encode(page=query.page),
        "now": timezone.now(),
        "show_owner": staff and not query.user,
        "sees_everybody": staff,
        "shows_status": query.status != Status.ACTIVE,
    }


def find_owner(query: ListQuery) -> User | None:
    return User.objects.filter(pk=int(query.user)).first() if query.user else None


def list_view(request: HttpRequest) -> HttpResponse:
    """Answer with the whole page, or for htmx all of it that a filter changes."""
    if request.method not in ("GET", "HEAD"):
        return HttpResponseNotAllowed(["GET", "HEAD"])
    query = read_list(request)
    if sees_everybody(request) and (name := request.GET.get("person", "").strip()):
        person = User.objects.filter(username=name).first()
        there = reverse("admin:memories_changelist")
        return HttpResponseRedirect(there + query.encode(user=str(person.pk) if person else NOBODY))
    # First: what comes after it is reported as news.
    cursor = _list_changes(request, query).order_by("-id").values_list("id", flat=True).first() or 0
    counts = count_choices([(kind, narrow_owner(list_owned(request, kind), query)) for kind in BOTH])
    own = [row for row in counts if any(row["kind"] == kind.name for kind in query.kinds)]
    total = sum(sum_choices(own, query).values()) if query.counts_everything else None
    page = read_page(_narrow(request, query), query, total=total)
    owner = find_owner(query)
    # Of everybody's, staff would be offered names without end.
    spaces = list(list_spaces(owner or cast(User, request.user)))
    plain = asdict(ListQuery())
    context = {
        **row_context(request, query),
        "page": page,
        "cursor": cursor,
        "groups": [list_kinds(query, counts), *list_groups(query, own, spaces)],
        "active": list_active(query, owner, spaces),
        "spaces": [space for space in spaces if not space.archived],
        "orders": list_orders(query),
        "links": [
            {"number": number, "url": query.encode(page=number) if number else "", "on": number == page.number}
            for number in page.list_numbers()
        ],
        "anything": any(row["count"] for row in own),
        "owner_for_clearing": owner if sees_everybody(request) else request.user,
        "category_choices": Category.choices,
        "look": "table" if request.COOKIES.get(LOOK_COOKIE) == "table" else "cards",
        # Non-default fields of the query, by name, which the search keeps.
        "hidden": {
            name: value
            for name, value in asdict(query).items()
            if value != plain[name] and name not in ("q", "page")
        },
    }  # fmt: skip
    if is_partial(request):
        return TemplateResponse(request, "panel/memories/page.html", context)
    return show_page(request, "panel/memories/list.html", title=_("Memories"), **context)


def news_view(request: HttpRequest) -> HttpResponse:
    """Answer with what has changed since the page was made (`after`, the ID of a change): rows, marks of those gone.

    Writers of one person's memories take turns, so their changes are visible in the order of their IDs.
    """
    query = read_list(request)
    since = read_number(request.GET.get("after")) or 0
    kinds = [kind.memory.change_kind for kind in query.kinds]
    changes = _list_changes(request, query).filter(id__gt=since, kind__in=kinds)
    found = list(changes.order_by("id").values_list("id", "object_id")[: MAX_NEWS + 1])
    ids = list(dict.fromkeys(object_id for _id, object_id in found))
    rows: list[Row] = []
    if ids:
        rows = read_first(_narrow(request, query, ids=ids), query, until=len(ids))
    there = {row.memory.pk for row in rows}
    context = {
        **row_context(request, query),
        "rows": rows,
        "gone": [memory_id for memory_id in ids if memory_id not in there],
        "cursor": found[-1][0] if found else since,
        "many": len(found) > MAX_NEWS,
    }
    return TemplateResponse(request, "panel/memories/news.html", context)


def _narrow(request: HttpRequest, query: ListQuery, *, ids: Sequence[UUID] | None = None) -> list[Part]:
    """Return what the list shows of each kind; of certain memories with `ids`."""
    parts = [(kind, list_owned(request, kind)) for kind in query.kinds]
    if ids is not None:
        parts = [(kind, memories.filter(pk__in=ids)) for kind, memories in parts]
    now = timezone.now()
    by_index = knows_words(parts, query, now=now)
    return [(kind, narrow(memories, query, kind, now=now, by_index=by_index)) for kind, memories in parts]


def _list_changes(request: HttpRequest, query: ListQuery) -> QuerySet[Change]:
    if not sees_everybody(request):
        return Change.objects.filter(user=request.user.pk)
    return Change.objects.filter(user=int(query.user)) if query.user else Change.objects.all()


# The filters


def list_kinds(query: ListQuery, counts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the chips of the kinds, each with as much of the other filters as its memories have."""
    choices = []
    for name, label in (*((kind.name, kind.model._meta.verbose_name_plural) for kind in BOTH), ("", _("all"))):
        there = read_query({**asdict(query), "kind": name}, staff=True)
        own = [row for row in counts if name in (row["kind"], "")]
        count = sum(sum_choices(own, there).values()) if query.counts_everything else None
        choices.append(_make_chip(label, name or ALL, there.encode(), on=query.kind == name, count=count))
    return {"title": _("Kind"), "name": "kind", "choices": choices}


def list_groups(query: ListQuery, counts: list[dict[str, Any]], spaces: Sequence[Space]) -> list[dict[str, Any]]:
    """Return the other chips to filter by, in groups; with counts where these are those of the list."""
    titles = {"status": _("Status"), "category": _("Category"), "source": _("Source")}
    groups = []
    for name in list_choices(query.kinds):
        sums = sum_choices(counts, query, of=name)
        values = [*CHOICES[name].choices, *([(ALL, _("all"))] if name == "status" else [])]
        sums[ALL] = sum(sums.values())
        choices = []
        for value, label in values:
            on = getattr(query, name) == value
            # Chosen again, it narrows the list no more.
            there = value if not on or value == ALL else ALL if name == "status" else ""
            count = sums.get(value, 0) if query.counts_everything else None
            if on or count != 0 or value in (ALL, Status.ACTIVE):
                choices.append(_make_chip(label, value, query.encode(**{name: there}), on=on, count=count))
        if choices:
            groups.append({"title": titles[name], "name": name, "choices": choices})
    ages = [
        _make_chip(label, days, query.encode(days="" if query.days == days else days), on=query.days == days)
        for days, label in list_ages().items()
    ]
    withheld = [
        _make_chip(label, name, query.encode(**{name: "" if on else "yes"}), on=on)
        for name, label in (("muted", _("muted")), ("over", _("over")))
        for on in [getattr(query, name) == "yes"]
    ]
    groups.append({"title": _("Added"), "name": "days", "choices": ages})
    groups.append({"title": _("Recall"), "name": "muted", "choices": withheld})
    marks = [
        _make_chip(word("sensitive", one), one.value, query.encode(sensitive="" if on else one.value), on=on)
        for one in Sensitive
        for on in [query.sensitive == one]
    ]
    groups.append({"title": _("Sensitive"), "name": "sensitive", "choices": marks})
    if spaces:
        places = [(NONE, _("everywhere"), NONE)]
        places += [(str(space.pk), space.name, f"space space--{get_colour(space)}") for space in spaces]
        choices = [
            _make_chip(label, name, query.encode(space="" if query.space == value else value), on=query.space == value)
            for value, label, name in places
        ]
        groups.append({"title": _("Space"), "name": "space", "choices": choices})
    return groups


def _make_chip(label: Any, name: str, url: str, *, on: bool, count: int | None = None) -> dict[str, Any]:
    return {"label": label, "name": name, "url": url, "on": on, "count": count}


def list_ages() -> dict[str, str]:
    return dict(zip(AGES, (_("last 24 hours"), _("last 7 days"), _("last 30 days"), _("last 12 months")), strict=True))


def list_active(query: ListQuery, owner: User | None, spaces: Sequence[Space]) -> list[dict[str, str]]:
    """Return what narrows the list now, each with the address of the list without it."""
    labels = {name: dict(choices.choices) for name, choices in CHOICES.items()} | {"days": list_ages()}
    found = {"q": f"“{query.q}”", "tag": f"#{query.tag}"}
    found |= {name: str(labels[name].get(getattr(query, name), "")) for name in ("category", "source", "days")}
    found["muted"] = _("muted") if query.muted == "yes" else _("not muted")
    found["over"] = _("over") if query.over == "yes" else _("not over")
    found["sensitive"] = word("sensitive", query.sensitive)
    if query.status not in (Status.ACTIVE, ALL):
        found["status"] = str(labels["status"][query.status])
    names = {NONE: _("everywhere"), **{str(space.pk): space.name for space in spaces}}
    found["space"] = names.get(query.space, _("another space"))
    found["user"] = owner.get_username() if owner else _("unknown user")
    plain = ListQuery()
    return [
        {"label": label, "url": query.encode(**{name: getattr(plain, name)})}
        for name, label in found.items()
        if getattr(query, name)
    ]


def list_orders(query: ListQuery) -> list[dict[str, Any]]:
    """Return what the list can be sorted by; choosing what it is sorted by turns it round."""
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
    for name in list_sorts(query.kinds):
        usual, turned = (name, f"-{name}") if name == "key" else (f"-{name}", name)
        orders.append(
            {
                "name": name,
                "label": titles[name],
                "on": query.sort in (usual, turned),
                "down": query.sort.startswith("-"),
                "url": query.encode(sort=turned if query.sort == usual else usual),
            }
        )
    return orders


# What is done with many at once


@dataclass(slots=True)
class Progress:
    """How far an action is. ``after``: the last ID that was dealt with, of the kind numbered ``stage`` in the list.

    ``operations``: the first of each request.
    """

    done: int = 0
    failed: int = 0
    stage: int = 0
    after: str = ""
    operations: list[UUID] = field(default_factory=list)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Bulk:
    """An action on a selection of a list, as a form asks for it. ``value``: the category to set.

    ``space``: the one to move to; None: everywhere.
    """

    request: HttpRequest
    query: ListQuery
    selection: Selection
    action: str
    value: str
    copies: bool
    space: Space | None = None

    def pick(self, kind: MemoryKind) -> QuerySet[Any]:
        return self.selection.pick(list_owned(self.request, kind), self.query, kind, now=timezone.now())

    def pick_concerned(self, kind: MemoryKind) -> QuerySet[Any]:
        """Return those selected with which something is to be done."""
        memories = self.pick(kind)
        if self.action in ("accept", "reject"):
            return memories.filter(status=Status.PENDING)
        if self.action == "category":
            changeable = memories.filter(status__in=CHANGEABLE)
            return changeable.exclude(category=self.value) if kind is LONG_TERM else memories.none()
        if self.action == "move":
            there = memories.filter(user=self.space.user_id) if self.space else memories
            return there.exclude(space=self.space)
        if self.action in ("mute", "unmute"):
            return memories.filter(status__in=CHANGEABLE, muted=self.action == "unmute")
        return memories

    def go_on(self, progress: Progress) -> bool:
        """Deal with portions, in the order of their IDs, until all are done or the time is up; return whether all."""
        kinds = self.query.kinds
        kind = kinds[progress.stage]
        memories = self.pick_concerned(kind)
        deadline = time.monotonic() + SECONDS
        now = timezone.now()  # one for all: by it they are found again when they are to be undone together
        first: list[UUID] = []
        while True:
            rest = memories.filter(pk__gt=progress.after) if progress.after else memories
            portion = list(rest.order_by("pk").values_list("pk", "user")[:PORTION])
            by_user: defaultdict[int, list[UUID]] = defaultdict(list)
            for memory_id, user_id in portion:
                by_user[user_id].append(memory_id)
            users = User.objects.in_bulk(by_user.keys())
            with collect_operations() as operations:
                for user_id, ids in by_user.items():
                    self._deal_with(users[user_id], ids, kind, progress, now=now)
            if not first:
                first = operations[:1]
                progress.operations += first
            if len(portion) == PORTION:
                progress.after = str(portion[-1][0])
            elif kind is kinds[-1]:
                return True
            else:
                progress.stage, progress.after = progress.stage + 1, ""
                kind = kinds[progress.stage]
                memories = self.pick_concerned(kind)
            if time.monotonic() > deadline:
                return False

    def _deal_with(self, user: User, ids: list[UUID], kind: MemoryKind, progress: Progress, *, now: datetime) -> None:
        if self.action == "delete":
            progress.done += delete_memories(kind.memory, user=user, ids=ids, copies=self.copies, now=now).deleted
        elif self.action == "category":
            progress.done += set_category(user=user, ids=ids, category=self.value, now=now)
        elif self.action == "move":
            moved = move_memories(user=user, ids=ids, space_id=getattr(self.space, "pk", None), now=now)
            progress.done += moved.moved
            progress.failed += len(moved.taken)
        elif self.action in ("mute", "unmute"):
            muted = self.action == "mute"
            progress.done += mute_memories(kind.memory, user=user, ids=ids, muted=muted, now=now)
        else:
            decide = accept_memory if self.action == "accept" else reject_memory
            for memory_id in ids:
                try:
                    decide(kind.memory, user=user, memory_id=memory_id, now=now)
                    progress.done += 1
                except JiyiError as error:  # decided by somebody else meanwhile, or gone
                    progress.failed += 1
                    progress.reason = error.message


def bulk_view(request: HttpRequest) -> HttpResponseBase:
    """Do ``action`` with the selection; a deletion asks first. Long ones answer with how far they are and go on."""
    query, action, space = read_list(request), request.POST.get("action", ""), None
    value = request.POST.get("space" if action == "move" else "value", "")
    if action not in ACTIONS or (action == "category" and (LONG_TERM not in query.kinds or value not in Category)):
        return HttpResponseBadRequest(_("Choose an action."))
    if action == "move" and value != NONE:
        seen = Space.objects.all() if sees_everybody(request) else Space.objects.filter(user=request.user.pk)
        space = seen.filter(pk__in=[read_id(value)]).first()
        if space is None:
            return HttpResponseBadRequest(_("This space does not exist."))
    now = timezone.now()
    there = [(kind, list_owned(request, kind)) for kind in query.kinds]
    selection = read_selection(request, now=now).settle(there, query, now=now)
    bulk = Bulk(request, query, selection, action, value, copies=request.POST.get("copies") == "yes", space=space)
    if action == "export":
        return download_memories([bulk.pick(kind) for kind in query.kinds])
    if action == "delete" and request.POST.get("confirmed") != "yes":
        return _ask(bulk)
    progress = _read_progress(request, stages=len(query.kinds))
    if bulk.go_on(progress):
        return _tell_end(action, progress)
    context = {
        **row_context(request, query),
        "selection": selection.fields,
        "action": action,
        "value": value,
        "copies_too": bulk.copies,
        "progress": progress,
        "operations": ",".join(map(str, progress.operations)),
        "total": max(read_number(request.POST.get("total")) or 0, progress.done),
    }
    return TemplateResponse(request, "panel/memories/progress.html", context)


def _ask(bulk: Bulk) -> HttpResponse:
    total = sum(bulk.pick(kind).order_by().count() for kind in bulk.query.kinds)
    if not total:
        return with_toast(HttpResponse(status=204), _("Select at least one item."), is_error=True)
    copies: list[Any] | None = None
    if LONG_TERM in bulk.query.kinds and total <= COPIES_OF:
        by_user = defaultdict(list)
        for memory in bulk.pick(LONG_TERM).select_related("user"):
            by_user[memory.user].append(memory)
        doomed = {memory.pk for found in by_user.values() for memory in found}
        found_copies = [copy for user, found in by_user.items() for copy in list_copies(user, found)]
        copies = [copy for copy in found_copies if copy.id not in doomed]
    context = {
        **row_context(bulk.request, bulk.query),
        "selection": bulk.selection.fields,
        "total": total,
        "copies": copies,
        "copies_of": COPIES_OF,
    }
    return TemplateResponse(bulk.request, "panel/memories/delete_dialog.html", context)


def _tell_end(action: str, progress: Progress) -> HttpResponse:
    texts = {
        "delete": ngettext("%(count)s memory was deleted.", "%(count)s memories were deleted.", progress.done),
        "category": ngettext(
            "Category changed for %(count)s memory.", "Category changed for %(count)s memories.", progress.done
        ),
        "move": ngettext("%(count)s memory was moved.", "%(count)s memories were moved.", progress.done),
        "mute": ngettext("%(count)s memory was muted.", "%(count)s memories were muted.", progress.done),
        "unmute": ngettext("%(count)s memory was unmuted.", "%(count)s memories were unmuted.", progress.done),
        "accept": ngettext("%(count)s memory was accepted.", "%(count)s memories were accepted.", progress.done),
        "reject": ngettext("%(count)s memory was rejected.", "%(count)s memories were rejected.", progress.done),
    }
    text = texts[action] % {"count": progress.done}
    if not progress.done and action in ("accept", "reject"):
        text = _("None of these memories is waiting for review.")
    if action == "move" and progress.failed:
        stays = ngettext(
            "%(count)s stays where it is: the same is there already.",
            "%(count)s stay where they are: the same is there already.",
            progress.failed,
        )
        text += " " + stays % {"count": progress.failed}
    elif progress.failed:
        text += " " + _("Failed: %(count)s (%(reason)s)") % {
            "count": progress.failed,
            "reason": translate_reason(progress.reason),
        }
    is_undoable = action != "delete" and progress.done <= MAX_UNDOABLE
    return with_toast(
        HttpResponse(status=204),
        text,
        operations=progress.operations if is_undoable else [],
        together=is_undoable,
        is_error=bool(progress.failed) and action != "move",
        reload=True,
        close=True,
    )


def clear_view(request: HttpRequest) -> HttpResponse:
    """Delete everything in the list of one person, who asks or whom staff look at, once their name is typed."""
    query = read_list(request)
    owner: Any = find_owner(query) if sees_everybody(request) and query.user else request.user
    if owner is None:
        return HttpResponseBadRequest(_("Choose a user first."))
    typed = request.POST.get("name", "").strip()
    if request.method == "POST" and typed == owner.get_username():
        now = timezone.now()
        count = sum(delete_all_memories(kind.memory, user=owner, now=now) for kind in query.kinds)
        text = ngettext("%(count)s memory was deleted.", "%(count)s memories were deleted.", count)
        return with_toast(HttpResponse(status=204), text % {"count": count}, reload=True, close=True)
    context = {
        **row_context(request, query),
        "owner": owner,
        "total": sum(kind.model.objects.filter(user=owner).count() for kind in query.kinds),
        "typed": typed,
        "is_wrong": request.method == "POST",
    }
    status = UNPROCESSABLE if request.method == "POST" else 200
    return TemplateResponse(request, "panel/memories/clear_dialog.html", context, status=status)


def _read_progress(request: HttpRequest, *, stages: int) -> Progress:
    given = request.POST
    after = read_id(given.get("after"))
    return Progress(
        done=read_number(given.get("done")) or 0,
        failed=read_number(given.get("failed")) or 0,
        stage=min(read_number(given.get("stage")) or 0, stages - 1),
        after=str(after or ""),
        operations=list(filter(None, map(read_id, given.get("operations", "").split(",")))),
        reason=given.get("reason", ""),
    )
