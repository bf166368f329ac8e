"""The audit record (L7): who changed what, as differences, by words or by source, and undoing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import FieldDoesNotExist
from django.db.models import (
    BooleanField,
    DateTimeField,
    Exists,
    ExpressionWrapper,
    F,
    Func,
    Max,
    Model,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextField,
    Value,
)
from django.db.models.functions import Concat
from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.accounts.models import Space, User
from apps.core.errors import JiyiError
from apps.core.text.sentences import cut_at_sentence
from apps.core.words import word
from apps.memory.changes.undo import undo_operation
from apps.memory.models import AtomicMemory, Change, ContextEntry, LongTermMemory, SharedContext
from apps.panel.links import link_message
from apps.panel.owned import ReadOnlyAdmin, column, sees_everybody
from apps.panel.pages import PanelPage, with_toast
from apps.panel.refusals import translate_reason
from apps.panel.sources import SourceFilter, describe_source, link_sources
from apps.panel.spaces import SpaceFilter
from apps.panel.texts import read_id
from apps.panel.words import show_time, show_value
from apps.profile.document import TEXT_SECTIONS
from apps.profile.models import ProfileProposal, UserProfile
from apps.summaries.models import SessionSummary

MODELS: dict[str, type[Model]] = {
    Change.Kind.LONG_TERM: LongTermMemory,
    Change.Kind.ATOMIC: AtomicMemory,
    Change.Kind.PROFILE: UserProfile,
    Change.Kind.PROPOSAL: ProfileProposal,
    Change.Kind.SUMMARY: SessionSummary,
    Change.Kind.CONTEXT: SharedContext,
    Change.Kind.ENTRY: ContextEntry,
}
_NAMING = ("key", "title", "content", "text")

# Fields that say nothing a person does not see in the others.
_TECHNICAL = frozenset({"normalized_key", "normalized_content", "superseded_by", "superseded_by_id", "updated_at"})

# What is not worth a line of a new memory.
_USUAL = {"status": "active", "mode": "replace"}

_SHOWN = 400
_BEFORE_CHANGE = 60


@dataclass(frozen=True, slots=True)
class Line:
    """One field of an object: its name in words, and its texts before and after."""

    label: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One audit record. ``name``: what the object is called, empty once it was deleted; ``link``: its page."""

    change: Change
    name: str
    link: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """What was changed together, and is undone together. ``cause``: what the person said that led to it, cut."""

    id: UUID
    entries: tuple[Entry, ...]
    author: str
    cause: str

    @property
    def first(self) -> Change:
        return self.entries[0].change

    @property
    def can_be_undone(self) -> bool:
        return all(entry.change.can_be_undone for entry in self.entries)


def group_operations(changes: Iterable[Change]) -> list[Operation]:
    """Records as operations, in the order of a list; others' records may stand between those of one."""
    operations: dict[UUID, list[Entry]] = {}
    changes = list(changes)
    spaces = name_spaces(changes)
    for change in changes:
        operations.setdefault(change.operation, []).append(read_entry(change, spaces))
    return [
        Operation(operation, tuple(entries), name_author(entries[0].change), quote_cause(entries[0].change))
        for operation, entries in operations.items()
    ]


def quote_cause(change: Change, limit: int = _SHOWN) -> str:
    """Return the beginning of the message that led to a change; empty where none did, or it was deleted."""
    return cut_at_sentence(change.message.content.strip(), limit) if change.message else ""


def name_author(change: Change) -> str:
    """A user name, or the assistant; an account that has been deleted since has no name any more."""
    if change.actor:
        return change.actor.get_username()
    by_hand = change.origin in (Change.Origin.PANEL, Change.Origin.API)
    return _("Deleted user") if by_hand else _("Assistant")


def name_spaces(changes: Collection[Change]) -> dict[str, str]:
    """Return the names of the spaces that these changes name, by ID; a query where there are any."""
    states = [state for change in changes for state in (change.before, change.after) if state]
    ids = {state["space"] for state in states if state.get("space")}
    owners = {change.user_id for change in changes}
    found = Space.objects.filter(user__in=owners, id__in=ids).values_list("id", "name") if ids else ()
    return {str(space_id): name for space_id, name in found}


