"""The overview (M5, M6): what is new, changed, waiting and used, in words; how much is remembered, in pictures.

One's own; for staff everybody's, or one person's with ``?user=``. All of it leads to the lists behind. IDs are found
first, of everything the page names; their texts are then read together (`figures.read_texts`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, F, OuterRef, QuerySet, Subquery, TextField, Value
from django.db.models.functions import Left
from django.http import HttpRequest
from django.utils import formats, timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.accounts.models import User
from apps.chat.models import Turn
from apps.chat.selectors import list_influential
from apps.conversations.models import Message, Session, Work
from apps.core.text.sentences import cut_at_sentence
from apps.core.words import find_emotion, word
from apps.memory.models import AtomicMemory, Change, LongTermMemory, Status
from apps.panel import figures
from apps.panel.changes import name_author, name_spaces, quote_cause, read_entry
from apps.panel.figures import ATOMIC, LONG_TERM, PERIODS, SHOWN_CHARACTERS, Chart, Scope, Texts
from apps.panel.jobs import LABELS, explain_error, summarize_backlog
from apps.panel.links import link_list, link_memory, link_page
from apps.panel.memories.kinds import BOTH
from apps.panel.owned import choose_owner, sees_everybody
from apps.panel.review.waiting import Kind, count_pending
from apps.panel.texts import shorten
from apps.panel.words import show_value
from apps.profile.models import ProfileProposal

# How many of each are shown.
NEW, WAITING, CHANGED, USED = 6, 3, 5, 4

# Of the emotions over time: those found most often; a chart with more bands cannot be read.
EMOTIONS_SHOWN = 8

MEMORIES_OF_A_REPLY = 3
QUOTED = 90

# Of the newest: what was changed before is found in the list of changes.
SEARCHED_CHANGES = 2_000

# What is new, or says nothing else than before.
_NEITHER = (Change.Action.CREATE, Change.Action.REFRESH, Change.Action.IMPORT, Change.Action.ACCEPT, Change.Action.MUTE)

_TEXTS = ("value", "content", "text", "snippet")


def add_dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Put the figures of the overview into the context of the panel's first page (django-unfold calls this)."""
    chosen = choose_owner(request) if "user" in request.GET else None
    everybody = sees_everybody(request) and chosen is None
    owner = None if everybody else (chosen or choose_owner(request))
    named = owner if sees_everybody(request) else None
    scope = _read_scope(request, owner)
    counts, pending, backlog = figures.count_memories(scope), count_pending(owner), summarize_backlog(owner)
    growth, activity, sessions = figures.count_growth(scope), figures.count_activity(scope), scope.rows(Session).count()
    latest, used, most_used = find_latest(scope), find_used(scope), figures.list_most_used(scope)
    texts = figures.read_texts(scope, {*latest.ids, *list_used_ids(used), *(memory for memory, _uses in most_used)})
    links = {
        "review_link": link_page("review", user=named),
        "memories_link": link_page("memories_changelist", user=named),
        "turns_link": link_list(Turn, user=named),
        "work_link": link_list(Work, user=named),
        "failed_link": link_list(Work, user=named, state__exact=Work.State.FAILED),
        "changes_link": link_list(Change, user=named),
    }
    # Of the tiles at the top: label, value, note, link, symbol, and the colour where it asks for something.
    number = formats.number_format
    active = {category: statuses.get(Status.ACTIVE, 0) for category, statuses in counts.items()}
    waiting, failed, replies = sum(pending.values()), backlog.failed, sum(activity[0])
    half, most, timed = figures.measure_latency(scope)
    lately = {name: _("+%(count)s in %(days)s days") % {"count": number(sum(new)), "days": scope.days}
              for name, new in growth.items()}  # fmt: skip
    told = ngettext("%(count)s reply in %(days)s days", "%(count)s replies in %(days)s days", replies)
    slow = _("95%% within %(time)s") % {"time": _show_duration(most)} if timed else _("No replies yet")
    tiles = [
        (_("Long-term memories"), number(sum(active.values()) - active.get(ATOMIC, 0)), lately[LONG_TERM],
         link_list(LongTermMemory, user=named), "neurology", ""),
        (_("Atomic memories"), number(active.get(ATOMIC, 0)), lately[ATOMIC],
         link_list(AtomicMemory, user=named), "scatter_plot", ""),
        (_("Conversations"), number(sessions), told % {"count": number(replies), "days": scope.days},
         link_list(Session, user=named), "forum", ""),
        (_("Recalled"), number(sum(activity[1])), _("times in %(days)s days") % {"days": scope.days},
         links["turns_link"], "manage_search", ""),
        (_("Reply time"), _show_duration(half) if timed else "–", slow, links["turns_link"], "timer", ""),
        (_("Waiting for review"), number(waiting), _("Accept or reject") if waiting else _("Nothing to review"),
         links["review_link"], "rule", "amber" if waiting else ""),
        (_("Background work"), number(backlog.left),
         _("%(count)s failed") % {"count": number(failed)} if failed else _("None failed"),
         links["failed_link" if failed else "work_link"], "pending_actions", "red" if failed else ""),
    ]  # fmt: skip
    return context | {
        **links,
        "title": _("Overview"),
        "owner": owner,
        "named": named,
        "sees_everybody": sees_everybody(request),
        "days": scope.days,
        "periods": PERIODS,
        "empty": not counts and not sessions,
        "tiles": [dict(zip(("label", "value", "note", "link", "icon", "tone"), tile, strict=True)) for tile in tiles],
        "stacks": _stack(counts, named),
        "statuses": Status.choices,
        "charts": _draw(scope, growth, activity, named),
        "new": [_tell(key, texts, at) for key, at in latest.new if key in texts],
        "changed": list_changed(scope),
        "waiting": tell_waiting(latest, texts, link=links["review_link"]),
        "waiting_memories": pending[Kind.LONG_TERM] + pending[Kind.ATOMIC],
        "waiting_proposals": pending[Kind.PROFILE],
        "failed": list_failed(scope) if failed else [],
        "used": tell_used(used, texts),
        "most_used": [
            {**_tell(key, texts), "uses": uses, "share": round(uses / most_used[0][1], 3)} for key, uses in most_used
        ],
        "backlog": backlog,
    }


