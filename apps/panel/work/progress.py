"""How far the background work is, of one person or of everybody."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.conversations.models import Work
from apps.conversations.queue import count_backlog

LABELS = {
    Work.Kind.EMBED: _("Creating embeddings"),
    Work.Kind.EXTRACT: _("Extracting memories"),
    Work.Kind.SUMMARIZE: _("Summarising conversations"),
}


@dataclass(frozen=True, slots=True)
class KindProgress:
    """What is left of one kind of work: `due` waits, `claimed` is under way; `oldest` is the age of the oldest."""

    kind: str
    label: str
    due: int
    claimed: int
    failed: int
    oldest: timedelta

    @property
    def total(self) -> int:
        return self.due + self.claimed + self.failed

    def share(self, number: int) -> float:
        return round(number / self.total, 3) if self.total else 0.0

    @property
    def parts(self) -> list[tuple[str, int, float]]:
        """The pieces of its bar: name, number, share; those that are none are left out."""
        pieces = [("claimed", self.claimed), ("due", self.due), ("failed", self.failed)]
        return [(name, number, self.share(number)) for name, number in pieces if number]


@dataclass(frozen=True, slots=True)
class Progress:
    """The whole backlog."""

    kinds: list[KindProgress]

    @property
    def left(self) -> int:
        """What will still be done by itself."""
        return sum(kind.due + kind.claimed for kind in self.kinds)

    @property
    def failed(self) -> int:
        """What is not tried again unless somebody asks for it."""
        return sum(kind.failed for kind in self.kinds)


def summarize_backlog(user: User | None) -> Progress:
    """How far the work is, of one person or, without one, of everybody."""
    counted = count_backlog(user=user)
    return Progress(
        kinds=[
            KindProgress(
                kind=kind,
                label=str(LABELS[Work.Kind(kind)]),
                due=numbers["due"],
                claimed=numbers["claimed"],
                failed=numbers["failed"],
                oldest=timedelta(seconds=numbers["oldest_seconds"]),
            )
            for kind, numbers in counted.items()
        ]
    )
