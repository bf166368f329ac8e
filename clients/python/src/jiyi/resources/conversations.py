"""Sessions, messages and turns (``/chat``), and search in what was said."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, BinaryIO, Literal, TypedDict

from jiyi._decoding import Into, ListOf, Number, PageOf
from jiyi._requests import (
    UNSET,
    Request,
    Resource,
    Transport,
    Unset,
    all_pages,
    call,
    delete,
    get,
    new_idempotency_key,
    patch,
    post,
    stream,
    unless_none,
    upload,
)
from jiyi._streaming import read_turn
from jiyi.types import (
    Attachment,
    Context,
    ConversationMatch,
    Edit,
    FormReply,
    FoundSession,
    Message,
    ModelChoice,
    Page,
    Restored,
    Session,
    SessionExport,
    Turn,
    TurnEvent,
    TurnFigures,
)

# How the answer of a streamed turn is read; its events are read by the transport.
_TURN: Any = read_turn


class _Said(TypedDict):
    role: Literal["user", "assistant"]
    content: str


class PastMessage(_Said, total=False):
    """A message of a past conversation; `create_time` is now by default."""

    create_time: datetime | str


class Sessions(Resource[Transport]):
    """Conversations, and what is said in them."""

    @call
    def create(
        self,
        *,
        title: str | None = None,
        temporary: bool | None = None,
        paused: bool | None = None,
        model: str | None = None,
        space: str | None = None,
        idempotency_key: str | None = None,
    ) -> Request[Session]:
        """Start a session. A temporary one reads and writes no memory; from a paused one nothing new is remembered.

        `model`: one of `models`. `space`: its ID.

        `idempotency_key`: your own name for the conversation. The same one finds its session again.
        """
        body = {
            "title": unless_none(title),
            "temporary": unless_none(temporary),
            "paused": unless_none(paused),
            "model": unless_none(model),
            "space": unless_none(space),
        }
        return post("/chat/sessions", Into(Session), body=body, key=idempotency_key)

    @call
    def list(
        self,
        *,
        pinned: bool | None = None,
        archived: bool | None = None,
        space: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Request[Page[Session]]:
        """Return a page of the sessions, most recently active first. `pinned`, `archived` and `space` narrow it.

        `space`: an ID or a name, or "none".
        """
        query = {"pinned": pinned, "archived": archived, "space": space, "limit": limit, "offset": offset}
        return get("/chat/sessions", PageOf(Session), query=query)

    iterate = all_pages(list)

    @call
    def search(
        self,
        q: str,
        *,
        mode: Literal["all", "words", "meaning"] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        space: str | None = None,
        limit: int | None = None,
    ) -> Request[builtins.list[FoundSession]]:
        """Search titles and messages of all sessions, by words and by meaning, best first.

        `since`, `until`: when it was said. `space`: from where, by ID or name; "all": in all spaces.
        """
        query = {"q": q, "mode": mode, "since": since, "until": until, "space": space, "limit": limit}
        return get("/chat/search", ListOf(FoundSession), query=query)

    @call
    def get(self, session_id: str) -> Request[Session]:
        """Return one session."""
        return get("/chat/sessions/{session_id}", Into(Session), session_id=session_id)

    @call
    def rename(self, session_id: str, *, title: str) -> Request[Session]:
        """Give a session another title."""
        return patch("/chat/sessions/{session_id}", Into(Session), body={"title": title}, session_id=session_id)

    @call
    def update(
        self,
        session_id: str,
        *,
        title: str | None = None,
        pinned: bool | None = None,
        archived: bool | None = None,
        paused: bool | None = None,
        model: str | None = None,
        space: str | Unset | None = UNSET,
    ) -> Request[Session]:
        """Change what is given of a session: its title, whether it is pinned or archived, its model, its space.

        `paused`: whether nothing new is remembered from what is said in it from now on.
        It moves to a `space` with what was learned in it; None takes it out of all.
        """
        body = {
            "title": unless_none(title),
            "pinned": unless_none(pinned),
            "archived": unless_none(archived),
            "paused": unless_none(paused),
            "model": unless_none(model),
            "space": space,
        }
        return patch("/chat/sessions/{session_id}", Into(Session), body=body, session_id=session_id)

    @call
    def models(self) -> Request[builtins.list[ModelChoice]]:
        """Return the chat models that a session can be set to, the default one first."""
        return get("/chat/models", ListOf(ModelChoice))

    @call
    def delete(self, session_id: str) -> Request[int]:
        """Delete a session with its messages and working memory. Memories stay (W4). Returns the number of sessions."""
        return delete("/chat/sessions/{session_id}", Number("deleted"), session_id=session_id)

    @call
    def export(self, session_id: str) -> Request[SessionExport]:
        """Return a session with everything that was said in it."""
        query = {"format": "json"}
        return get("/chat/sessions/{session_id}/export", Into(SessionExport), query=query, session_id=session_id)

    @call
    def messages(
        self, session_id: str, *, around: str | None = None, limit: int | None = None, offset: int | None = None
    ) -> Request[Page[Message]]:
        """Return a page of the messages of a session, oldest first. `around`: a message that is in its middle."""
        query = {"around": around, "limit": limit, "offset": offset}
        return get("/chat/sessions/{session_id}/messages", PageOf(Message), query=query, session_id=session_id)

    iterate_messages = all_pages(messages)

    @call
    def attach(self, session_id: str, file: bytes | BinaryIO, *, name: str) -> Request[Attachment]:
        """Attach a text or PDF file, to be sent with a message. Its text is kept, the file is not."""
        path = "/chat/sessions/{session_id}/attachments"
        return upload(path, Into(Attachment), file=file, name=name, session_id=session_id)

    @call
    def attachments(
        self, session_id: str, *, limit: int | None = None, offset: int | None = None
    ) -> Request[Page[Attachment]]:
        """Return a page of the files of a session, oldest first."""
        query = {"limit": limit, "offset": offset}
        return get("/chat/sessions/{session_id}/attachments", PageOf(Attachment), query=query, session_id=session_id)

    iterate_attachments = all_pages(attachments)

    @call
    def delete_attachment(self, attachment_id: str) -> Request[int]:
        """Delete the text of a file: the model does not get it from the next message on."""
        return delete("/chat/attachments/{attachment_id}", Number("deleted"), attachment_id=attachment_id)

    @call
    def send(
        self,
        session_id: str,
        content: str,
        *,
        attachments: Sequence[str] | None = None,
        idempotency_key: str | None = None,
    ) -> Request[Turn]:
        """Send a message and return the turn, reply included. `attachments`: IDs of files that go with it.

        The key is made up if none is given, so that a lost connection is no reason to say a thing twice.
        Raises `ModelUnavailable` if the model failed: then `messages.retry` tries the stored message again.
        """
        body = {"content": content, "attachments": unless_none(attachments)}
        return _send(Into(Turn), session_id, body=body, key=idempotency_key)

    @stream
    def stream(
        self,
        session_id: str,
        content: str,
        *,
        attachments: Sequence[str] | None = None,
        idempotency_key: str | None = None,
    ) -> Request[TurnEvent]:
        """Send a message and yield the events of the turn: `Started`, `Delta`…, `Done`.

        The request is sent when the first event is asked for. Raises like `send`, while iterating. Whoever stops early
        still gets the whole reply stored.
        """
        body = {"content": content, "stream": True, "attachments": unless_none(attachments)}
        return _send(_TURN, session_id, body=body, key=idempotency_key)

    @call
    def record(
        self, session_id: str, messages: Sequence[PastMessage], *, idempotency_key: str | None = None
    ) -> Request[int]:
        """Store messages of a past conversation without a reply, oldest first, at most 1,000 (C9).

        Memories are extracted in the background. Returns the number of messages stored. The key is made up if none is
        given; give your own to make a repeated import store nothing twice.
        """
        return post(
            "/chat/sessions/{session_id}/turns",
            Number("stored"),
            body={"messages": [*messages]},
            key=idempotency_key or new_idempotency_key(),
            session_id=session_id,
        )

    @call
    def turns(
        self, session_id: str, *, limit: int | None = None, offset: int | None = None
    ) -> Request[Page[TurnFigures]]:
        """Return a page of how much each reply recalled and remembered, newest first."""
        query = {"limit": limit, "offset": offset}
        return get("/chat/sessions/{session_id}/turns", PageOf(TurnFigures), query=query, session_id=session_id)

    iterate_turns = all_pages(turns)

    @call
    def edits(self, session_id: str, *, limit: int | None = None, offset: int | None = None) -> Request[Page[Edit]]:
        """Return a page of the edits of a session that can be undone, newest first."""
        query = {"limit": limit, "offset": offset}
        return get("/chat/sessions/{session_id}/edits", PageOf(Edit), query=query, session_id=session_id)

    iterate_edits = all_pages(edits)

    @call
    def context(self, session_id: str, *, message: str | None = None) -> Request[Context]:
        """Return the prompt that a message would get now (C4). Nothing is stored or counted."""
        query = {"message": message}
        return get("/chat/sessions/{session_id}/context", Into(Context), query=query, session_id=session_id)

    @call
    def submit_form(self, session_id: str, *, title: str, fields: Mapping[str, Any]) -> Request[FormReply]:
        """Submit a form in place of a message, and return the reply (H1)."""
        return post(
            "/chat/sessions/{session_id}/hitl-forms",
            Into(FormReply),
            body={"title": title, "fields": fields},
            waits_for_model=True,
            session_id=session_id,
        )


class Messages(Resource[Transport]):
    """Single messages."""

    @call
    def retry(self, message_id: str) -> Request[Turn]:
        """Ask the model again for the reply to a failed message. Raises `Conflict` unless it failed."""
        return _retry(Into(Turn), message_id, body={})

    @stream
    def stream_retry(self, message_id: str) -> Request[TurnEvent]:
        """Retry a failed message and yield the events of the turn."""
        return _retry(_TURN, message_id, body={"stream": True})

    @call
    def regenerate(self, message_id: str) -> Request[Turn]:
        """Replace the newest reply of a session, named by its ID or by that of its message. Raises `Conflict`."""
        return _regenerate(Into(Turn), message_id, body={})

    @stream
    def stream_regenerate(self, message_id: str) -> Request[TurnEvent]:
        """Replace the newest reply and yield the events of the turn."""
        return _regenerate(_TURN, message_id, body={"stream": True})

    @call
    def edit(self, message_id: str, content: str) -> Request[Turn]:
        """Say a message differently: it and all after it give way, and so does what they taught. See `undo_edit`."""
        return _edit(Into(Turn), message_id, body={"content": content})

    @stream
    def stream_edit(self, message_id: str, content: str) -> Request[TurnEvent]:
        """Say a message differently and yield the events of the turn."""
        return _edit(_TURN, message_id, body={"content": content, "stream": True})

    @call
    def undo_edit(self, message_id: str) -> Request[Restored]:
        """Bring back what the edited message took the place of; what has been said since gives way."""
        return post("/chat/messages/{message_id}/edit/undo", Into(Restored), message_id=message_id)

    @call
    def stop(self, message_id: str) -> Request[Message]:
        """End the reply that is being written to a message; what has come of it is stored, marked as `stopped`."""
        return post("/chat/messages/{message_id}/stop", Into(Message), message_id=message_id)

    @call
    def collect(self, message_id: str, *, is_collected: bool = True) -> Request[Message]:
        """Add a message to the favourites, or remove it from them."""
        body = {"is_collected": is_collected}
        return patch("/chat/messages/{message_id}", Into(Message), body=body, message_id=message_id)

    @call
    def turn(self, message_id: str) -> Request[Turn]:
        """Return the turn that a message, the user's or the reply, belongs to."""
        return get("/chat/messages/{message_id}/turn", Into(Turn), message_id=message_id)

    @call
    def forget_candidate(self, message_id: str, candidate_id: str) -> Request[Turn]:
        """Forget a memory that the message may have meant (`Turn.commands[].unclear`), and return the turn (L9)."""
        path = "/chat/messages/{message_id}/candidates/{candidate_id}/forget"
        return post(path, Into(Turn), message_id=message_id, candidate_id=candidate_id)


