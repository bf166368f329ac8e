"""Summaries: read them, write them by a model in the background (S1, S3), and of sessions by hand.

The background job is in two halves. `prepare_summaries` reads and asks the model, without a transaction;
`store_summaries` writes, within the transaction that takes the work off the queue. What has changed in between is found
out under the session's lock, which every writer of its summaries holds. Temporary sessions have none (C7), and a
deleted one is not there.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from apps.accounts.spaces import seen_from, seen_sql, sight_parameters
from apps.conversations.models import Session
from apps.conversations.rounds import find_unsummarized, list_said_after, read_line, record_summary
from apps.conversations.sessions import entitle_session, lock_session
from apps.conversations.types import Line
from apps.core.db import fetch_rows, release_connections
from apps.core.errors import Conflict, InvalidInput, NotFound
from apps.core.text.secrets import describe_problem, find_secret, mask_secrets
from apps.memory.changes.records import Origin, Snapshot, changed_by, describe_change, forget_history, record_changes
from apps.memory.models import Change
from apps.memory.recall.former import REMOVED, cut_ended
from apps.summaries.drafting import (
    PreparedSummaries,
    SessionDraft,
    SessionNote,
    draft_conversation_summary,
    draft_session_note,
    get_room,
)
from apps.summaries.history import snapshot
from apps.summaries.models import SessionSummary

# Limits for texts that a user writes; generated texts are shorter.
MAX_TITLE_CHARACTERS = 200
MAX_SNIPPET_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class SessionSummarySnapshot:
    """What a session was about; `last_active_at` is the session's."""

    id: uuid.UUID
    session_id: uuid.UUID
    title: str
    snippet: str
    created_at: datetime
    last_active_at: datetime


# After so many messages a session's summary is written anew (S1).
REFRESH_MESSAGES = 10

# What is read at most for a session's summary, of a recording longer than that (C9).
OPENING_MESSAGES, NEWEST_MESSAGES = 10, 50


def prepare_summaries(*, user: User, session_id: uuid.UUID) -> PreparedSummaries:
    """Ask the model for the summaries that are due on the session; store nothing.

    At most one call for the session's own and a few for the conversation's, each with a bounded prompt. Holds no
    connection while the model answers. Nothing is due for a session that is gone or temporary (C7). Raises
    `ModelUnavailable`.
    """
    if not Session.objects.filter(user=user, id=session_id, temporary=False).exists():
        return PreparedSummaries(session_id=session_id)
    settings = get_settings(user)
    room = get_room(settings.token_budget)
    unsummarized = find_unsummarized(user, session_id, threshold=settings.summary_threshold)
    due = _find_due_session(user, session_id)
    if unsummarized and unsummarized.summary:
        (content,) = cut_ended(user, [unsummarized.summary.content])
        unsummarized = replace(unsummarized, summary=replace(unsummarized.summary, content=content))
    release_connections()
    session = None
    if due:
        said, earlier, since, newest = due
        said = _mask(said) if settings.mask_secrets else said
        note = draft_session_note(earlier=earlier, said=said, room=room, without=settings.sensitive.guarded)
        session = SessionDraft(note=note, since=since, covered_until=newest)
    if unsummarized and settings.mask_secrets:
        unsummarized = replace(unsummarized, rounds=tuple(tuple(_mask(lines)) for lines in unsummarized.rounds))
    conversation = draft_conversation_summary(unsummarized, room=room) if unsummarized else None
    return PreparedSummaries(session_id=session_id, session=session, conversation=conversation)


def _mask(lines: Iterable[Line]) -> list[Line]:
    return [replace(line, content=mask_secrets(line.content)) for line in lines]


def _find_due_session(user: User, session_id: uuid.UUID) -> tuple[list[Line], SessionNote | None, int, int] | None:
    """Return what was said since the note so far, that note, and the positions between; None while none is due (S1)."""
    summary = SessionSummary.objects.filter(user=user, session_id=session_id).first()
    if summary is not None and summary.edited:
        return None
    since = summary.covered_until if summary else 0
    said = list_said_after(user, session_id, position=since)
    positions = list(said.values_list("position", flat=True))
    if len(positions) < (REFRESH_MESSAGES if summary else 1):
        return None
    chosen = {*positions[:OPENING_MESSAGES], *positions[-NEWEST_MESSAGES:]}
    lines = [read_line(*row) for row in said.filter(position__in=chosen).values_list("id", "role", "content")]
    earlier = None
    if summary is not None and not summary.deleted:
        # A note that goes on from an earlier one must not hand on what has ended since.
        earlier = SessionNote(*cut_ended(user, [summary.title, summary.snippet]))
    return lines, earlier, since, positions[-1]


