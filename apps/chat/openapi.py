"""What the API document says about conversations and turns."""

from __future__ import annotations

import json
from typing import Any

from drf_spectacular.utils import OpenApiParameter

from apps.chat.search import MAX_FOUND, MAX_SEARCH_CHARS
from apps.chat.serializers import (
    AttachmentRequest,
    EditRequest,
    EditSerializer,
    FormReplySerializer,
    FormRequest,
    FoundConversationsSerializer,
    MessageRequest,
    ModelChoicesSerializer,
    PromptSerializer,
    RecordingReportSerializer,
    RecordingRequest,
    RestoredSerializer,
    RetryRequest,
    SessionExportSerializer,
    TurnFiguresSerializer,
    TurnSerializer,
)
from apps.conversations.export import ExportFormat
from apps.conversations.serializers import (
    AttachmentSerializer,
    MessageChangeRequest,
    MessageSerializer,
    SessionChangeRequest,
    SessionSerializer,
)
from apps.conversations.types import MAX_CONTENT_CHARS
from apps.core.openapi.types import (
    NOT_BLANK,
    Answer,
    Body,
    Examples,
    Operation,
    Problem,
    event,
    page,
    path_id,
    query,
)
from apps.core.serializers import DeletedSerializer

TAG = "Conversations"

# Examples

SESSION_ID = "8d1f2c1e-5a0b-4c57-9f0e-3a7b5b1d9c42"
MESSAGE_ID = "2f6a1f0a-7c7e-4a35-8b8e-0d5f3a9e6b11"
REPLY_ID = "c9b3d7e4-1f52-4d0c-a6a1-7e2b8f4c5d90"
MEMORY_ID = "5e0c8a52-9d3b-4f6e-b1c7-2a4d6f8e0b13"
ATOMIC_ID = "b72ee391-ef08-4753-8e80-6bd21f8837be"
PAST_MESSAGE_ID = "5c9b0f5e-9d0c-4a57-9b6e-0f7c2d1e8a43"
PAST_SESSION_ID = "e1a7c6d2-4f3b-4c8e-a5d9-7b2f60c1d384"
OPERATION_ID = "7a32a1e3-9e83-53e8-be5b-34045020eb4c"