def read_entry(change: Change, spaces: Mapping[str, str]) -> Entry:
    snapshot = change.after or change.before or {}
    name = next((show_value(snapshot[field]) for field in _NAMING if snapshot.get(field)), "")
    link = _link(change, snapshot) if snapshot else ""
    return Entry(change=change, name=name[:120], link=link, lines=tuple(list_lines(change, spaces)))


def list_lines(change: Change, spaces: Mapping[str, str], *, whole: bool = False) -> Iterator[Line]:
    """What differs, field by field; long texts near to what differs only, unless `whole`. `spaces`: `name_spaces`."""
    before, after = change.before or {}, change.after or {}
    for name in {**before, **after}:
        old, new = before.get(name), after.get(name)
        is_usual = change.before is None and (not new or _USUAL.get(name) == new)
        if old != new and name not in _TECHNICAL and not is_usual:
            if name == "space":
                told = (_tell_space(state, spaces) for state in (change.before, change.after))
                line = Line(str(Space._meta.verbose_name), *told)
            else:
                line = make_line(change.kind, name, old, new)
            yield line if whole else Line(line.label, *_cut(line.before, line.after))


def _tell_space(state: Mapping[str, Any] | None, spaces: Mapping[str, str]) -> str:
    if state is None:
        return ""
    return spaces.get(state["space"], _("(deleted)")) if state.get("space") else _("everywhere")


def make_line(kind: str, name: str, before: Any, after: Any) -> Line:
    """Return what a field of a kind of objects was and is, in words."""
    field = _find_field(kind, name)
    return Line(str(getattr(field, "verbose_name", name)), _show(before, field), _show(after, field))


def _cut(before: str, after: str) -> tuple[str, str]:
    """Both texts from just before where they part: whole values are not compared for a list."""
    if max(len(before), len(after)) <= _SHOWN:
        return before, after
    parting = next((at for at, (old, new) in enumerate(zip(before, after, strict=False)) if old != new), 0)
    start = max(0, parting - _BEFORE_CHANGE)
    return _cut_at(before, start), _cut_at(after, start)


def _cut_at(text: str, start: int) -> str:
    return ("…" if start else "") + text[start : start + _SHOWN] + ("…" if len(text) > start + _SHOWN else "")


def _link(change: Change, snapshot: Mapping[str, Any]) -> str:
    if change.kind == Change.Kind.ENTRY:
        return reverse("admin:memory_sharedcontext_change", args=[snapshot["context"]])
    if change.kind in (Change.Kind.PROFILE, Change.Kind.PROPOSAL):
        return f"{reverse('admin:profile')}?user={change.user_id}"
    options = MODELS[change.kind]._meta
    return reverse(f"admin:{options.app_label}_{options.model_name}_change", args=[change.object_id])


@cache
def _find_field(kind: str, name: str) -> Any:
    """The field of a snapshot's entry; None for one that no column is named after."""
    try:
        return MODELS[kind]._meta.get_field(name.removesuffix("_id"))
    except FieldDoesNotExist:
        return None


def _show(value: Any, field: Any) -> str:
    """A value in words: those of a choice as the page calls them, yes and no, a time in the zone of who reads it."""
    choices = dict(getattr(field, "flatchoices", ()))
    if isinstance(value, bool) and isinstance(field, BooleanField):
        return _("yes") if value else _("no")
    if isinstance(value, str) and isinstance(field, DateTimeField) and (time := parse_datetime(value)):
        return show_time(field.name, time)
    if field is not None and field.name == "sensitive":
        return ", ".join(word("sensitive", mark) for mark in value or ())
    return str(choices[value]) if isinstance(value, str) and value in choices else show_value(value)


# How many changes are read for words, the newest; older ones are narrowed to by the filters.
SEARCHED = 10_000

# How many characters of each text are searched: with very long ones, searching still takes seconds at most.
LONGEST = 2_000

