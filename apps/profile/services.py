"""The profile: read it, write it, decide about what is proposed for it.

Each service is one transaction; writers of one person's profile take turns (U1, U3).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext_noop

from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from apps.accounts.services.people import keep_account
from apps.core.db import fetch_prepared
from apps.core.errors import Conflict, InvalidInput, NotFound, Outdated
from apps.core.text.clean import clean_text, normalize_line_ends
from apps.core.text.fold import normalize_value
from apps.core.text.instructions import is_instruction
from apps.core.text.secrets import mask_secrets
from apps.core.text.sentences import cut_at_sentence
from apps.memory.changes.records import ChangeDraft, Snapshot, describe_change, forget_history, record_changes
from apps.memory.models import Change
from apps.profile.document import (
    MAX_PENDING_PROPOSALS,
    MAX_SECTION_CHARACTERS,
    TEXT_SECTIONS,
    Document,
    ProfileSnapshot,
    ProposedSection,
    apply_changes,
    check_secret,
    check_size,
    find_section,
    forget_decisions,
    read_document,
    snapshot,
    snapshot_proposal,
    write_document,
)
from apps.profile.models import ProfileProposal, ProfileVersion, UserProfile
from apps.webhooks.models import Event
from apps.webhooks.services import announce


@transaction.atomic
def update_profile(
    *,
    user: User,
    changes: Mapping[str, Any],
    now: datetime,
    replace: bool = False,
    seen: Mapping[str, str] | None = None,
) -> ProfileSnapshot:
    """Write sections by hand: texts of `TEXT_SECTIONS` and, under "sections", of others; a blank text removes one.

    `replace`: the changes are the whole document. `seen`: the texts of sections when they were read, "" for an empty
    one; `Outdated` if one has changed since. A section that changes counts as edited by hand, and from then on the
    assistant only proposes changes to it. Without a difference there is no new version. Raises `InvalidInput`, or
    `TooLarge` for a section over 2,000 characters.
    """
    profile = lock_profile(user)
    document = read_document(profile)
    if any(document.get(name, "") != text for name, text in (seen or {}).items()):
        raise Outdated("This was changed in the meantime.")
    changed = apply_changes({} if replace else document, changes)
    _edit(profile, changed, now=now)
    return to_snapshot(profile)


@transaction.atomic
def restore_version(*, user: User, version: int, now: datetime) -> ProfileSnapshot:
    """Write what stood in an earlier version again, as an edit by hand and a new version. Raises `NotFound`."""
    profile = lock_profile(user)
    earlier = ProfileVersion.objects.filter(profile=profile, version=version).first()
    if earlier is None:
        raise NotFound("This version does not exist.")
    _edit(profile, apply_changes({}, earlier.document), now=now)
    return to_snapshot(profile)


def propose_sections(*, user: User, proposals: Sequence[ProposedSection], now: datetime) -> None:
    """Take up what messages show about the person, in background work (U3); nothing while the profile is off.

    Each is the whole new text of a section: of one of `TEXT_SECTIONS`, or of one that the person has made. It takes the
    place of what stood there, unless that was said later. For a section edited by hand, and for what reads as an
    instruction to the system, it becomes a proposal. Left out: other sections, what was said before the document was
    deleted or the section edited, and what was rejected. The same again changes nothing.
    """
    if proposals and get_settings(user).enable_user_profile:
        _take_up(user, proposals, now=now)


@transaction.atomic
def _take_up(user: User, proposals: Sequence[ProposedSection], *, now: datetime) -> None:
    profile = lock_profile(user)
    document, learned_at = read_document(profile), dict(profile.learned_at)
    queue = _ProposalQueue(user)
    cause: UUID | None = None
    for proposal in sorted(proposals, key=lambda proposal: proposal.said_at):
        section = find_section(_clean(proposal.section), among=document.keys() | profile.edited_at.keys())
        # Only the secret is lost: the section's other facts stand in the same text (D4).
        text = cut_at_sentence(mask_secrets(_clean(proposal.text)), MAX_SECTION_CHARACTERS)
        if section is None or not text or queue.was_rejected(text) or _is_same(text, document.get(section, "")):
            continue
        learned, edited_at = _read_time(learned_at, section), _read_time(profile.edited_at, section)
        if (learned and proposal.said_at < learned) or any(
            time and proposal.said_at <= time for time in (edited_at, profile.forgotten_at)
        ):
            continue
        if edited_at or is_instruction(text):
            queue.add(section=section, text=text, message_id=proposal.message_id, now=now)
        else:
            document[section], learned_at[section] = text, proposal.said_at.isoformat()
            cause = proposal.message_id
    queue.save(now=now)
    if document != read_document(profile):
        profile.learned_at = learned_at
        changes = _write(profile, document, action=Change.Action.EDIT, by_hand=False, now=now)
        # Of several messages the last is named: one change has one cause.
        record_changes(user=user, changes=[replace_fields(change, message_id=cause) for change in changes], now=now)


@transaction.atomic
def propose_text(*, user: User, proposal_id: UUID, section: str, text: str, now: datetime) -> bool:
    """Propose a text for a section that the person wrote about themselves elsewhere; they decide. Whether it is new.

    Nothing while the profile is off, for what stands there, was proposed or rejected already, or where too much waits.
    """
    if not get_settings(user).enable_user_profile:
        return False
    profile = lock_profile(user)
    text = cut_at_sentence(mask_secrets(_clean(text)), MAX_SECTION_CHARACTERS)
    proposals = ProfileProposal.objects.filter(user=user)
    rows = list(proposals.values_list("id", "status", "text"))
    waiting = sum(status == "pending" for _id, status, _text in rows)
    known = any(row_id == proposal_id or _is_same(text, said) for row_id, _status, said in rows)
    if known or waiting >= MAX_PENDING_PROPOSALS or _is_same(text, read_document(profile).get(section, "")):
        return False
    proposal = ProfileProposal(id=proposal_id, user=user, section=section, text=text, created_at=now)
    _add_proposals([proposal], now=now)
    return True


def _add_proposals(proposals: Sequence[ProfileProposal], *, now: datetime) -> None:
    for proposal in ProfileProposal.objects.bulk_create(proposals):
        waiting = {"kind": Change.Kind.PROPOSAL, "id": proposal.id, "space_id": None}
        announce(user=proposal.user, told={Event.REVIEW_WAITING: [waiting]}, now=now)


@transaction.atomic
def withdraw_proposals(*, user: User, proposal_ids: Sequence[UUID]) -> None:
    """Take back those of these proposals that still wait: what was accepted is the person's own."""
    if not proposal_ids:
        return
    lock_profile(user)
    ProfileProposal.objects.filter(user=user, id__in=proposal_ids, status="pending").delete()


