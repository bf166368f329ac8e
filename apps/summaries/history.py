"""What keeps a summary in step with the rest: its audit record and undo (L7), and copies of deleted memories (L6).

What was said stays as it was said: other messages are the record, not what is remembered of it. So does a title that a
person typed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from apps.accounts.models import User
from apps.conversations.models import Session, Work
from apps.conversations.queue import release_work
from apps.conversations.rounds import list_conversation_summaries, rewrite_summary
from apps.conversations.sessions import is_made_title, lock_session, rename_session
from apps.core.text.grounding import Traces
from apps.memory.changes.records import Snapshot, TrackedKind, forget_history, list_recorded
from apps.memory.deletion import CopyHolder, MemoryCopy
from apps.memory.models import Change
from apps.memory.recall.former import REMOVED
from apps.memory.vectors.messages import delete_embeddings
from apps.summaries.models import SessionSummary

# What an undone creation leaves: the mark that the session's summary is not wanted, as a deletion does.
EMPTY: Snapshot = {"title": "", "snippet": "", "edited": False}


def snapshot(summary: SessionSummary) -> Snapshot:
    """Return what a person could care for of a summary, as JSON."""
    return {"title": summary.title, "snippet": summary.snippet, "edited": summary.edited}


def _read(user: User, ids: Collection[UUID]) -> Mapping[UUID, SessionSummary]:
    # This locks: writers of a summary hold its session, so only those of the sessions in question have to wait.
    summaries = SessionSummary.objects.filter(user=user, id__in=ids)
    sessions = Session.objects.filter(id__in=summaries.values("session_id")).order_by("id")
    held = list(sessions.select_for_update(no_key=True))
    return summaries.filter(session__in=held).select_related("session").in_bulk()


def _restore(*, user: User, rows: Sequence[tuple[SessionSummary, Snapshot | None]], now: datetime) -> None:
    """Write the texts as they were; a summary that was not there before is not wanted, as if it had been deleted."""
    for summary, before in rows:
        state = before or EMPTY
        summary.title, summary.snippet, summary.edited = state["title"], state["snippet"], state["edited"]
        summary.deleted, summary.updated_at = not (summary.title or summary.snippet), now
        if summary.deleted:
            summary.covered_until = summary.session.last_position
        summary.save()


KIND = TrackedKind(read=_read, snapshot=snapshot, restore=_restore)


def _find_copies(*, user: User, traces: Traces) -> Iterator[MemoryCopy]:
    rows = SessionSummary.objects.filter(user=user, deleted=False).order_by("-created_at", "-id")
    for summary_id, title, snippet in rows.values_list("id", "title", "snippet"):
        for field, text in (("title", title), ("snippet", snippet)):
            for part in traces.cut_from(text).removed:
                yield MemoryCopy(kind="summary", id=summary_id, field=field, text=part)
    for session in _list_titled(user, traces):
        yield MemoryCopy(kind="title", id=session.id, field="title", text=session.title)
    for message_id, content in list_conversation_summaries(user).values_list("id", "content"):
        for part in traces.cut_from(content).removed:
            yield MemoryCopy(kind="summary", id=message_id, field="content", text=part)


def _list_titled(user: User, traces: Traces) -> list[Session]:
    """The sessions with a value in a title that nobody typed: their first message or a summary gave it to them."""
    given = dict(SessionSummary.objects.filter(user=user, deleted=False).values_list("session_id", "title"))
    sessions = Session.objects.filter(user=user).exclude(title="").order_by("-created_at", "-id")
    return [
        session
        for session in sessions
        if traces.stand_in(session.title) and (session.title == given.get(session.id) or is_made_title(session))
    ]


def _remove_copies(*, user: User, traces: Traces, now: datetime) -> None:
    """Cut them under their sessions' locks; a session's summary continues from what is said after `now`.

    A summary of which nothing is left stays, as it says what it covers.

    Work first, then sessions, as a run does that stores its summaries; one that has read the old text starts again.
    """
    release_work(user=user, kind=Work.Kind.SUMMARIZE, now=now)
    of_sessions = SessionSummary.objects.filter(user=user, deleted=False)
    sessions = {
        session_id
        for session_id, title, snippet in of_sessions.values_list("session_id", "title", "snippet")
        if traces.stand_in(title) or traces.stand_in(snippet)
    }
    rows = list_conversation_summaries(user).values_list("session_id", "content")
    sessions |= {session_id for session_id, content in rows if traces.stand_in(content)}
    titled = {session.id for session in _list_titled(user, traces)}
    sessions |= titled
    changed = set()
    for session_id in sorted(sessions):
        session = lock_session(user=user, session_id=session_id)
        if session_id in titled:
            rename_session(user=user, session_id=session_id, title=traces.cut_from(session.title).text)
        for summary in of_sessions.filter(session=session):
            title, snippet = traces.cut_from(summary.title), traces.cut_from(summary.snippet)
            if title.removed or snippet.removed:
                summary.title, summary.snippet = title.text or REMOVED, snippet.text or REMOVED
                summary.covered_until, summary.updated_at = session.last_position, now
                summary.save()
                changed.add(summary.id)
        for message in list_conversation_summaries(user).filter(session=session):
            cut = traces.cut_from(message.content)
            if cut.removed:
                rewrite_summary(message, content=cut.text or REMOVED, now=now)
                delete_embeddings(message_ids=[message.id])
    changed |= list_recorded(user=user, kind=Change.Kind.SUMMARY, where=traces.stand_in)
    forget_history(user=user, kind=Change.Kind.SUMMARY, object_ids=changed, now=now)


COPIES = CopyHolder(find=_find_copies, remove=_remove_copies)