MOST_WORDS = 8
MOST_CHARACTERS = 200

# What of a snapshot somebody wrote or said; the rest are numbers, times and names of states.
_TEXTS = ("key", "value", "content", "tags", "title", "snippet", "section", "text", "sections", *TEXT_SECTIONS)


def search_changes(changes: QuerySet[Change], text: str) -> QuerySet[Change]:
    """Those among the newest of `changes` that have every word somewhere in their texts, or an ID of their own.

    Chinese has no spaces: there a word is any run of characters, found anywhere.
    """
    words = text[:MOST_CHARACTERS].split()[:MOST_WORDS]
    if not words:
        return changes
    if (named := read_id(text.strip())) is not None:
        return changes.filter(Q(object_id=named) | Q(operation=named))
    # What is never shown to who asks is not among `changes`, and so is not even counted.
    newest = changes.order_by("-pk").values("pk")[:SEARCHED]
    found = changes.filter(pk__in=newest).alias(
        texts=Concat(_join_texts("after"), Value("\n"), _join_texts("before"), output_field=TextField())
    )
    for one in words:
        found = found.filter(texts__icontains=one)
    return found


class _Texts(Func):
    """The texts of a snapshot, each on a line of its own; empty once the object was deleted. Reads it only once."""

    template = (
        "COALESCE((SELECT STRING_AGG(LEFT(part.value, %(longest)s), E'\\n') "
        "FROM JSONB_EACH_TEXT(NULLIF(%(expressions)s, 'null'::jsonb)) part WHERE part.key = ANY('{%(names)s}')), '')"
    )
    output_field = TextField()


def _join_texts(name: str) -> _Texts:
    return _Texts(F(name), longest=LONGEST, names=",".join(_TEXTS))


class UndoOperations(PanelPage):
    """POST ``operations``: IDs with commas between them; ``together``: with each, all that was done in its request.

    The newest is undone first, as others may rest on it.
    """

    def post(self, request: HttpRequest) -> HttpResponse:
        """Undo them all, up to the first that cannot be undone; the toast says why. 404 for none and another's."""
        everything = Change.objects.all() if sees_everybody(request) else Change.objects.filter(user=request.user.pk)
        wanted = list(filter(None, map(read_id, request.POST.get("operations", "").split(","))))
        is_together = bool(request.POST.get("together"))
        changes = _list_made_with(everything, wanted) if is_together else everything.filter(operation__in=wanted)
        newest_first = changes.values("operation", "user").annotate(newest=Max("id")).order_by("-newest")
        operations = [(row["operation"], row["user"]) for row in newest_first]
        if not operations:
            raise Http404(_("This change does not exist."))
        users = User.objects.in_bulk({user_id for _operation, user_id in operations})
        response = HttpResponse(status=204)
        try:
            for operation, user_id in operations:
                undo_operation(user=users[user_id], operation=operation, now=timezone.now())
        except JiyiError as error:
            return with_toast(response, translate_reason(error.message), is_error=True, reload=True)
        return with_toast(response, _("Undone."), reload=True)


def _list_made_with(everything: QuerySet[Change], operations: Sequence[UUID]) -> QuerySet[Change]:
    """What the same people made at the same moments, in the same way: a request has one time for all it changes."""
    first = everything.filter(operation__in=operations).order_by("pk")
    beside = first.alias(by=ExpressionWrapper(OuterRef("actor"), Change._meta.get_field("actor").target_field)).filter(
        Q(actor=F("by")) | Q(actor=None, by=None),  # nobody is the same as nobody
        pk__lte=OuterRef("pk"),
        created_at=OuterRef("created_at"),
        origin=OuterRef("origin"),
    )
    # No index leads to a moment: what was made before the first of these is not even read.
    return everything.filter(Exists(beside), pk__gte=Subquery(first.values("pk")[:1]))


CAUSE_CHARACTERS = 200