@transaction.atomic
def accept_proposal(*, user: User, proposal_id: UUID, now: datetime, text: str | None = None) -> ProfileSnapshot:
    """Make a proposal the text of its section; the version counts as by hand.

    Both are one operation of the audit record: undoing it (L7) reopens the proposal, too.

    `text`: in words of the person's own. Raises `NotFound`; `Conflict` unless it is pending; `InvalidInput` for a blank
    text and where there is no room for another section, `TooLarge` for a text over 2,000 characters.
    """
    profile = lock_profile(user)
    proposal = _get_proposal(user, proposal_id, is_pending=True)
    before = snapshot_proposal(proposal)
    if text is not None:
        if not text.strip():
            raise InvalidInput("text: Must not be blank.", fields={"text": [gettext_noop("Must not be blank.")]})
        proposal.text = normalize_line_ends(text).strip()
    document = read_document(profile)
    check_size(proposal.section, proposal.text, field="text")
    check_secret(proposal.section, proposal.text, field="text")
    written = {proposal.section: proposal.text}
    sections = written if proposal.section in TEXT_SECTIONS else {"sections": written}
    action = Change.Action.ACCEPT
    changes = _write(profile, apply_changes(document, sections), action=action, by_hand=True, now=now)
    decided = _decide(proposal, status="accepted", before=before, action=action)
    record_changes(user=user, changes=[*changes, decided], now=now)
    return to_snapshot(profile)


@transaction.atomic
def reject_proposal(*, user: User, proposal_id: UUID, now: datetime) -> ProfileProposal:
    """Turn a proposal down: what it says is not proposed again. Raises `NotFound`; `Conflict` unless it is pending."""
    return _settle(user, proposal_id, status="rejected", action=Change.Action.REJECT, now=now)


@transaction.atomic
def reopen_proposal(*, user: User, proposal_id: UUID, now: datetime) -> ProfileProposal:
    """Reopen a decided proposal; what accepting it wrote stays. Raises `NotFound`; `Conflict` when it is pending."""
    return _settle(user, proposal_id, status="pending", action=Change.Action.EDIT, now=now)


def _settle(user: User, proposal_id: UUID, *, status: str, action: Change.Action, now: datetime) -> ProfileProposal:
    lock_profile(user)
    proposal = _get_proposal(user, proposal_id, is_pending=status != "pending")
    before = snapshot_proposal(proposal)
    decided = _decide(proposal, status=status, before=before, action=action)
    record_changes(user=user, changes=[decided], now=now)
    return proposal