SESSION = {
    "id": SESSION_ID,
    "title": "Dinner on Friday",
    "created_at": "2026-11-20T18:02:11.402913Z",
    "last_active_at": "2026-11-20T18:05:47.118204Z",
    "temporary": False,
    "model": "",
    "pinned": False,
    "archived": False,
}
MODEL = {"name": "deepseek-chat", "server": "DeepSeek", "default": True}
MESSAGE = {
    "id": MESSAGE_ID,
    "session_id": SESSION_ID,
    "role": "user",
    "content": "What should I cook for Anna on Friday?",
    "create_time": "2026-11-20T18:05:44.730122Z",
    "is_collected": False,
    "emotion": "curious",
    "status": "complete",
    "summarized_by": None,
    "stopped": False,
}
ATTACHMENT = {
    "id": "1f9a3a94-1c0e-4b0e-9a7e-5d0c8c3f7a21",
    "name": "menu.pdf",
    "characters": 2140,
    "message_id": MESSAGE_ID,
    "created_at": "2026-11-20T18:05:40.120034Z",
}
FOUND = {
    "results": [
        {
            "session": SESSION,
            "title_ranges": [[0, 6]],
            "messages": [
                {
                    "id": MESSAGE_ID,
                    "role": "user",
                    "create_time": MESSAGE["create_time"],
                    "excerpt": "What should I cook for Anna on Friday?",
                    "ranges": [[23, 27]],
                    "found_by": "words",
                    "similarity": None,
                }
            ],
        }
    ]
}
FIGURES = {"message_id": REPLY_ID, "recalled": 2, "remembered": 1}
EDIT = {"message_id": MESSAGE_ID, "messages": 2, "memories": 1, "created_at": "2026-11-20T18:05:44.730122Z"}
STOPPED_QUESTION = {**MESSAGE, "status": "pending", "emotion": None}
REPLY = {
    **MESSAGE,
    "id": REPLY_ID,
    "role": "assistant",
    "content": "A mushroom risotto: Anna is vegetarian, and it has no peanuts.",
    "create_time": "2026-11-20T18:05:47.118204Z",
    "emotion": None,
}
WORKING_MEMORY = {
    "session_id": SESSION_ID,
    "current_topic": "dinner for Anna",
    "context_variables": {"guests": 2, "day": "Friday"},
    "turn_count": 3,
    "last_emotion": "curious",
    "created_at": "2026-11-20T18:02:15.220871+00:00",
    "updated_at": "2026-11-20T18:05:47.118204+00:00",
}
TURN: dict[str, Any] = {
    "user_message": MESSAGE,
    "assistant_message": REPLY,
    "emotion": {"primary": "curious", "category": "positive", "confidence": 0.8, "indicators": ["What should I"]},
    "strategy": {
        "emotion": "neutral",
        "tone": "professional",
        "max_length": 300,
        "use_memory": True,
        "proactive_question": False,
        "formality": "casual",
        "emoji_allowed": False,
    },
    "memories_used": [
        {
            "id": MEMORY_ID,
            "kind": "long_term",
            "text": "allergies: peanuts",
            "score": 0.71,
            "keyword_score": 0.42,
            "semantic_score": 0.58,
            "category_boost": 1.2,
            "recency_score": 0.82,
            "frequency_score": 0.5,
            "confidence": 1.0,
            "topic_boost": 1.3,
        },
        {
            "id": ATOMIC_ID,
            "kind": "atomic",
            "text": "Anna is vegetarian.",
            "score": 4.288,
            "keyword_score": 1.27,
            "semantic_score": 0.49,
            "parts": {
                "meaning": 2.6215,
                "meaning_of_last_line": 0.0,
                "words": 0.6832,
                "words_in_session": 0.0629,
                "words_near": 0.0,
                "words_around": 0.0,
                "words_with_turn_before": 0.0,
                "length": 0.9204,
                "question": 0.0,
                "answer": 0.0,
                "speaker": 0.0,
                "time": 0.0,
            },
        },
        {
            "id": PAST_MESSAGE_ID,
            "kind": "message",
            "text": "Anna is coming over on Friday, she is bringing her new boyfriend.",
            "score": 3.902,
            "keyword_score": 0.5,
            "semantic_score": 0.47,
            "message_id": PAST_MESSAGE_ID,
            "session_id": PAST_SESSION_ID,
            "role": "user",
            "created_at": "2026-11-18T10:12:00+00:00",
        },
    ],
    "memory_updates": [
        {
            "id": "0d9f4e7b-63c2-4b18-8f2a-91c5d7e3a604",
            "action": "created",
            "category": "fact",
            "key": "plans for Friday",
            "value": "cooks dinner for Anna",
        }
    ],
    "commands": [],
    "tool_calls": [
        {
            "name": "search_memories",
            "outcome": "ok",
            "keyword": "Friday",
            "time_range": {"since": "2026-05-01", "until": None},
            "memories": [{"id": ATOMIC_ID, "kind": "atomic", "text": "Anna is vegetarian."}],
            "context_id": None,
            "left_out": 0,
            "duration_ms": 8.4,
        }
    ],
    "working_memory": WORKING_MEMORY,
}
TURN_ZH: dict[str, Any] = {
    **TURN,
    "user_message": {**MESSAGE, "content": "记住：我对花生过敏。", "emotion": "neutral"},
    "assistant_message": {**REPLY, "content": "好的，我会记住：我对花生过敏。"},
    "emotion": {"primary": "neutral", "category": "neutral", "confidence": 0.6, "indicators": []},
    "memories_used": [],
    "memory_updates": [],
    "commands": [
        {
            "kind": "remember",
            "status": "stored",
            "texts": ["我对花生过敏。"],
            "operation": OPERATION_ID,
            "memory_ids": [ATOMIC_ID],
            "unclear": [],
        }
    ],
    "tool_calls": [],
    "working_memory": {**WORKING_MEMORY, "current_topic": "过敏", "context_variables": {}, "turn_count": 1},
}
TURNS = Examples(English=TURN, 中文=TURN_ZH)
STREAM = "".join(
    f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
    for name, data in [
        ("start", {"user_message": {**MESSAGE, "emotion": None, "status": "pending"}}),
        ("delta", {"text": "A mushroom risotto: "}),
        ("delta", {"text": "Anna is vegetarian, and it has no peanuts."}),
        ("done", TURN),
    ]
)

# Parts

IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "pattern": NOT_BLANK, "maxLength": 255},
    OpenApiParameter.HEADER,
    description="Repeating a key in this session returns the first result; nothing is stored twice.",
)
SESSION_PATH = path_id("session_id", "ID of the session.")
MESSAGE_PATH = path_id("message_id", "ID of the message.")
STREAMED = event(
    "TurnEvent",
    "`data` is JSON: of `start` it is `{user_message}`; of `delta` `{text}`, the next piece of the reply; of `done` a "
    "`Turn`. `error` ends a stream in place of `done` and has an `Error`. Comment lines keep the connection alive.",
    names=["start", "delta", "done", "error"],
)
TURN_ANSWERS = {
    201: Answer(TurnSerializer, TURNS, "The turn, once the reply is complete."),
    200: Answer(STREAMED, STREAM, "The turn as a stream, with `stream: true`.", media_type="text/event-stream"),
}
MODEL_UNAVAILABLE = Problem(
    "The model failed; the message is kept as `failed` and can be retried",
    "model_unavailable",
    "The model could not be reached.",
    {"message_id": MESSAGE_ID},
)


def _too_long(name: str) -> Problem:
    return Problem(
        f"`{name}` is too long",
        "too_large",
        f"{name} has 40000 characters; {MAX_CONTENT_CHARS} are allowed.",
    )


