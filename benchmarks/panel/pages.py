"""Which pages of the panel are asked for: every list with its search, filters and orders, and every page that shows
something of which there may be very much.

Lists of tables, their filters and orders are found in the site, so that none is forgotten; what is looked for in them,
and the pages that are no such lists, stand here. The tests of query counts ask for the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin import SimpleListFilter
from django.contrib.admin.views.main import ChangeList
from django.db.models import BooleanField, DateTimeField, Model
from django.test import RequestFactory
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import ApiToken, EndUser, User
from apps.chat.models import Strategy, Turn
from apps.conversations.models import Message, Session, Work
from apps.doors.models import ConnectedApp
from apps.memory.models import (
    AtomicMemory,
    Change,
    ConversationEmbedding,
    EmbeddingModel,
    ForgottenKey,
    LongTermMemory,
    SharedContext,
    WorkingMemory,
)
from apps.panel.memories.lists import ListPages
from apps.panel.owned import OwnedAdmin, sees_everybody
from apps.profile.models import ProfileProposal, ProfileVersion
from apps.summaries.models import SessionSummary

NOTHING = "quantum"
"""A word that is nowhere."""

SEARCHES: Mapping[str, tuple[str, ...]] = {
    "memory.SharedContext": ("咖啡", NOTHING),
    "chat.Strategy": ("warm", NOTHING),
    "summaries.SessionSummary": ("咖啡", NOTHING),
    "accounts.ApiToken": ("client 1", NOTHING),
    "doors.ConnectedApp": ("app 1", NOTHING),
    "accounts.User": ("person 1", NOTHING),
    "accounts.LoginAttempt": ("person 1", NOTHING),
    "accounts.EndUser": ("customer 1", NOTHING),
    "memory.Change": ("00000000-0000-4000-8000-000000000000", "咖啡", NOTHING),
    "conversations.Message": ("我喜欢的咖啡是什么",),
    "conversations.Session": ("咖啡", NOTHING),
    "profile.UserProfile": ("person 1", NOTHING),
    "profile.ProfileVersion": ("owner", NOTHING),
    "profile.ProfileProposal": ("咖啡", NOTHING),
    "conversations.Work": ("timeout", NOTHING),
    "memory.ForgottenKey": ("owner", NOTHING),
    "memory.WorkingMemory": ("咖啡", NOTHING),
}
"""What is looked for in each list that has a search box; one that is not here fails."""

MEMORY_LISTS: Mapping[type[Model], Mapping[str, Mapping[str, Any]]] = {
    LongTermMemory: {
        "": {},
        "last page": {"page": 999_999},
        "every status": {"status": "all"},
        "one category": {"category": "pattern"},
        "one source": {"source": "inferred"},
        "last 12 months": {"days": 365},
        "by confidence": {"sort": "-confidence"},
        "by uses": {"sort": "-uses"},
        "by last use": {"sort": "-used"},
        "by change": {"sort": "-updated"},
        "by key": {"sort": "key"},
        "search, one hit in ten": {"q": "咖啡"},
        "search, one hit": {"q": "第77777号"},
        "search, two words": {"q": "favourite tea"},
        "search, a part of a word": {"q": "avourit"},
        "search, nothing": {"q": NOTHING},
        "search by confidence": {"q": "咖啡", "sort": "-confidence"},
    },
    AtomicMemory: {
        "": {},
        "last page": {"page": 999_999},
        "every status": {"status": "all"},
        "last 12 months": {"days": 365},
        "by change": {"sort": "-updated"},
        "by event": {"sort": "-happened"},
        "a tag": {"tag": "茶"},
        "search, one hit in ten": {"q": "咖啡"},
        "search, nothing": {"q": NOTHING},
    },
}

BOTH_KINDS: Mapping[str, Mapping[str, Any]] = {
    "": {},
    "last page": {"page": 999_999},
    "every status": {"status": "all"},
    "one category": {"category": "pattern"},
    "last 12 months": {"days": 365},
    "by change": {"sort": "-updated"},
    "a tag": {"tag": "茶"},
    "search, one hit in ten": {"q": "咖啡"},
    "search, a part of a word": {"q": "avourit"},
    "search, nothing": {"q": NOTHING},
}
"""The list of all memories, by name."""

OTHERS: tuple[tuple[str, str, Mapping[str, Any]], ...] = (
    ("overview", "index", {}),
    ("overview, a year", "index", {"days": 365}),
    ("review queue", "review", {}),
    ("review queue, the surest first", "review", {"order": "surest"}),
    ("playground", "playground", {}),
    ("settings", "settings", {}),
    ("login and security", "security", {}),
    ("profile", "profile", {}),
    ("timeline", "timeline", {}),
    ("timeline: search, one hit in ten", "timeline", {"q": "咖啡"}),
    ("timeline: nothing", "timeline", {"q": NOTHING}),
    ("timeline: last page", "timeline", {"page": 9_999}),
    ("timeline: as of a date", "timeline", {"as_of": "2026-06-01"}),
    ("timeline: as of a date, search", "timeline", {"as_of": "2026-06-01", "q": "咖啡"}),
    ("everything from one hour: nothing", "sources", {"hour": "2001-01-01T12:00"}),
    ("import and export", "transfer", {}),
    ("embeddings: figures", "embeddings", {}),
    ("embeddings: search", "embeddings_search", {"q": "我喜欢的咖啡是什么"}),
    ("work: progress", "work_progress", {}),
    ("erase everything", "erasure", {}),
)
"""Pages about a person: name, view, query."""

TRIES: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("one hit in ten", {"message": "我喜欢的咖啡是什么"}),
    ("two settings", {"message": "我喜欢的咖啡是什么", "weight_keyword": "1"}),
    ("nothing", {"message": NOTHING}),
)
"""What the playground is asked by POST, which changes nothing."""


@dataclass(frozen=True, slots=True)
class Page:
    """Something to ask for, by POST where it has `fields`. `view`: the name of its address in the site."""

    name: str
    view: str
    address: str
    fields: Mapping[str, str] | None = None


def list_pages(*, owner: User, who: User, brief: bool = False) -> list[Page]:
    """Every page that `who` sees, with what `owner` has; of the things that have a page, one that has most in it.

    In `brief` lists are asked for on their first page in their own order, once with a search, and with each filter.
    """
    request = RequestFactory().get("/")
    request.user = who
    found = [
        *_list_memory_lists(),
        *_list_tables(request, brief=brief),
        *_list_others(owner, who),
        *_list_single(owner, request),
    ]
    for page in found:
        if len([other for other in found if other.name == page.name]) > 1:
            raise ValueError(f"two pages have the name {page.name}")
    return found


def _list_memory_lists() -> Iterator[Page]:
    for name, query in BOTH_KINDS.items():
        yield _page(f"memories, {name}" if name else "memories", "memories_changelist", query)
    yield _page("memories, news", "memories_news", {"after": 0})
    for model, queries in MEMORY_LISTS.items():
        for name, query in queries.items():
            yield _page(_title(model, name), f"{_name(model)}_changelist", query)
        yield _page(_title(model, "news"), f"{_name(model)}_news", {"after": 0})


def _list_tables(request: Any, *, brief: bool) -> Iterator[Page]:
    """Django's own lists: the last page, searches, a choice of each filter, each order."""
    page: Any
    for model, page in admin.site._registry.items():
        if isinstance(page, ListPages) or not page.has_view_permission(request):
            continue
        queries: dict[str, Mapping[str, Any]] = {"": {}}
        shown = page.get_changelist_instance(request)
        if not brief:
            queries["last page"] = {"p": shown.paginator.num_pages}
        if page.search_fields:
            words = SEARCHES[model._meta.label][: 1 if brief else None]
            queries |= {f"search “{word}”": {"q": word} for word in words}
        for narrowing in page.list_filter or ():
            if isinstance(narrowing, type) and issubclass(narrowing, SimpleListFilter):
                choices = narrowing(request, {}, model, page).lookup_choices
                queries[f"by {narrowing.parameter_name}"] = {str(narrowing.parameter_name): choices[0][0]}
                continue
            name = narrowing if isinstance(narrowing, str) else narrowing[0]
            queries[f"by {name}"] = _choose(model, name)
        if sees_everybody(request) and isinstance(page, OwnedAdmin):
            queries["of one person"] = {f"{page.owner}__id__exact": request.user.pk}
        if not brief and not page.change_list_template:  # cards have no heads to sort by
            queries |= _list_orders(shown)
        for name, query in queries.items():
            yield _page(_title(model, name), f"{_name(model)}_changelist", query)


