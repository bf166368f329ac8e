"""What waits for a person's decision (M6): each kind of it in one class, and all of it as one queue.

A class says which rows wait, what the card of one shows, and what accepting and rejecting it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from django.db.models import CharField, Count, F, FloatField, QuerySet, TextChoices, Value
from django.utils import formats
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from apps.accounts.models import User
from apps.accounts.selectors import get_own_values, get_settings
from apps.core.text.clean import json_text
from apps.core.text.instructions import is_instruction
from apps.core.text.sentences import cut_at_sentence, split_sentences
from apps.core.words import word
from apps.memory import kinds
from apps.memory.judge.review import (
    Acceptance,
    accept_memory,
    find_reason,
    list_sent_to_review,
    preview_acceptance,
    preview_acceptances,
    reject_memory,
)
from apps.memory.judge.types import Reason
from apps.memory.lifecycle import update_memory
from apps.memory.models import SEARCH_FIELDS, AtomicMemory, LongTermMemory, Status
from apps.memory.validation import reads_as_instruction
from apps.panel.texts import list_keywords, shorten, split_found
from apps.panel.words import show_value
from apps.profile.models import ProfileProposal
from apps.profile.services import accept_proposal, preview_proposals, reject_proposal

# Of the sentence that is shown: a message may be one sentence of 32,000 characters.
MAX_CHARACTERS = 400

# Characters of a text on a card: the editor and the memory's own page have all of it.
MAX_SHOWN = 500


class Kind(TextChoices):
    """What kind of thing waits."""

    LONG_TERM = "long_term", gettext_lazy("Long-term memories")
    ATOMIC = "atomic", gettext_lazy("Atomic memories")
    PROFILE = "profile", gettext_lazy("Profile proposals")


class Order(TextChoices):
    """What comes first. Only long-term memories say how sure they are; the others follow them, newest first."""

    NEWEST = "newest", gettext_lazy("Newest first")
    OLDEST = "oldest", gettext_lazy("Oldest first")
    SUREST = "surest", gettext_lazy("Highest confidence first")


_ORDERS = {
    Order.NEWEST: (F("made_at").desc(), F("id").desc()),
    Order.OLDEST: (F("made_at").asc(), F("id").asc()),
    Order.SUREST: (F("sureness").desc(), F("made_at").desc(), F("id").desc()),
}


@dataclass(frozen=True, slots=True)
class Quote:
    """A part of a message, in pieces: whether each is a word of the memory, and its text.

    `before`, `after`: whether the message says more on that side.
    """

    pieces: list[tuple[bool, str]]
    before: bool
    after: bool


@dataclass(frozen=True, slots=True)
class Consequence:
    """What accepting does, in a sentence, and what is there before and after side by side where something is replaced.

    `before`: the texts that no longer hold.
    """

    sentence: str
    before: Sequence[str] = ()
    after: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """A card of the queue. `consequence` None: it takes a while to find out, so the page asks for it by itself."""

    kind: Kind
    row: Any
    made_at: datetime
    text: str
    reasons: Sequence[str]
    quote: Quote | None
    consequence: Consequence | None
    title: str = ""
    threshold: float = 0.0

    @property
    def reference(self) -> str:
        return f"{self.kind}:{self.row.id}"


class WaitingKind(ABC):
    """One kind of what waits; its rows have an owner in `user` and mostly a `message`."""

    name: ClassVar[Kind]
    model: ClassVar[type[Any]]
    derived: ClassVar[tuple[str, ...]] = ()
    made_at: ClassVar[str] = "created_at"
    related: ClassVar[tuple[str, ...]] = ("user", "message")

    def list_pending(self, owner: User | None) -> QuerySet[Any]:
        """The pending rows, of everybody with None, without order and without what only search reads."""
        rows: QuerySet[Any] = self.model.objects.filter(status=Status.PENDING).defer(*self.derived).order_by()
        return rows if owner is None else rows.filter(user=owner)

    @abstractmethod
    def show(self, rows: Sequence[Any]) -> Iterator[Item]:
        """Yield the cards of these rows."""

    @abstractmethod
    def accept(self, row: Any, edits: Mapping[str, Any], *, now: datetime) -> None:
        """Accept a row, with these fields changed first."""

    @abstractmethod
    def reject(self, row: Any, *, now: datetime) -> None:
        """Reject a row."""


class MemoryWaits(WaitingKind):
    """Memories of one kind."""

    memory: ClassVar[kinds.MemoryKind]
    related = ("user", "message", "space")

    def accept(self, row: Any, edits: Mapping[str, Any], *, now: datetime) -> None:
        if edits:
            update_memory(self.memory, user=row.user, memory_id=row.id, changes=edits, now=now)
        accept_memory(self.memory, user=row.user, memory_id=row.id, now=now)

    def reject(self, row: Any, *, now: datetime) -> None:
        reject_memory(self.memory, user=row.user, memory_id=row.id, now=now)


_UNKNOWN = gettext_noop(
    "Your own words do not plainly say this, or it was below your auto-accept threshold when it was learned."
)


class LongTermWaits(MemoryWaits):
    name, memory, model = Kind.LONG_TERM, kinds.LONG_TERM, LongTermMemory
    derived = SEARCH_FIELDS

    def show(self, rows: Sequence[LongTermMemory]) -> Iterator[Item]:
        acceptances, thresholds = preview_acceptances(rows), _read_thresholds()
        aside = list_sent_to_review({row.user_id for row in rows}, ids=[row.id for row in rows])
        for row in rows:
            threshold = thresholds.get(row.user_id, thresholds[None])
            reasons = []
            if row.confidence < threshold:
                numbers = {"confidence": _number(row.confidence), "threshold": _number(threshold)}
                text = _("Its confidence of %(confidence)s is below your auto-accept threshold of %(threshold)s.")
                reasons.append(text % numbers)
            if reads_as_instruction(key=row.key, value=row.value):
                reasons.append(_instruction())
            if row.sensitive:
                reasons.append(_sensitive(row))
            if not reasons and row.id in aside:
                reasons.append(_set_aside())
            yield Item(
                kind=self.name,
                row=row,
                made_at=row.created_at,
                title=row.key,
                text=_shorten(show_value(row.value)),
                reasons=reasons or [_(_UNKNOWN)],
                quote=_quote(row, f"{row.key} {json_text(row.value)}"),
                consequence=self._describe(row, acceptances[row.id]),
                threshold=threshold,
            )

    @staticmethod
    def _describe(memory: LongTermMemory, acceptance: Acceptance) -> Consequence:
        active = acceptance.active
        if active is None:
            return Consequence(_("A new memory is created. Nothing is replaced."))
        before = _shorten(show_value(active.value))
        if acceptance.result is None:
            return Consequence(_("It removes the last item, so nothing remains under this key."), before=[before])
        sentences = {
            "add": _("It is added to the current value."),
            "remove": _("It is removed from the current value."),
            "replace": _("It replaces the current value, which is kept as history."),
        }
        return Consequence(sentences[memory.mode], before=[before], after=_shorten(show_value(acceptance.result)))


class AtomicWaits(MemoryWaits):
    name, memory, model = Kind.ATOMIC, kinds.ATOMIC, AtomicMemory
    derived, made_at = ("terms",), "create_time"

    def show(self, rows: Sequence[AtomicMemory]) -> Iterator[Item]:
        thresholds = _read_thresholds()
        for row in rows:
            threshold = thresholds.get(row.user_id, thresholds[None])
            unsure = _("The model's confidence was below your auto-accept threshold of %(threshold)s.")
            reasons = {
                Reason.INSTRUCTION: _instruction(),
                Reason.UNGROUNDED: _("Your own words do not say this."),
                Reason.BY_OWNER: _("It would end or change a memory that you wrote yourself."),
                Reason.MANY_ENDS: _("One message would end many memories at once."),
                Reason.SET_ASIDE: _set_aside(),
                Reason.ELSEWHERE: _elsewhere(row),
                Reason.DERIVED: _("It was derived from several memories, so it needs your approval."),
                Reason.UNCERTAIN: _("The model proposes this, but it is not plain from the memories themselves."),
                Reason.SENSITIVE: _sensitive(row),
                Reason.UNCONFIRMED: _("Asked a second time, the model did not confirm that the memory ends."),
            }
            yield Item(
                kind=self.name,
                row=row,
                made_at=row.create_time,
                text=_shorten(row.content),
                reasons=[reasons.get(find_reason(row), unsure % {"threshold": _number(threshold)})],
                quote=_quote(row, row.content),
                consequence=None,
                threshold=threshold,
            )


def describe_atomic_acceptance(memory: AtomicMemory) -> Consequence:
    """What accepting a pending atomic memory does: it is compared with what is remembered, which takes a moment."""
    found = preview_acceptance(memory)
    ended = [_shorten(text) for text in found.ended]
    if not found.is_memory:
        sentence = _("This memory ends and is kept as history. No new memory is created.")
        return Consequence(sentence, before=ended) if ended else Consequence(_("Nothing changes."))
    if found.merged is not None:
        return Consequence(_("The two memories are merged."), before=ended, after=_shorten(found.merged))
    if ended:
        sentence = _("It replaces the memory it contradicts, which is kept as history.")
        after = " ".join(filter(None, [memory.content, found.left]))
        return Consequence(sentence, before=ended, after=_shorten(after))
    if found.same is not None:
        sentence = _("An existing memory already says this. It is kept, and this one is added to its history.")
        return Consequence(sentence, before=[_shorten(memory.content)], after=_shorten(found.same.content))
    return Consequence(_("A new memory is created. Nothing is replaced."))


class ProposalsWait(WaitingKind):
    name, model = Kind.PROFILE, ProfileProposal

    def show(self, rows: Sequence[ProfileProposal]) -> Iterator[Item]:
        changes = preview_proposals(rows)
        for row in rows:
            change, reasons = changes[row.id], []
            if change.edited_at is not None:
                day = formats.date_format(change.edited_at, "DATE_FORMAT")
                text = _("You edited this section on %(day)s, so the assistant only proposes changes to it.")
                reasons.append(text % {"day": day})
            if is_instruction(f"{row.section} {row.text}"):
                reasons.append(_instruction())
            before, after = [_shorten(change.before)] if change.before else [], _shorten(change.after)
            if change.before == change.after:
                consequence = Consequence(_("The section already says this. Nothing changes."))
            elif change.before:
                sentence = _("The section is updated in a new version of the profile.")
                consequence = Consequence(sentence, before=before, after=after)
            else:
                consequence = Consequence(_("The section is added in a new version of the profile."), after=after)
            yield Item(
                kind=self.name,
                row=row,
                made_at=row.created_at,
                title=word("section", row.section),
                text=_shorten(row.text),
                reasons=reasons or [_("The assistant asks before it adds this to your profile.")],
                quote=_quote(row, row.text),
                consequence=consequence,
            )

    def accept(self, row: Any, edits: Mapping[str, Any], *, now: datetime) -> None:
        accept_proposal(user=row.user, proposal_id=row.id, now=now, text=edits.get("text"))

    def reject(self, row: Any, *, now: datetime) -> None:
        reject_proposal(user=row.user, proposal_id=row.id, now=now)


KINDS: Mapping[Kind, WaitingKind] = {kind.name: kind for kind in (LongTermWaits(), AtomicWaits(), ProposalsWait())}


# The queue


@dataclass(frozen=True, slots=True)
class Selection:
    """Which part of the queue is looked at. `owner` None: everybody's. A category only long-term memories have."""

    owner: User | None
    kind: Kind | None = None
    category: str | None = None
    order: Order = Order.NEWEST

    def list_kinds(self) -> list[WaitingKind]:
        """The kinds that this part can hold."""
        of_category = {None, Kind.LONG_TERM} if self.category else {None, *Kind}
        wanted = [self.kind] if self.kind else list(Kind)
        return [KINDS[kind] for kind in wanted if kind in of_category]