@transaction.atomic
def store_summaries(*, user: User, prepared: PreparedSummaries, now: datetime) -> None:
    """Store what `prepare_summaries` returned; where the session is gone meanwhile, nothing.

    A session summary that was edited, deleted or written anew meanwhile stays as it is. Raises `Conflict` when a
    message of the conversation summary is gone or already covered; then nothing is stored.
    """
    if prepared.session is None and prepared.conversation is None:
        return
    if not Session.objects.filter(user=user, id=prepared.session_id).select_for_update(no_key=True).exists():
        return
    if prepared.session is not None:
        with changed_by(origin=Origin.EXTRACTION, actor=None):
            _store_session(user, prepared.session_id, prepared.session, now=now)
    if prepared.conversation is not None:
        record_summary(
            user=user,
            session_id=prepared.session_id,
            content=prepared.conversation.content,
            covers=prepared.conversation.covers,
            replaces=prepared.conversation.replaces,
            summarize_on=prepared.conversation.unfinished,
            now=now,
        )


def _store_session(user: User, session_id: uuid.UUID, draft: SessionDraft, *, now: datetime) -> None:
    summary = SessionSummary.objects.filter(user=user, session_id=session_id).first()
    if summary and (summary.edited or summary.covered_until != draft.since):
        return
    if summary and not summary.deleted:
        before = snapshot(summary)
        entitle_session(user=user, session_id=session_id, title=draft.note.title, earlier=summary.title)
        summary.title, summary.snippet = draft.note.title, draft.note.snippet
        summary.covered_until, summary.updated_at = draft.covered_until, now
        summary.save()
        _record_change(user, summary, action=Change.Action.REFRESH, before=before, now=now)
    else:
        entitle_session(user=user, session_id=session_id, title=draft.note.title)
        _create(user, session_id, draft.note, covered_until=draft.covered_until, edited=False, now=now)


def _create(
    user: User, session_id: uuid.UUID, note: SessionNote, *, covered_until: int, edited: bool, now: datetime
) -> SessionSummary:
    """Write a session's summary, in the place of one that was deleted."""
    SessionSummary.objects.filter(session_id=session_id, deleted=True).delete()
    summary = SessionSummary.objects.create(
        user=user,
        session_id=session_id,
        title=note.title,
        snippet=note.snippet,
        covered_until=covered_until,
        edited=edited,
        created_at=now,
        updated_at=now,
    )
    _record_change(user, summary, action=Change.Action.CREATE, before=None, now=now)
    return summary


def _record_change(
    user: User, summary: SessionSummary, *, action: Change.Action, before: Snapshot | None, now: datetime
) -> None:
    session = summary.session  # with which the record goes
    change = describe_change(
        Change.Kind.SUMMARY, summary, action=action, before=before, session_id=session.id, space_id=session.space_id
    )
    record_changes(user=user, changes=[change], now=now)


@transaction.atomic
def create_session_summary(
    *, user: User, session_id: uuid.UUID, title: str, snippet: str, now: datetime
) -> SessionSummary:
    """Write a session's summary by hand. Raises `NotFound`, or `Conflict` where it has one or is temporary (C7)."""
    session = lock_session(user=user, session_id=session_id)
    if session.temporary:
        raise Conflict("A temporary session has no summary.")
    if SessionSummary.objects.filter(session=session, deleted=False).exists():
        raise Conflict("The session already has a summary.")
    _refuse_secrets({"title": title, "snippet": snippet})
    note = SessionNote(title=title, snippet=snippet)
    return _create(user, session_id, note, covered_until=session.last_position, edited=True, now=now)