def _choose(model: Any, name: str) -> dict[str, Any]:
    """A choice of a filter that leaves some rows, as its link says it."""
    field = model._meta.get_field(name)
    if isinstance(field, DateTimeField):
        return {f"{name}__gte": str(timezone.now() - timedelta(days=30))}
    if isinstance(field, BooleanField):
        return {f"{name}__exact": 1}
    value = model.objects.filter(**{f"{name}__isnull": False}).values_list(name, flat=True).first()
    if field.is_relation:
        return {f"{name}__id__exact": value}
    return {f"{name}__exact" if field.flatchoices else name: value}


def _list_orders(shown: ChangeList) -> dict[str, dict[str, Any]]:
    """The columns that have a head to sort by."""
    return {
        f"order {column}": {"o": f"-{number}"}
        for number, column in enumerate(shown.list_display)
        if shown.get_ordering_field(column)
    }


def _list_others(owner: User, who: User) -> Iterator[Page]:
    of = {} if owner == who else {"user": str(owner.pk)}
    for name, view, query in OTHERS:
        yield _page(name, view, {**query, **of})
    if of:
        yield _page("overview, everybody", "index", {})
        yield _page("review queue, everybody", "review", {})
        yield _page("embeddings: figures, everybody", "embeddings", {})
        yield _page("work: progress, everybody", "work_progress", {})
    for name, fields in TRIES:
        yield _page(f"playground: {name}", "playground_try", {}, fields={**fields, **of})


