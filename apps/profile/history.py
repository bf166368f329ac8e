"""What keeps the profile in step with memory: undo (L7), copies of deleted memories (L6), and "forget ..." (L9)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.accounts.models import User
from apps.core.text.commands import Statement
from apps.core.text.grounding import Traces
from apps.core.text.sentences import split_sentences
from apps.memory.changes.records import (
    ChangeDraft,
    Snapshot,
    TrackedKind,
    describe_change,
    forget_history,
    list_recorded,
)
from apps.memory.commands import StatementHolder
from apps.memory.deletion import CopyHolder, MemoryCopy
from apps.memory.models import Change
from apps.profile.document import (
    Document,
    forget_decisions,
    format_state,
    parse_state,
    read_document,
    snapshot,
    snapshot_proposal,
)
from apps.profile.models import ProfileProposal, ProfileVersion, UserProfile
from apps.profile.services import lock_profile, restore_document, restore_proposal, save_version


def _read(user: User, ids: Collection[UUID]) -> Mapping[UUID, UserProfile]:
    return UserProfile.objects.filter(user=user, version__gt=0).in_bulk(list(ids))


def _restore(*, user: User, rows: Sequence[tuple[UserProfile, Snapshot | None]], now: datetime) -> None:
    """Write the document as it was; before there was any, it was empty."""
    for profile, before in rows:
        restore_document(profile=profile, document=before or {}, now=now)


def _read_proposals(user: User, ids: Collection[UUID]) -> Mapping[UUID, ProfileProposal]:
    return ProfileProposal.objects.filter(user=user).in_bulk(list(ids))


def _restore_proposals(*, user: User, rows: Sequence[tuple[ProfileProposal, Snapshot | None]], now: datetime) -> None:
    """Let them wait, or be decided, as before. Only decisions are recorded, so each was something before."""
    for proposal, before in rows:
        if before is not None:
            restore_proposal(proposal, before)


KIND = TrackedKind(lock=lock_profile, read=_read, snapshot=snapshot, restore=_restore)
PROPOSALS = TrackedKind(lock=lock_profile, read=_read_proposals, snapshot=snapshot_proposal, restore=_restore_proposals)


def _find_copies(*, user: User, traces: Traces) -> Iterator[MemoryCopy]:
    """Name each sentence once for its section, in whichever version, proposal or record of a decision it stands."""
    profile = UserProfile.objects.filter(user=user).first()
    if profile is None:
        return
    named = set()
    for section, text in _list_texts(user):
        for part in (text,) if traces.stand_in(section) else traces.cut_from(text).removed:
            if (section, part) not in named:
                named.add((section, part))
                yield MemoryCopy(kind="profile", id=profile.id, field=section, text=part)


def _list_texts(user: User) -> Iterator[tuple[str, str]]:
    versions = ProfileVersion.objects.filter(user=user).order_by("-version")
    for document in versions.values_list("document", flat=True):
        yield from parse_state(document).items()
    yield from ProfileProposal.objects.filter(user=user).order_by("created_at", "id").values_list("section", "text")
    decisions = Change.objects.filter(user=user, kind=Change.Kind.PROPOSAL, before__isnull=False).order_by("id")
    for states in decisions.values_list("before", "after"):
        yield from ((state["section"], state["text"]) for state in states if state)


def _remove_copies(*, user: User, traces: Traces, now: datetime) -> None:
    """Write the document without them as a new version; nothing said before `now` comes back in any section."""
    if next(_find_copies(user=user, traces=traces), None) is None:
        return
    profile = lock_profile(user)
    for version in ProfileVersion.objects.filter(profile=profile):
        document = parse_state(version.document)
        cut = _cut(document, traces)
        if cut != document:
            version.document = format_state(cut)
            version.save(update_fields=["document"])
    for proposal in ProfileProposal.objects.filter(user=user):
        left = "" if traces.stand_in(proposal.section) else traces.cut_from(proposal.text).text
        if not left:
            proposal.delete()
        elif left != proposal.text:
            proposal.text = left
            proposal.save(update_fields=["text"])
    profile.edited_at, profile.learned_at = (
        {name: time for name, time in times.items() if not traces.stand_in(name)}
        for times in (profile.edited_at, profile.learned_at)
    )
    profile.forgotten_at = now
    document = read_document(profile)
    cut = _cut(document, traces)
    if cut != document:
        save_version(profile, cut, by_hand=True, now=now)
    else:
        profile.save()
    changed = {profile.id} if cut != document else set()
    changed |= list_recorded(user=user, kind=Change.Kind.PROFILE, where=traces.stand_in)
    forget_history(user=user, kind=Change.Kind.PROFILE, object_ids=changed, now=now)
    forget_decisions(user=user, where=traces.stand_in, now=now)


def _cut(document: Document, traces: Traces) -> Document:
    kept = {name: traces.cut_from(text).text for name, text in document.items() if not traces.stand_in(name)}
    return {name: text for name, text in kept.items() if text}


COPIES = CopyHolder(find=_find_copies, remove=_remove_copies)


def _list_statements(user: User) -> Sequence[tuple[tuple[str, int], Statement]]:
    """Each sentence, named by its section and its place in it."""
    profile = UserProfile.objects.filter(user=user, version__gt=0).first()
    return [
        ((section, at), Statement(sentence.strip()))
        for section, text in (read_document(profile) if profile else {}).items()
        for at, sentence in enumerate(split_sentences(text))
    ]


def _remove_statements(user: User, parts: Sequence[tuple[str, int]], now: datetime) -> list[ChangeDraft]:
    """Write the document without them as a new version; nothing said before `now` is learned in any section."""
    profile = lock_profile(user)
    before, document = snapshot(profile), read_document(profile)
    for section in {section for section, _at in parts}:
        sentences = split_sentences(document[section])
        document[section] = "".join(text for at, text in enumerate(sentences) if (section, at) not in parts).strip()
    profile.forgotten_at = now
    save_version(profile, {name: text for name, text in document.items() if text}, by_hand=True, now=now)
    return [describe_change(Change.Kind.PROFILE, profile, action=Change.Action.EDIT, before=before)]


def _describe_removed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    then, now = parse_state(before), parse_state(after)
    return [
        sentence.strip()
        for section, text in then.items()
        for sentence in split_sentences(text)
        if sentence.strip() not in map(str.strip, split_sentences(now.get(section, "")))
    ]


STATEMENTS = StatementHolder(find=_list_statements, remove=_remove_statements, describe=_describe_removed)