def count_pending(owner: User | None) -> dict[Kind, int]:
    """How many of each kind wait, of everybody with None. One query, answered by the indexes of what is pending."""
    counts = [
        kind.list_pending(owner)
        .annotate(what=Value(kind.name.value, output_field=CharField()))
        .values("what")
        .annotate(n=Count("*"))
        .values_list("what", "n")
        for kind in KINDS.values()
    ]
    return {**dict.fromkeys(KINDS, 0), **{Kind(kind): n for kind, n in counts[0].union(*counts[1:], all=True)}}


def list_waiting(selection: Selection, *, limit: int) -> tuple[list[tuple[Kind, UUID]], bool]:
    """The kinds and IDs of the first `limit` of a part of the queue, and whether there are more. One query."""
    sources = []
    for kind in selection.list_kinds():
        rows = kind.list_pending(selection.owner)
        if selection.category:
            rows = rows.filter(category=selection.category)
        rows = rows.annotate(
            what=Value(kind.name.value, output_field=CharField()),
            made_at=F(kind.made_at),
            sureness=F("confidence") if kind.name is Kind.LONG_TERM else Value(-1.0, output_field=FloatField()),
        )
        sources.append(rows.values_list("what", "id", "made_at", "sureness"))
    if not sources:
        return [], False
    queue = sources[0].union(*sources[1:], all=True) if len(sources) > 1 else sources[0]
    found = [(Kind(kind), row_id) for kind, row_id, *_rest in queue.order_by(*_ORDERS[selection.order])[: limit + 1]]
    return found[:limit], len(found) > limit


