"""What the queue shows of each thing that waits: where it comes from, why it waits, what accepting it does (M6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import formats
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.accounts.selectors import get_own_values, get_settings
from apps.core.text.clean import json_text
from apps.core.text.instructions import is_instruction
from apps.core.text.keywords import extract_keywords, stem
from apps.core.text.sentences import cut_at_sentence, split_sentences
from apps.core.words import word
from apps.memory.judge.review import (
    Acceptance,
    find_reason,
    list_sent_to_review,
    preview_acceptance,
    preview_acceptances,
)
from apps.memory.judge.types import Reason
from apps.memory.models import AtomicMemory, LongTermMemory
from apps.memory.validation import reads_as_instruction
from apps.panel.review.queue import Kind, Waiting, list_rows
from apps.panel.texts import split_found
from apps.panel.words import show_value
from apps.profile.models import ProfileProposal
from apps.profile.services import SectionChange, preview_proposals

# Of the sentence that is shown: a message may be one sentence of 32,000 characters.
MAX_CHARACTERS = 400

_MAX_WORDS = 30


@dataclass(frozen=True, slots=True)
class Quote:
    """A part of a message, in pieces: whether each is a word of the memory, and its text.

    `before`, `after`: whether the message says more on that side.
    """

    pieces: list[tuple[bool, str]]
    before: bool
    after: bool


def quote_sentence(message: str, *, memory: str) -> Quote:
    """Return the sentence of `message` that shares most with `memory`, the first one where none shares anything."""
    words = extract_keywords(memory, limit=_MAX_WORDS)
    words = sorted({*words, *map(stem, words)}, key=lambda word: (-len(word), word))
    sentences = split_sentences(message) or [message]
    marked = [split_found(sentence, words) for sentence in sentences]
    shared = [sum(len(piece) for found, piece in pieces if found) for pieces in marked]
    best = shared.index(max(shared))
    chosen = sentences[best].strip()
    shown = cut_at_sentence(chosen, MAX_CHARACTERS)
    return Quote(
        pieces=split_found(shown, words),
        before=best > 0,
        after=best < len(sentences) - 1,
    )


# Characters of a text on a card: the editor and the memory's own page have all of it.
MAX_SHOWN = 500


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
    owner: User
    made_at: datetime
    title: str
    text: str
    reasons: Sequence[str]
    quote: Quote | None
    consequence: Consequence | None
    threshold: float

    @property
    def reference(self) -> str:
        """By what the page's forms name it."""
        return f"{self.kind}:{self.row.id}"


def load_items(waiting: Sequence[Waiting], *, owner: User | None) -> list[Item]:
    """The cards of what waits, in order; what has been decided meanwhile is left out. Ten queries at most."""
    rows = {kind: _load(kind, waiting, owner=owner) for kind in Kind}
    thresholds = _Thresholds()
    acceptances = preview_acceptances(rows[Kind.LONG_TERM].values())
    changes = preview_proposals(rows[Kind.PROFILE].values())
    long_term = rows[Kind.LONG_TERM].values()
    aside = (
        list_sent_to_review({row.user_id for row in long_term}, ids=[row.id for row in long_term]) if long_term else ()
    )
    items = []
    for place in waiting:
        row = rows[place.kind].get(place.id)
        if row is None:
            continue
        match place.kind:
            case Kind.LONG_TERM:
                items.append(
                    _show_long_term(
                        row,
                        acceptances[row.id],
                        threshold=thresholds.of(row.user_id),
                        was_set_aside=row.id in aside,
                    )
                )
            case Kind.ATOMIC:
                items.append(_show_atomic(row, threshold=thresholds.of(row.user_id)))
            case Kind.PROFILE:
                items.append(_show_proposal(row, changes[row.id]))
    return items


def _load(kind: Kind, waiting: Sequence[Waiting], *, owner: User | None) -> Mapping[UUID, Any]:
    ids = [place.id for place in waiting if place.kind is kind]
    return list_rows(kind, owner).select_related("user", "message").in_bulk(ids) if ids else {}


class _Thresholds:
    """`memory.auto_accept_confidence` of any number of people, by two queries, asked when first needed."""

    def __init__(self) -> None:
        self._own: Mapping[int, Any] | None = None
        self._common = 0.0

    def of(self, user_id: int) -> float:
        if self._own is None:
            self._own = get_own_values("auto_accept_confidence")
            self._common = get_settings(None).auto_accept_confidence
        return float(self._own.get(user_id, self._common))