def _read_scope(request: HttpRequest, owner: User | None) -> Scope:
    asked = request.GET.get("days", "")
    days = int(asked) if asked in map(str, PERIODS) else PERIODS[0]
    zone = timezone.get_current_timezone()
    return Scope(user=owner, zone=zone, today=timezone.localdate(timezone=zone), days=days)


def _show_duration(milliseconds: float) -> str:
    if milliseconds < 1000:
        return _("%(number)s ms") % {"number": formats.number_format(round(milliseconds))}
    return _("%(number)s s") % {"number": formats.number_format(round(milliseconds / 1000, 1))}


# Pictures


def _draw(
    scope: Scope, growth: Mapping[str, list[int]], activity: tuple[list[int], list[int]], named: User | None
) -> list[Chart]:
    days, turns = scope.list_days(), link_list(Turn, user=named)
    emotions = [(find_emotion(name), numbers) for name, numbers in figures.count_emotions(scope).items()]
    grown = [
        (_("Long-term"), "var(--chart-teal)", growth[LONG_TERM]),
        (_("Atomic"), "var(--chart-blue)", growth[ATOMIC]),
    ]
    uses = [
        (_("Replies"), "var(--chart-grey)", activity[0]),
        (_("Recalled memories"), "var(--chart-teal)", activity[1]),
    ]
    felt = [(str(one.title), one.colour, numbers) for one, numbers in emotions[:EMOTIONS_SHOWN]]
    return [
        Chart("bar", _("New memories"), days, grown, link_list(LongTermMemory, user=named)),
        Chart("line", _("Replies and recalled memories"), days, uses, turns),
        Chart("bar", _("Emotions"), days, felt, turns),
    ]