def load_items(waiting: Sequence[tuple[Kind, UUID]], *, owner: User | None) -> list[Item]:
    """The cards of what waits, in order; what has been decided meanwhile is left out. Twelve queries at most."""
    items: dict[tuple[Kind, UUID], Item] = {}
    for name, kind in KINDS.items():
        if ids := [row_id for place, row_id in waiting if place is name]:
            rows = list(kind.list_pending(owner).select_related(*kind.related).filter(id__in=ids))
            items |= {(name, item.row.id): item for item in kind.show(rows)}
    return [items[place] for place in waiting if place in items]


def _read_thresholds() -> dict[Any, float]:
    """`memory.auto_accept_confidence` of those who have their own; of everybody else under None. Two queries."""
    return {None: get_settings(None).auto_accept_confidence, **get_own_values("auto_accept_confidence")}


def _quote(row: Any, text: str) -> Quote | None:
    """The sentence of the row's message that shares most with `text`, the first one where none shares anything."""
    if row.message is None:
        return None
    words = list_keywords(text)
    sentences = split_sentences(row.message.content) or [row.message.content]
    marked = [split_found(sentence, words) for sentence in sentences]
    shared = [sum(len(piece) for found, piece in pieces if found) for pieces in marked]
    best = shared.index(max(shared))
    shown = cut_at_sentence(sentences[best].strip(), MAX_CHARACTERS)
    return Quote(pieces=split_found(shown, words), before=best > 0, after=best < len(sentences) - 1)


def _shorten(text: str) -> str:
    return shorten(text, MAX_SHOWN)


def _set_aside() -> str:
    return _("You set it aside for review.")


def _elsewhere(row: AtomicMemory) -> str:
    text = _("It was said in the space %(space)s and would end something that is known everywhere.")
    return text % {"space": row.space.name} if row.space else _("It would end something that is known everywhere.")


def _sensitive(row: Any) -> str:
    named = ", ".join(word("sensitive", mark) for mark in row.sensitive)
    return _("It is marked as sensitive (%(categories)s), which you review first.") % {"categories": named}


def _instruction() -> str:
    return _("It reads like an instruction to the assistant, so it needs your approval.")


def _number(share: float) -> str:
    return formats.number_format(round(share, 2))