class Conversations(Resource[Transport]):
    """All messages of all sessions."""

    @call
    def search(
        self,
        query: str,
        *,
        top_k: int | None = None,
        threshold: float | None = None,
        chat_id: str | None = None,
        space: str | None = None,
    ) -> Request[list[ConversationMatch]]:
        """Return the messages nearest in meaning, best first (V5). `chat_id`: of this session only.

        `space`: from where, by ID or name; "all": in all spaces.
        """
        body = {
            "query": query,
            "top_k": unless_none(top_k),
            "threshold": unless_none(threshold),
            "chat_id": unless_none(chat_id),
            "space": unless_none(space),
        }
        return post("/memory/conversations/search", ListOf(ConversationMatch), body=body)


def _send(read: Any, session_id: str, *, body: Mapping[str, Any], key: str | None) -> Request[Any]:
    return post(
        "/chat/sessions/{session_id}/messages",
        read,
        body=body,
        key=key or new_idempotency_key(),
        waits_for_model=True,
        session_id=session_id,
    )


def _retry(read: Any, message_id: str, *, body: Mapping[str, Any]) -> Request[Any]:
    path = "/chat/messages/{message_id}/retry"
    return post(path, read, body=body, waits_for_model=True, message_id=message_id)


def _regenerate(read: Any, message_id: str, *, body: Mapping[str, Any]) -> Request[Any]:
    path = "/chat/messages/{message_id}/regenerate"
    return post(path, read, body=body, waits_for_model=True, message_id=message_id)


def _edit(read: Any, message_id: str, *, body: Mapping[str, Any]) -> Request[Any]:
    path = "/chat/messages/{message_id}/edit"
    return post(path, read, body=body, waits_for_model=True, message_id=message_id)