@transaction.atomic
def forget_profile(*, user: User, now: datetime) -> int:
    """Delete the document with its versions and proposals, for good; return 1, or 0 where there was nothing.

    Nothing said before `now` comes back from earlier messages or queued work (L6).
    """
    profile = lock_profile(user)
    versions, _by_model = ProfileVersion.objects.filter(user=user).delete()
    proposals, _by_model = ProfileProposal.objects.filter(user=user).delete()
    if profile.version:
        forget_history(user=user, kind=Change.Kind.PROFILE, object_ids=[profile.id], now=now)
    forget_decisions(user=user, where=lambda _text: True, now=now)
    write_document(profile, {})
    profile.edited_at, profile.learned_at, profile.version = {}, {}, 0
    profile.updated_at = profile.forgotten_at = now
    profile.save()
    return int(bool(versions or proposals))


def restore_document(*, profile: UserProfile, document: Mapping[str, Any], now: datetime) -> None:
    """Write what an audit record says that the locked document was, as an edit by hand; undoing records that (L7)."""
    restored = apply_changes({}, document)
    _mark_edited(profile, restored, now=now)
    save_version(profile, restored, by_hand=True, now=now)


def lock_profile(user: User) -> UserProfile:
    """Return the person's row, made where there is none, locked until the transaction ends.

    The account is locked against erasure first, or the row could be gone again before it is locked.
    """
    keep_account(user)
    UserProfile.objects.bulk_create([UserProfile(user=user)], ignore_conflicts=True)
    profile = UserProfile.objects.select_for_update(no_key=True).get(user=user)
    profile.user = user
    return profile


def _edit(profile: UserProfile, document: Document, *, now: datetime) -> None:
    _mark_edited(profile, document, now=now)
    changes = _write(profile, document, action=Change.Action.EDIT, by_hand=True, now=now)
    record_changes(user=profile.user, changes=changes, now=now)


def _mark_edited(profile: UserProfile, document: Document, *, now: datetime) -> None:
    before = read_document(profile)
    different = {name for name in before.keys() | document.keys() if before.get(name) != document.get(name)}
    profile.edited_at = {**profile.edited_at, **dict.fromkeys(sorted(different), now.isoformat())}


def _write(
    profile: UserProfile, document: Document, *, action: Change.Action, by_hand: bool, now: datetime
) -> list[ChangeDraft]:
    """Save the document as the next version; return the change to record, none where it is what it was."""
    if document == read_document(profile):
        return []
    before = snapshot(profile) if profile.version else None
    save_version(profile, document, by_hand=by_hand, now=now)
    action = Change.Action.CREATE if before is None else action
    return [describe_change(Change.Kind.PROFILE, profile, action=action, before=before)]


def save_version(profile: UserProfile, document: Document, *, by_hand: bool, now: datetime) -> None:
    """Write the locked profile's document as its next version; the record of the change is the caller's."""
    write_document(profile, document)
    profile.version += 1
    profile.updated_at = now
    profile.save()
    ProfileVersion.objects.create(
        profile=profile,
        user_id=profile.user_id,
        version=profile.version,
        document=snapshot(profile),
        by_hand=by_hand,
        created_at=now,
    )


def restore_proposal(proposal: ProfileProposal, state: Mapping[str, Any]) -> None:
    """Bring a proposal back to what an audit record says it was; undoing records that (L7)."""
    proposal.text, proposal.status = state["text"], state["status"]
    proposal.save(update_fields=["status", "text"])


def _decide(proposal: ProfileProposal, *, status: str, before: Snapshot, action: Change.Action) -> ChangeDraft:
    """Save what was decided about a proposal; return the change to record."""
    proposal.status = status
    proposal.save(update_fields=["status", "text"])
    return describe_change(Change.Kind.PROPOSAL, proposal, action=action, before=before)


def _get_proposal(user: User, proposal_id: UUID, *, is_pending: bool) -> ProfileProposal:
    proposal = ProfileProposal.objects.filter(user=user, id=proposal_id).first()
    if proposal is None:
        raise NotFound("This proposal does not exist.")
    if is_pending and proposal.status != "pending":
        raise Conflict(f"Only a pending proposal can be accepted or rejected; this one is {proposal.status}.")
    if not is_pending and proposal.status == "pending":
        raise Conflict("This proposal is pending.")
    return proposal


def _clean(text: str) -> str:
    return normalize_line_ends(clean_text(text))


def _read_time(times: Mapping[str, str], section: str) -> datetime | None:
    return datetime.fromisoformat(times[section]) if section in times else None


def _is_same(text: str, other: str) -> bool:
    return normalize_value(text) == normalize_value(other)