OPERATIONS = {
    "GET /chat/models": Operation(
        id="list_chat_models",
        summary="List the chat models",
        tag=TAG,
        description="The models that a session can be set to: what administrators connected, and the model of the "
        "environment. The default one comes first; it answers in every session whose `model` is empty.",
        answers={200: Answer(ModelChoicesSerializer, {"results": [MODEL]})},
    ),
    "GET /chat/sessions": Operation(
        id="list_sessions",
        summary="List sessions",
        tag=TAG,
        description="The session that was active last comes first. `pinned` and `archived` narrow the list.",
        answers={200: Answer(SessionSerializer, page(SESSION))},
    ),
    "POST /chat/sessions": Operation(
        id="create_session",
        summary="Start a session",
        tag=TAG,
        description="A `temporary` session reads and writes no memory, and is deleted after it has been idle.",
        body=Body(SessionSerializer, Examples(English={"title": "Dinner on Friday"}, 中文={"title": "周五的晚饭"})),
        answers={201: Answer(SessionSerializer, SESSION)},
    ),
    "GET /chat/search": Operation(
        id="search_sessions",
        summary="Search all conversations",
        tag="Search",
        description="Searches what the person and the assistant said, and titles. English words are found by their "
        "beginnings, Chinese anywhere, in simplified and traditional characters. A conversation whose title has all of "
        "the words comes first, then those whose messages have them, newest first, then what is similar in meaning. "
        "Archived sessions are searched too; temporary ones and replaced messages are not.",
        parameters=[
            query(
                "q",
                f"What to search for, at most {MAX_SEARCH_CHARS:,} characters.",
                {"type": "string", "pattern": NOT_BLANK},
                required=True,
            ),
            query(
                "mode",
                "`words` waits for no embedder. `all` adds what is similar in meaning if the query can be embedded "
                "within 300 ms; `meaning` has nothing else.",
                {"type": "string", "enum": ["all", "words", "meaning"], "default": "all"},
            ),
            query(
                "limit",
                "How many sessions at most.",
                {"type": "integer", "minimum": 1, "maximum": MAX_FOUND, "default": 20},
            ),
        ],
        answers={200: Answer(FoundConversationsSerializer, FOUND)},
        problems={413: Problem("`q` is too long", "too_large", f"q has over {MAX_SEARCH_CHARS:,} characters.")},
    ),
    "GET /chat/sessions/{session_id}": Operation(
        id="get_session",
        summary="Get a session",
        tag=TAG,
        parameters=[SESSION_PATH],
        answers={200: Answer(SessionSerializer, SESSION)},
    ),
    "PATCH /chat/sessions/{session_id}": Operation(
        id="update_session",
        summary="Rename, pin or archive a session, or choose its model",
        tag=TAG,
        description="What is not named stays. An archived session is still recalled and found.",
        parameters=[SESSION_PATH],
        body=Body(
            SessionChangeRequest,
            Examples(Rename={"title": "Dinner for Anna"}, Pin={"pinned": True}, Archive={"archived": True}),
        ),
        answers={200: Answer(SessionSerializer, {**SESSION, "title": "Dinner for Anna"})},
    ),
    "DELETE /chat/sessions/{session_id}": Operation(
        id="delete_session",
        summary="Delete a session",
        tag=TAG,
        description="Its messages and working memory are deleted with it. Long-term and atomic memories are kept, with "
        "`session_id` null.",
        parameters=[SESSION_PATH],
        answers={200: Answer(DeletedSerializer, {"deleted": 1})},
    ),
    "GET /chat/sessions/{session_id}/export": Operation(
        id="export_session",
        summary="Export a session",
        tag=TAG,
        description="As an attachment. Markdown has what was said, with roles and times; JSON also has summaries, "
        "favourites and what was replaced, and can be imported again. Texts are unaltered in both.",
        parameters=[
            SESSION_PATH,
            query(
                "format",
                "The format of the file.",
                {"type": "string", "enum": [form.value for form in ExportFormat], "default": "markdown"},
            ),
        ],
        answers={
            200: [
                Answer(
                    SessionExportSerializer,
                    {
                        **SESSION,
                        "session": SESSION["id"],
                        "exported_at": "2026-11-25T09:00:00+00:00",
                        "messages": [MESSAGE],
                        "replaced": [],
                    },
                    "The session as JSON.",
                ),
                Answer(
                    {"type": "string"},
                    "# Dinner on Friday\n\n## User · 2026-11-20 18:05+00:00\n\nWhat should I cook for Anna?\n",
                    "The session as Markdown.",
                    media_type="text/markdown",
                ),
            ]
        },
    ),
    "GET /chat/sessions/{session_id}/messages": Operation(
        id="list_messages",
        summary="List the messages of a session",
        tag=TAG,
        description="Oldest first, summaries of the conversation included.",
        parameters=[SESSION_PATH],
        answers={200: Answer(MessageSerializer, page(MESSAGE))},
    ),
    "POST /chat/sessions/{session_id}/messages": Operation(
        id="send_message",
        summary="Send a message",
        tag=TAG,
        description="Starts a turn: the message is stored, what is remembered goes into the prompt, and the model "
        "replies. With `stream: true` the reply comes as server-sent events while it is written. A client that "
        "disconnects finds the complete reply in the session later.",
        parameters=[SESSION_PATH, IDEMPOTENCY_KEY],
        body=Body(
            MessageRequest,
            Examples(
                English={"content": "What should I cook for Anna on Friday?"},
                中文={"content": "记住：我对花生过敏。"},
                Streaming={"content": "What should I cook for Anna on Friday?", "stream": True},
            ),
        ),
        answers=TURN_ANSWERS,
        problems={
            409: Problem(
                "The key was used for another message",
                "conflict",
                "This Idempotency-Key was used for another message.",
                {"message_id": MESSAGE_ID},
            ),
            413: _too_long("content"),
            503: MODEL_UNAVAILABLE,
        },
    ),
    "POST /chat/sessions/{session_id}/turns": Operation(
        id="record_messages",
        summary="Record a past conversation",
        tag=TAG,
        description="Stores up to 1,000 messages, in chronological order, without a reply. Everything that happens "
        "after a turn happens with them in the background: memories are extracted, the profile and summaries follow.",
        parameters=[SESSION_PATH, IDEMPOTENCY_KEY],
        body=Body(
            RecordingRequest,
            Examples(
                English={
                    "messages": [
                        {
                            "role": "user",
                            "content": "I moved to York last week.",
                            "create_time": "2026-10-03T09:30:00+01:00",
                        },
                        {
                            "role": "assistant",
                            "content": "How do you like it?",
                            "create_time": "2026-10-03T09:30:04+01:00",
                        },
                    ]
                },
                中文={"messages": [{"role": "user", "content": "我上周六搬到了成都。"}]},
            ),
        ),
        answers={202: Answer(RecordingReportSerializer, {"stored": 2})},
        problems={
            409: Problem(
                "The key was used for other messages",
                "conflict",
                "This Idempotency-Key was used for other messages.",
            ),
            413: _too_long("content"),
        },
    ),
    "GET /chat/sessions/{session_id}/context": Operation(
        id="preview_prompt",
        summary="Preview the prompt of a message",
        tag=TAG,
        description="The layers that a message would get if it were sent now. Nothing is stored or counted.",
        parameters=[
            SESSION_PATH,
            query(
                "message", f"The message; at most {MAX_CONTENT_CHARS:,} characters.", {"type": "string", "default": ""}
            ),
        ],
        answers={
            200: Answer(
                PromptSerializer,
                {
                    "layers": [
                        {
                            "index": 3,
                            "name": "memories",
                            "content": "<memories>\n1. allergies: peanuts\n</memories>",
                            "tokens": 14,
                        },
                        {
                            "index": 6,
                            "name": "message",
                            "content": "What should I cook for Anna on Friday?",
                            "tokens": 10,
                        },
                    ],
                    "total_tokens": 24,
                },
            )
        },
        problems={413: _too_long("message")},
    ),
    "POST /chat/sessions/{session_id}/hitl-forms": Operation(
        id="submit_form",
        summary="Submit a form",
        tag=TAG,
        description="Keeps the fields in working memory as `hitl_<title>` while the session lives, and has the model "
        "continue. The same title again replaces the form.",
        parameters=[SESSION_PATH],
        body=Body(
            FormRequest,
            Examples(
                中文={"title": "行程安排", "fields": {"destination": "北京", "date": "周末"}},
                English={"title": "Travel plan", "fields": {"destination": "Beijing", "date": "weekend"}},
            ),
        ),
        answers={
            201: Answer(
                FormReplySerializer,
                {
                    "key": "hitl_行程安排",
                    "working_memory": {
                        **WORKING_MEMORY,
                        "current_topic": "旅行",
                        "context_variables": {
                            "hitl_行程安排": {
                                "fields": {"destination": "北京", "date": "周末"},
                                "timestamp": "2026-11-20T18:05:44.730122+00:00",
                            }
                        },
                    },
                    "assistant_message": {**REPLY, "content": "好的，周末去北京。要不要先看看天气？"},
                },
            )
        },
        problems={
            413: Problem(
                "The form does not fit into working memory",
                "too_large",
                "The form passes the limit of 65536 bytes of context variables.",
            ),
            503: Problem(
                "The model failed; the form is kept",
                "model_unavailable",
                "The model could not be reached.",
            ),
        },
    ),
    "PATCH /chat/messages/{message_id}": Operation(
        id="update_message",
        summary="Add a message to the favourites",
        tag=TAG,
        description="Or remove it, with `is_collected: false`.",
        parameters=[MESSAGE_PATH],
        body=Body(MessageChangeRequest, {"is_collected": True}),
        answers={200: Answer(MessageSerializer, {**REPLY, "is_collected": True})},
    ),
    "POST /chat/messages/{message_id}/retry": Operation(
        id="retry_message",
        summary="Retry a failed message",
        tag=TAG,
        description="Asks the model again; nothing is stored twice.",
        parameters=[MESSAGE_PATH],
        body=Body(RetryRequest, {"stream": False}),
        answers=TURN_ANSWERS,
        problems={
            409: Problem(
                "The message has not failed",
                "conflict",
                "Only a failed message can be retried.",
                {"message_id": MESSAGE_ID},
            ),
            503: MODEL_UNAVAILABLE,
        },
    ),
    "POST /chat/messages/{message_id}/regenerate": Operation(
        id="regenerate_reply",
        summary="Replace the newest reply",
        tag=TAG,
        description=(
            "Asks the model again for the newest message of a session, named by its ID or by that of its reply. The "
            "present reply stands until the new one is stored; what was learned from the message stays."
        ),
        parameters=[MESSAGE_PATH],
        body=Body(RetryRequest, {"stream": False}),
        answers=TURN_ANSWERS,
        problems={
            409: Problem(
                "The message is not the newest one, or has no reply",
                "conflict",
                "Only the newest reply can be regenerated.",
                {"message_id": MESSAGE_ID},
            ),
            503: MODEL_UNAVAILABLE,
        },
    ),
    "POST /chat/messages/{message_id}/edit": Operation(
        id="edit_message",
        summary="Edit a message and send it again",
        tag=TAG,
        description=(
            "The message and all that came after it give way to the new one and its reply, and what they alone taught "
            "is taken back. Nothing is deleted: the edit can be undone."
        ),
        parameters=[MESSAGE_PATH],
        body=Body(EditRequest, {"content": "What should I cook for Anna on Saturday?", "stream": False}),
        answers=TURN_ANSWERS,
        problems={
            409: Problem(
                "It is no message of the user, was edited already, or a reply is under way",
                "conflict",
                "Only a message of the user that is part of the conversation can be edited.",
                {"message_id": MESSAGE_ID},
            ),
            413: _too_long("content"),
            503: MODEL_UNAVAILABLE,
        },
    ),
    "POST /chat/messages/{message_id}/edit/undo": Operation(
        id="undo_edit",
        summary="Undo an edit",
        tag=TAG,
        description=(
            "Brings back the messages that gave way and what they had taught; what has been said since gives way "
            "instead."
        ),
        parameters=[MESSAGE_PATH],
        answers={200: Answer(RestoredSerializer, {"messages": 2, "memories": 1})},
        problems={
            409: Problem(
                "A reply is under way",
                "conflict",
                "A reply is being written. Stop it first.",
                {"message_id": MESSAGE_ID},
            ),
        },
    ),
    "GET /chat/sessions/{session_id}/turns": Operation(
        id="list_turns",
        summary="List the turns of a session",
        tag=TAG,
        description="How much each reply recalled and remembered, newest first. The turn itself has the rest.",
        parameters=[SESSION_PATH],
        answers={200: Answer(TurnFiguresSerializer, page(FIGURES))},
    ),
    "GET /chat/sessions/{session_id}/edits": Operation(
        id="list_edits",
        summary="List the edits of a session",
        tag=TAG,
        description="The edited messages whose edit can be undone, newest first.",
        parameters=[SESSION_PATH],
        answers={200: Answer(EditSerializer, page(EDIT))},
    ),
    "GET /chat/sessions/{session_id}/attachments": Operation(
        id="list_attachments",
        summary="List the files of a session",
        tag=TAG,
        description="Oldest first, those included that were not sent yet.",
        parameters=[SESSION_PATH],
        answers={200: Answer(AttachmentSerializer, page(ATTACHMENT))},
    ),
    "POST /chat/sessions/{session_id}/attachments": Operation(
        id="attach_file",
        summary="Attach a file",
        tag=TAG,
        description="A text file (UTF-8, UTF-16 or GB 18030) or a PDF with text. Its text is kept for a message that "
        "is sent with it; the file is not. The model reads it in this session, and nothing is learned from it alone.",
        parameters=[SESSION_PATH],
        body=Body(AttachmentRequest, {"file": "@menu.pdf"}, media_type="multipart/form-data"),
        answers={201: Answer(AttachmentSerializer, {**ATTACHMENT, "message_id": None})},
        problems={
            400: Problem("The file has no text", "invalid", "Only text and PDF files can be attached."),
            409: Problem("The session has too many files", "conflict", "A session can have 20 files."),
            413: Problem("The file is too large", "too_large", "The file is larger than 10 MiB."),
        },
    ),
    "DELETE /chat/attachments/{attachment_id}": Operation(
        id="delete_attachment",
        summary="Delete a file",
        tag=TAG,
        description="The model does not get it from the next message on.",
        parameters=[path_id("attachment_id", "ID of the file.")],
        answers={200: Answer(DeletedSerializer, {"deleted": 1})},
    ),
    "POST /chat/messages/{message_id}/stop": Operation(
        id="stop_reply",
        summary="Stop the reply to a message",
        tag=TAG,
        description=(
            "Ends the reply that is being written to a user's message; what has come of it is stored and marked as "
            "`stopped`. Without a single word the message is `failed`, with the reason `cancelled`. Without a reply "
            "under way nothing happens."
        ),
        parameters=[MESSAGE_PATH],
        answers={200: Answer(MessageSerializer, STOPPED_QUESTION)},
    ),
    "GET /chat/messages/{message_id}/turn": Operation(
        id="get_turn",
        summary="Get the turn of a message",
        tag=TAG,
        description="Of a user's message or of its reply: what was used and learned, as when the turn was answered.",
        parameters=[MESSAGE_PATH],
        answers={200: Answer(TurnSerializer, TURNS)},
    ),
    "POST /chat/messages/{message_id}/candidates/{candidate_id}/forget": Operation(
        id="forget_candidate",
        summary="Forget a memory that a message may have meant",
        tag=TAG,
        description="One of the memories in `commands[].unclear` of the turn. Can be undone like any change.",
        parameters=[MESSAGE_PATH, path_id("candidate_id", "ID of a memory in `commands[].unclear`.")],
        answers={
            200: Answer(
                TurnSerializer,
                {
                    **TURN_ZH,
                    "user_message": {**MESSAGE, "content": "忘掉我以前的爱好。"},
                    "assistant_message": {**REPLY, "content": "我没有找到这样的记忆。你指的是哪一条？"},
                    "commands": [
                        {
                            "kind": "forget",
                            "status": "forgotten",
                            "texts": ["我喜欢集邮。"],
                            "operation": OPERATION_ID,
                            "memory_ids": [],
                            "unclear": [],
                        }
                    ],
                },
            )
        },
    ),
}