def _stack(counts: figures.Counts, named: User | None) -> list[dict[str, Any]]:
    """A stacked bar for each category: its memories by status, each part as a share of the longest bar."""
    longest = max((sum(statuses.values()) for statuses in counts.values()), default=0)
    stacks = []
    for category in ("preference", "fact", "pattern", ATOMIC):
        statuses = counts.get(category, {})
        model = AtomicMemory if category == ATOMIC else LongTermMemory
        filters = {} if category == ATOMIC else {"category": category}
        parts = [
            {
                "status": status,
                "label": str(Status(status).label),
                "count": statuses[status],
                "share": statuses[status] / longest,
                "link": link_list(model, user=named, **filters, status=status),
            }
            for status in Status.values
            if statuses.get(status)
        ]
        link = link_list(model, user=named, **filters, status="all")
        label = word("categories", category)
        stacks.append({"label": label, "total": sum(statuses.values()), "link": link, "parts": parts})
    return stacks


# Answers in words


@dataclass(frozen=True, slots=True)
class Latest:
    """IDs with the time of each, newest first: of memories that are in use, and of what waits.

    ``proposals``: to the profile; their words, as there is nothing else to read.
    """

    new: Sequence[tuple[UUID, datetime]]
    waiting: Sequence[tuple[UUID, datetime]]
    proposals: Mapping[UUID, str]

    @property
    def ids(self) -> list[UUID]:
        return [key for key, _at in (*self.new, *self.waiting) if key not in self.proposals]


def find_latest(scope: Scope) -> Latest:
    parts = []
    for kind in BOTH:
        rows = scope.rows(kind.model)
        parts += [
            _pick(rows.filter(status=status), made_at=kind.memory.made_at, limit=limit)
            for status, limit in ((Status.ACTIVE, NEW), (Status.PENDING, WAITING))
        ]
    pending = scope.rows(ProfileProposal).filter(status="pending")
    parts.append(_pick(pending, made_at="created_at", limit=WAITING, section=F("section"), words=Left("text", QUOTED)))
    new: list[tuple[UUID, datetime]] = []
    waiting: list[tuple[UUID, datetime]] = []
    proposals = {}
    for key, status, at, section, words in parts[0].union(*parts[1:], all=True).order_by("-at", "-pk"):
        (new if status == Status.ACTIVE else waiting).append((key, at))
        if section:
            proposals[key] = f"{word('section', section)}: {words}"
    return Latest(new=new[:NEW], waiting=waiting[:WAITING], proposals=proposals)


def _pick(rows: QuerySet[Any], *, made_at: str, limit: int, **words: Any) -> QuerySet[Any]:
    nothing = Value("", output_field=TextField())
    columns = {"section": nothing, "words": nothing, **words}
    picked: QuerySet[Any] = rows.annotate(at=F(made_at), **{f"of_{name}": value for name, value in columns.items()})
    picked = picked.order_by("-at", "-pk").values_list("pk", "status", "at", "of_section", "of_words")
    return picked[:limit]


def _tell(key: UUID, texts: Texts, at: datetime | None = None) -> dict[str, Any]:
    """A memory in words, with its page; the text is None where it was deleted."""
    kind, text = texts.get(key, ("", None))
    return {"text": text, "link": link_memory(kind, key) if kind else "", "at": at}


def tell_waiting(latest: Latest, texts: Texts, *, link: str) -> list[dict[str, Any]]:
    """The newest of what waits; all of it leads to the queue."""
    words = {key: text for key, (_kind, text) in texts.items()} | dict(latest.proposals)
    return [{"text": words[key], "link": link, "at": at} for key, at in latest.waiting if key in words]


def find_used(scope: Scope) -> list[Turn]:
    """The last replies for which something was recalled, with the beginning of what they answer. One query."""
    said = Message.objects.filter(pk=OuterRef("user_message")).values(start=Left("content", QUOTED * 2))
    turns = scope.turns.exclude(memories_used=[]).only("created_at", "memories_used").annotate(said=Subquery(said))
    return list(turns.order_by("-created_at", "-pk")[:USED])


def list_used_ids(turns: Iterable[Turn]) -> list[UUID]:
    """The memories that are named of these replies, with as many more as may have been deleted."""
    return [UUID(item["id"]) for turn in turns for item in list_influential(turn.memories_used)]