def _list_single(owner: User, request: Any) -> Iterator[Page]:
    """The page of one thing of each kind."""
    mine = {"user": owner}
    session = Session.objects.filter(**mine).order_by("-last_position")[:1].get()
    turn = Turn.objects.filter(**mine, session=session).order_by("created_at")[:1].get()
    used = {
        model: model.objects.get(pk=next(one["id"] for one in turn.memories_used if one["kind"] == kind))
        for kind, model in (("long_term", LongTermMemory), ("atomic", AtomicMemory))
    }
    for model, memory in used.items():
        yield _page(_title(model, "one"), f"{_name(model)}_change", {}, memory.pk)
        yield _page(_title(model, "uses of one"), f"{_name(model)}_uses", {"page": 1}, memory.pk)
    yield _page(_title(Session, "one"), f"{_name(Session)}_change", {}, session.pk)
    yield _page(_title(Session, "one, its first messages"), f"{_name(Session)}_change", {"page": 1}, session.pk)
    yield _page(_title(Turn, "one"), f"{_name(Turn)}_change", {}, turn.pk)
    for rows in (
        SharedContext.objects.order_by("created_at"),
        SessionSummary.objects.filter(session=session),
        WorkingMemory.objects.all(),
        ProfileVersion.objects.order_by("-version"),
        ProfileProposal.objects.all(),
        ForgottenKey.objects.all(),
        ConversationEmbedding.objects.all(),
        Message.objects.all(),
        Change.objects.all(),
        Work.objects.all(),
        ApiToken.objects.all(),
        ConnectedApp.objects.all(),
    ):
        yield _page(_title(rows.model, "one"), f"{_name(rows.model)}_change", {}, rows.filter(**mine)[:1].get().pk)
    served = EndUser.objects.filter(service=owner)[:1].get()
    yield _page(_title(served, "one"), f"{_name(served)}_change", {}, served.pk)
    if sees_everybody(request):
        for row in (owner, Strategy.objects.order_by("pk")[0], EmbeddingModel.objects.order_by("pk")[0]):
            yield _page(_title(row, "one"), f"{_name(row)}_change", {}, row.pk)


def _title(model: Any, part: str) -> str:
    name = str(model._meta.verbose_name_plural)
    return f"{name}: {part}" if part else name


def _name(model: Any) -> str:
    return f"{model._meta.app_label}_{model._meta.model_name}"


def _page(
    name: str, view: str, query: Mapping[str, Any], *arguments: Any, fields: Mapping[str, str] | None = None
) -> Page:
    told = urlencode(query)
    address = reverse(f"admin:{view}", args=arguments) + (f"?{told}" if told else "")
    return Page(name=name, view=view, address=address, fields=fields)
