"""The figures at the top of the overview, each with the list behind it."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils import formats
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.accounts.models import User
from apps.chat.models import Turn
from apps.conversations.models import Session, Work
from apps.memory.models import AtomicMemory, LongTermMemory, Status
from apps.panel.dashboard.figures import ATOMIC, Activity, Counts, Growth, Latency
from apps.panel.links import link_list, link_page
from apps.panel.work.progress import Progress


@dataclass(frozen=True, slots=True)
class Found:
    """What was counted, of the last `days` days where it is about time. `proposals`: to the profile, undecided."""

    counts: Counts
    growth: Growth
    activity: Activity
    latency: Latency
    proposals: int
    sessions: int
    backlog: Progress
    days: int

    @property
    def waiting(self) -> int:
        """What somebody has to accept or reject."""
        return self.proposals + sum(statuses.get(Status.PENDING, 0) for statuses in self.counts.values())


@dataclass(frozen=True, slots=True)
class Tile:
    """One figure, with the list behind it. `tone`: its colour where it asks for something."""

    label: str
    value: str
    note: str
    link: str
    icon: str
    tone: str = ""


def list_tiles(found: Found, *, user: User | None) -> list[Tile]:
    """The tiles in the order in which they stand; their lists are narrowed to `user`."""
    return [*_tell_of_memories(found, user), *_tell_of_use(found, user), *_tell_of_work(found, user)]


def _tell_of_memories(found: Found, user: User | None) -> list[Tile]:
    def lately(numbers: list[int]) -> str:
        return _("+%(count)s in %(days)s days") % {"count": formats.number_format(sum(numbers)), "days": found.days}

    active = {category: statuses.get(Status.ACTIVE, 0) for category, statuses in found.counts.items()}
    atomic = active.pop(ATOMIC, 0)
    return [
        Tile(
            label=_("Long-term memories"),
            value=formats.number_format(sum(active.values())),
            note=lately(found.growth.long_term),
            link=link_list(LongTermMemory, user=user),
            icon="neurology",
        ),
        Tile(
            label=_("Atomic memories"),
            value=formats.number_format(atomic),
            note=lately(found.growth.atomic),
            link=link_list(AtomicMemory, user=user),
            icon="scatter_plot",
        ),
    ]


def _tell_of_use(found: Found, user: User | None) -> list[Tile]:
    replies, uses = sum(found.activity.turns), sum(found.activity.uses)
    count = {"count": formats.number_format(replies), "days": found.days}
    slow = {"time": _show_duration(found.latency.p95)}
    return [
        Tile(
            label=_("Conversations"),
            value=formats.number_format(found.sessions),
            note=ngettext("%(count)s reply in %(days)s days", "%(count)s replies in %(days)s days", replies) % count,
            link=link_list(Session, user=user),
            icon="forum",
        ),
        Tile(
            label=_("Recalled"),
            value=formats.number_format(uses),
            note=_("times in %(days)s days") % {"days": found.days},
            link=link_list(Turn, user=user),
            icon="manage_search",
        ),
        Tile(
            label=_("Reply time"),
            value=_show_duration(found.latency.p50) if found.latency.turns else "–",
            note=_("95%% within %(time)s") % slow if found.latency.turns else _("No replies yet"),
            link=link_list(Turn, user=user),
            icon="timer",
        ),
    ]


def _tell_of_work(found: Found, user: User | None) -> list[Tile]:
    failed = found.backlog.failed
    return [
        Tile(
            label=_("Waiting for review"),
            value=formats.number_format(found.waiting),
            note=_("Accept or reject") if found.waiting else _("Nothing to review"),
            link=link_page("review", user=user),
            icon="rule",
            tone="amber" if found.waiting else "",
        ),
        Tile(
            label=_("Background work"),
            value=formats.number_format(found.backlog.left),
            note=_("%(count)s failed") % {"count": formats.number_format(failed)} if failed else _("None failed"),
            link=link_list(Work, user=user, **({"state__exact": Work.State.FAILED} if failed else {})),
            icon="pending_actions",
            tone="red" if failed else "",
        ),
    ]


def _show_duration(milliseconds: float) -> str:
    if milliseconds < 1000:
        return _("%(number)s ms") % {"number": formats.number_format(round(milliseconds))}
    return _("%(number)s s") % {"number": formats.number_format(round(milliseconds / 1000, 1))}