def _show_long_term(memory: LongTermMemory, acceptance: Acceptance, *, threshold: float, was_set_aside: bool) -> Item:
    reasons = []
    if memory.confidence < threshold:
        numbers = {"confidence": _number(memory.confidence), "threshold": _number(threshold)}
        reasons.append(
            _("Its confidence of %(confidence)s is below your auto-accept threshold of %(threshold)s.") % numbers
        )
    if reads_as_instruction(key=memory.key, value=memory.value):
        reasons.append(_instruction())
    if not reasons and was_set_aside:
        reasons.append(_set_aside())
    reasons = reasons or [
        _("Your own words do not plainly say this, or it was below your auto-accept threshold when it was learned.")
    ]
    return Item(
        kind=Kind.LONG_TERM,
        row=memory,
        owner=memory.user,
        made_at=memory.created_at,
        title=memory.key,
        text=_shorten(show_value(memory.value)),
        reasons=reasons,
        quote=_quote(memory, f"{memory.key} {json_text(memory.value)}"),
        consequence=_describe_acceptance(memory, acceptance),
        threshold=threshold,
    )


def _describe_acceptance(memory: LongTermMemory, acceptance: Acceptance) -> Consequence:
    active = acceptance.active
    if active is None:
        return Consequence(_("A new memory is created. Nothing is replaced."))
    before = _shorten(show_value(active.value))
    if acceptance.result is None:
        return Consequence(_("It removes the last item, so nothing remains under this key."), before=[before])
    after = _shorten(show_value(acceptance.result))
    match memory.mode:
        case "add":
            sentence = _("It is added to the current value.")
        case "remove":
            sentence = _("It is removed from the current value.")
        case _:
            sentence = _("It replaces the current value, which is kept as history.")
    return Consequence(sentence, before=[before], after=after)


def _show_atomic(memory: AtomicMemory, *, threshold: float) -> Item:
    return Item(
        kind=Kind.ATOMIC,
        row=memory,
        owner=memory.user,
        made_at=memory.create_time,
        title="",
        text=_shorten(memory.content),
        reasons=[_explain_hold(memory, threshold=threshold)],
        quote=_quote(memory, memory.content),
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


def _explain_hold(memory: AtomicMemory, *, threshold: float) -> str:
    match find_reason(memory):
        case Reason.INSTRUCTION:
            return _instruction()
        case Reason.UNGROUNDED:
            return _("Your own words do not say this.")
        case Reason.BY_OWNER:
            return _("It would end or change a memory that you wrote yourself.")
        case Reason.MANY_ENDS:
            return _("One message would end many memories at once.")
        case Reason.SET_ASIDE:
            return _set_aside()
        case Reason.UNCONFIRMED:
            return _("Asked a second time, the model did not confirm that the memory ends.")
        case _:
            numbers = {"threshold": _number(threshold)}
            return _("The model's confidence was below your auto-accept threshold of %(threshold)s.") % numbers


def _show_proposal(proposal: ProfileProposal, change: SectionChange) -> Item:
    reasons = []
    if change.edited_at is not None:
        day = formats.date_format(change.edited_at, "DATE_FORMAT")
        reasons.append(
            _("You edited this section on %(day)s, so the assistant only proposes changes to it.") % {"day": day}
        )
    if is_instruction(f"{proposal.section} {proposal.text}"):
        reasons.append(_instruction())
    if change.before == change.after:
        consequence = Consequence(_("The section already says this. Nothing changes."))
    elif change.before:
        sentence = _("The section is updated in a new version of the profile.")
        consequence = Consequence(sentence, before=[_shorten(change.before)], after=_shorten(change.after))
    else:
        consequence = Consequence(
            _("The section is added in a new version of the profile."), after=_shorten(change.after)
        )
    return Item(
        kind=Kind.PROFILE,
        row=proposal,
        owner=proposal.user,
        made_at=proposal.created_at,
        title=word("section", proposal.section),
        text=_shorten(proposal.text),
        reasons=reasons or [_("The assistant asks before it adds this to your profile.")],
        quote=_quote(proposal, proposal.text),
        consequence=consequence,
        threshold=0.0,
    )


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def _quote(row: Any, text: str) -> Quote | None:
    return quote_sentence(row.message.content, memory=text) if row.message else None


def _set_aside() -> str:
    return _("You set it aside for review.")


def _instruction() -> str:
    return _("It reads like an instruction to the assistant, so it needs your approval.")


def _number(share: float) -> str:
    return formats.number_format(round(share, 2))