@transaction.atomic
def leave_unsummarized(*, user: User, session_id: uuid.UUID, now: datetime) -> None:
    """Have no summary made of what was said in a session so far; one that is there stays. Raises `NotFound`."""
    session = lock_session(user=user, session_id=session_id)
    SessionSummary.objects.filter(session=session, deleted=True).update(covered_until=session.last_position)
    if not SessionSummary.objects.filter(session=session).exists():
        SessionSummary.objects.create(
            user=user,
            session=session,
            covered_until=session.last_position,
            deleted=True,
            created_at=now,
            updated_at=now,
        )


@transaction.atomic
def update_session_summary(
    *, user: User, summary_id: uuid.UUID, changes: Mapping[str, str], now: datetime
) -> SessionSummary:
    """Change `title` or `snippet` by hand; the summary is not regenerated from then on. Raises `NotFound`."""
    _refuse_secrets(changes)
    summary = _lock_summary(user, summary_id)
    before = snapshot(summary)
    for name in ("title", "snippet"):
        setattr(summary, name, changes.get(name, getattr(summary, name)))
    summary.edited, summary.updated_at = True, now
    summary.save()
    _record_change(user, summary, action=Change.Action.EDIT, before=before, now=now)
    return summary


@transaction.atomic
def delete_session_summary(*, user: User, summary_id: uuid.UUID, now: datetime) -> None:
    """Delete the text of a session's summary for good. Raises `NotFound`.

    It is not written again from what was said before `now`, only from enough new messages (as L6 has it).
    """
    summary = _lock_summary(user, summary_id)
    summary.title = summary.snippet = ""
    summary.covered_until = summary.session.last_position
    summary.edited, summary.deleted, summary.updated_at = False, True, now
    summary.save()
    forget_history(user=user, kind=Change.Kind.SUMMARY, object_ids=[summary.id], now=now)


def _refuse_secrets(texts: Mapping[str, str]) -> None:
    """Raise `InvalidInput` for what a person writes that holds a secret (D4)."""
    found = {name: [describe_problem(kind)] for name, text in texts.items() if (kind := find_secret(text))}
    for name, (reason,) in found.items():
        raise InvalidInput(f"{name}: {reason}", fields=found)


def _lock_summary(user: User, summary_id: uuid.UUID) -> SessionSummary:
    summary = get_session_summary(user, summary_id)
    session = lock_session(user=user, session_id=summary.session_id)
    summary = get_session_summary(user, summary_id)  # again, now that nobody else changes it
    summary.session = session
    return summary


_RECENT = f"""
SELECT summary.id, session_id, summary.title, snippet, summary.created_at, session.last_active_at
FROM session_summary AS summary JOIN chat_session AS session ON session.id = session_id
WHERE summary.user_id = %(user)s AND NOT deleted AND NOT session.temporary
  AND session_id IS DISTINCT FROM %(excluded)s::uuid AND {seen_sql("session")}
ORDER BY session.last_active_at DESC, summary.id DESC
LIMIT %(limit)s
"""  # noqa: S608 - our own names


def list_session_summaries(user: User) -> QuerySet[SessionSummary]:
    """The session summaries that the user sees, newest first."""
    return SessionSummary.objects.filter(seen_from(user, "session__space"), user=user, deleted=False)


def get_session_summary(user: User, summary_id: uuid.UUID) -> SessionSummary:
    """Return the summary, or raise `NotFound`."""
    summary = list_session_summaries(user).filter(id=summary_id).first()
    if summary is None:
        raise NotFound("This summary does not exist.")
    return summary


def get_recent_session_summaries(
    *, user: User, limit: int, exclude_session_id: uuid.UUID | None = None
) -> list[SessionSummarySnapshot]:
    """Return summaries of the `limit` most recently active other sessions that have one, newest first (S2).

    They are for a model to read: without what was corrected or forgotten since. One that says nothing else is left out.
    """
    values = {"user": user.pk, "excluded": exclude_session_id, "limit": limit, **sight_parameters(user)}
    rows = fetch_rows(_RECENT, values)
    found = [SessionSummarySnapshot(*row) for row in rows]
    cut = cut_ended(user, [text for summary in found for text in (summary.title, summary.snippet)])
    pairs = zip(found, cut[::2], cut[1::2], strict=True)
    return [replace(summary, title=title, snippet=text) for summary, title, text in pairs if text != REMOVED]