def _link_sources(change: Change, *, shows_owner: bool) -> list[tuple[str, str]]:
    session = change.message.session_id if change.message else change.session_id
    owner = change.user if shows_owner else None
    return link_sources(session=session, program=change.via, time=change.created_at, owner=owner)


@admin.register(Change)
class ChangeAdmin(ReadOnlyAdmin):
    """Every change of what is remembered, newest first. Records are neither edited nor deleted; changes are undone."""

    never = ("add", "change", "delete")
    change_list_template = "panel/changes/list.html"
    list_before_template = "panel/changes/source.html"
    list_display = ("created_at", "action", "kind", "user")
    list_select_related = ("user", "actor", "message", "space")
    list_filter = ("action", "kind", "origin", SpaceFilter, "created_at", SourceFilter)
    search_fields = ("before", "after", "object_id", "operation")  # in their own way: `get_search_results`
    search_help_text = gettext_lazy("Search the newest 10,000 changes, or an ID")
    actions = ("undo_selected",)
    fields = readonly_fields = (
        "created_at", "user", "author", "origin", "action", "kind", "thing", "differences", "cause", "is_undone",
        "object_id", "operation",
    )  # fmt: skip

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Change], search_term: str
    ) -> tuple[QuerySet[Change], bool]:
        return search_changes(queryset, search_term), False

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[Any, ...]:
        """Names for everybody; IDs, which a search finds, for staff."""
        names = super().get_fields(request, obj)
        return tuple(name for name in names if sees_everybody(request) or name not in ("object_id", "operation"))

    @admin.display(description=gettext_lazy("changed item"))
    def thing(self, change: Change) -> SafeString:
        entry = read_entry(change, {})
        if not entry.link:
            return format_html('<span class="muted">{}</span>', _("(deleted)"))
        return format_html('<a href="{}" dir="auto">{}</a>', entry.link, entry.name or change.get_kind_display())

    @admin.display(description=gettext_lazy("caused by"))
    def cause(self, change: Change) -> SafeString | str:
        """The message that caused it, in its conversation."""
        if change.message is None:
            return "–"
        url = link_message(change.message.session_id, change.message_id)
        said = Truncator(change.message.content).chars(CAUSE_CHARACTERS)
        return format_html('<a href="{}" dir="auto">{}</a>', url, said)

    is_undone = column(gettext_lazy("undone"), lambda change: str(_("yes") if change.undone_by else _("no")))
    author = column(gettext_lazy("changed by"), name_author)

    @admin.display(description=gettext_lazy("differences"))
    def differences(self, change: Change) -> str:
        """What was before and is after, for each field that changed; nothing once the object was deleted."""
        lines = list(list_lines(change, name_spaces([change]), whole=True))
        return render_to_string("panel/changes/lines.html", {"lines": lines})

    def describe_list(self, request: HttpRequest, rows: Sequence[Change]) -> dict[str, Any]:
        shows_owner = sees_everybody(request)
        return {
            "shows_owner": shows_owner,
            **describe_source(request),
            "operations": [
                (operation, _link_sources(operation.first, shows_owner=shows_owner))
                for operation in group_operations(rows)
            ],
        }

    def has_undo_permission(self, request: HttpRequest) -> bool:
        """Whoever sees a change may undo it, though the record itself is never changed."""
        return self.has_view_permission(request)

    @admin.action(description=gettext_lazy("Undo selected changes"), permissions=["undo"])
    def undo_selected(self, request: HttpRequest, queryset: QuerySet[Change]) -> None:
        """Undo these with all that was changed together with each; that can be undone again."""
        undone = 0
        # Newest first: a later change has to go before the one it builds on.
        selected = queryset.select_related("user").order_by("-id")
        for operation, user in {change.operation: change.user for change in selected}.items():
            try:
                undo_operation(user=user, operation=operation, now=timezone.now())
                undone += 1
            except JiyiError as error:
                self.message_user(request, translate_reason(error.message), level=messages.ERROR)
        if undone:
            text = ngettext("%(count)s change undone.", "%(count)s changes undone.", undone)
            self.message_user(request, text % {"count": undone}, level=messages.SUCCESS)