class _ProposalQueue:
    """What is proposed to a person and was rejected before; `save` writes what is new.

    A proposal is the whole text of a section: a newer one takes the place of what waits for the same section.
    """

    def __init__(self, user: User) -> None:
        self._user = user
        rows = list(ProfileProposal.objects.filter(user=user).exclude(status="accepted"))
        self._pending = {row.section: row for row in rows if row.status == "pending" and not is_instruction(row.text)}
        self._said = {normalize_value(row.text) for row in rows}
        self._rejected = {normalize_value(row.text) for row in rows if row.status == "rejected"}
        self._room = MAX_PENDING_PROPOSALS - sum(row.status == "pending" for row in rows)
        self._new: list[ProfileProposal] = []
        self._changed: list[ProfileProposal] = []

    def was_rejected(self, text: str) -> bool:
        return normalize_value(text) in self._rejected

    def add(self, *, section: str, text: str, message_id: UUID | None, now: datetime) -> None:
        """Propose `text`, unless it is proposed already or too much waits for a decision."""
        if normalize_value(text) in self._said:
            return
        self._said.add(normalize_value(text))
        row = None if is_instruction(text) else self._pending.get(section)
        if row is not None:
            row.text, row.message_id = text, message_id
            self._changed += [] if row in self._new else [row]
        elif self._room > 0:
            self._room -= 1
            row = ProfileProposal(user=self._user, section=section, text=text, message_id=message_id, created_at=now)
            self._new.append(row)
            if not is_instruction(text):
                self._pending[section] = row

    def save(self, *, now: datetime) -> None:
        _add_proposals(self._new, now=now)
        for row in self._changed:
            row.save(update_fields=["text", "message"])


_DOCUMENT = """
SELECT reply_style, language_habits, background, sections, version, updated_at
FROM user_profile
WHERE user_id = %(user)s AND version > 0
"""


def get_user_profile(*, user: User) -> ProfileSnapshot | None:
    """Return the document, None where there is none (U1, U2); one query."""
    rows = fetch_prepared(_DOCUMENT, {"user": user.pk})
    if not rows:
        return None
    reply_style, language_habits, background, sections, version, updated_at = rows[0]
    return ProfileSnapshot(reply_style, language_habits, background, json.loads(sections), version, updated_at)


def find_profile_then_and_now(
    *, user: User, version: int, until: datetime
) -> tuple[ProfileSnapshot | None, ProfileSnapshot | None]:
    """Return a version of the document and the current one; one query.

    None where it is gone: a version of the same number made after `until` is another.
    """
    rows = ProfileVersion.objects.filter(Q(version=version) | Q(version=F("profile__version")), user=user)
    found = {row.version: _to_version(row) for row in rows.order_by("version")}
    then, now = found.get(version), found[max(found)] if found else None
    return (then if then and then.updated_at <= until else None), now


def find_profile_at(*, user: User, at: datetime) -> ProfileSnapshot | None:
    """Return the document as it was at a time, None where there was none or its versions were deleted since."""
    row = ProfileVersion.objects.filter(user=user, created_at__lte=at).order_by("-version").first()
    return _to_version(row) if row else None


def _to_version(row: ProfileVersion) -> ProfileSnapshot:
    return ProfileSnapshot(**row.document, version=row.version, updated_at=row.created_at)


def to_snapshot(profile: UserProfile) -> ProfileSnapshot:
    """Return the plain value of a row."""
    return ProfileSnapshot(**snapshot(profile), version=profile.version, updated_at=profile.updated_at)


def list_pending_proposals(user: User) -> QuerySet[ProfileProposal]:
    """Return what waits for the person's decision, oldest first."""
    return ProfileProposal.objects.filter(user=user, status="pending").order_by("created_at", "id")


def list_versions(user: User) -> QuerySet[ProfileVersion]:
    """Return every version of the document, newest first."""
    return ProfileVersion.objects.filter(user=user).order_by("-version")


@dataclass(frozen=True, slots=True)
class SectionChange:
    """What `accept_proposal` would make of the proposal's section; `edited_at`: when the person wrote it, if ever."""

    before: str
    after: str
    edited_at: datetime | None


def preview_proposals(proposals: Iterable[ProfileProposal]) -> Mapping[UUID, SectionChange]:
    """Return what accepting each of these, of any number of people, would do by itself. One query."""
    pending = list(proposals)
    owners = {proposal.user_id for proposal in pending}
    profiles = {profile.user_id: profile for profile in UserProfile.objects.filter(user__in=owners)} if owners else {}
    previews = {}
    for proposal in pending:
        profile = profiles.get(proposal.user_id)
        before = read_document(profile).get(proposal.section, "") if profile else ""
        edited_at = _read_time(profile.edited_at, proposal.section) if profile else None
        previews[proposal.id] = SectionChange(before=before, after=proposal.text, edited_at=edited_at)
    return previews