def tell_used(turns: Iterable[Turn], texts: Texts) -> list[dict[str, Any]]:
    """Replies with the memories that are still there; without those of which nothing is left."""
    replies = []
    for turn in turns:
        there = [_tell(key, texts) for key in list_used_ids([turn]) if key in texts]
        if there:
            said = cut_at_sentence((getattr(turn, "said", "") or "").strip(), QUOTED)
            shown, more = there[:MEMORIES_OF_A_REPLY], max(len(there) - MEMORIES_OF_A_REPLY, 0)
            replies.append({"id": turn.pk, "said": said, "at": turn.created_at, "memories": shown, "more": more})
    return replies


@dataclass(frozen=True, slots=True)
class Changed:
    """What one operation changed, in words: ``name`` is ``after`` now, ``before`` before.

    ``label``: which of its fields, unless it is what is remembered. Without ``before`` and ``after``, only that
    something was done to it. ``has_ended``: nothing took its place. ``said``: the message that caused it.
    """

    change: Change
    name: str
    link: str
    label: str
    before: str
    after: str
    has_ended: bool
    author: str
    said: str


def list_changed(scope: Scope) -> list[Changed]:
    """The last changes of what was there before. Two queries, and one for the names of spaces."""
    newest = scope.rows(Change).order_by("-id").values("pk")[:SEARCHED_CHANGES]
    changes = Change.objects.filter(pk__in=newest).exclude(action__in=_NEITHER).order_by("-id")
    by_operation: dict[UUID, Change] = {}
    for change in changes.select_related("user", "actor", "message")[: CHANGED * 4]:
        first = by_operation.setdefault(change.operation, change)
        if _rank(change) < _rank(first):
            by_operation[change.operation] = change
    shown = list(by_operation.values())[:CHANGED]
    successors = {str((change.after or {}).get("superseded_by")) for change in shown} - {"None"}
    made = Change.objects.filter(operation__in=[change.operation for change in shown], object_id__in=successors)
    taken = {str(key): after for key, after in made.values_list("object_id", "after") if after} if successors else {}
    spaces = name_spaces(shown)
    return [_describe(change, taken, spaces) for change in shown]


def _rank(change: Change) -> int:
    """Of the records of one operation: first what was replaced, then what was edited, then anything."""
    order = (Change.Action.SUPERSEDE, Change.Action.EDIT, Change.Action.MERGE)
    return order.index(Change.Action(change.action)) if change.action in order else len(order)


def _describe(change: Change, taken: Mapping[str, Mapping[str, Any]], spaces: Mapping[str, str]) -> Changed:
    entry = read_entry(change, spaces)
    old, new = change.before or {}, change.after or {}
    label, before, after = "", "", ""
    if change.action == Change.Action.SUPERSEDE:
        before, after = _read_text(old), _read_text(taken.get(str(new.get("superseded_by")), {}))
    elif old and new and change.action in (Change.Action.EDIT, Change.Action.MERGE, Change.Action.MOVE):
        before, after = _read_text(old), _read_text(new)
        if before == after:  # then another field was changed
            label, before, after = (
                (entry.lines[0].label, entry.lines[0].before, entry.lines[0].after) if entry.lines else ("", "", "")
            )
    return Changed(
        change=change,
        name="" if entry.name in (before, before[:SHOWN_CHARACTERS]) else entry.name,
        link=entry.link,
        label=label,
        before=shorten(before, SHOWN_CHARACTERS),
        after=shorten(after, SHOWN_CHARACTERS),
        has_ended=bool(before and not after),
        author=name_author(change),
        said=quote_cause(change, QUOTED),
    )


def _read_text(snapshot: Mapping[str, Any]) -> str:
    return next((show_value(snapshot[name]) for name in _TEXTS if snapshot.get(name)), "")


def list_failed(scope: Scope) -> list[dict[str, Any]]:
    """What failed, by what it was and why in words, the most frequent first. One query."""
    rows = scope.rows(Work).filter(state=Work.State.FAILED).values_list("kind", "error").annotate(n=Count("*"))
    return [
        {"label": str(LABELS[Work.Kind(kind)]), "count": count, "why": explain_error(error)}
        for kind, error, count in rows.order_by("-n", "kind", "error")[:WAITING]
    ]
