"""One conversation as a file to keep: as Markdown to read, or as JSON with everything that is stored of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, tzinfo
from enum import StrEnum

from django.http import FileResponse

from apps.conversations.models import MessageStatus, Role, Session
from apps.conversations.serializers import MessageSerializer, SessionSerializer
from apps.core.responses import JSON, answer_file
from apps.core.text.secrets import mask_secrets

_ROWS_AT_ONCE = 500


class ExportFormat(StrEnum):
    """What a conversation can be exported as."""

    MARKDOWN = "markdown"
    JSON = "json"


_FILES = {ExportFormat.MARKDOWN: ("text/markdown; charset=utf-8", "md"), ExportFormat.JSON: (JSON, "json")}


def answer_export(session: Session, form: ExportFormat, *, zone: tzinfo, masked: bool = False) -> FileResponse:
    """Answer with a session, which the caller has seen to that may be read, as an attachment.

    `zone`: that of the times in Markdown. What was said stands in both as it was said, to the letter, unless its
    secrets are to be `masked` (D4).
    """
    content_type, suffix = _FILES[form]
    mask = mask_secrets if masked else str
    is_text = form is ExportFormat.MARKDOWN
    parts = write_markdown(session, zone=zone, mask=mask) if is_text else write_json(session, mask=mask)
    portions = (part.encode() for part in parts)
    name = session.title or f"conversation-{str(session.id)[:8]}"
    return answer_file(portions, name=name, content_type=content_type, suffix=suffix)


def write_markdown(session: Session, *, zone: tzinfo, mask: Callable[[str], str] = str) -> Iterator[str]:
    """Yield what the person and the assistant said, each under who said it and when.

    Without what was replaced, and without summaries, which say again what stands there.
    """
    title = mask(" ".join(session.title.split()))
    if title:
        yield f"# {title}\n"
    said = session.messages.exclude(status=MessageStatus.REPLACED).exclude(role=Role.SUMMARY).order_by("position")
    for number, message in enumerate(said.iterator(chunk_size=_ROWS_AT_ONCE)):
        role = str(Role(message.role).label)
        separator = "\n" if number or title else ""
        said_at = message.create_time.astimezone(zone).isoformat(sep=" ", timespec="minutes")
        yield f"{separator}## {role[:1].upper()}{role[1:]} · {said_at}\n\n"
        yield f"{mask(message.content)}\n"


def write_json(session: Session, *, mask: Callable[[str], str] = str) -> Iterator[str]:
    """Yield one object: the session, its `messages` with summaries, and apart from them those `replaced`.

    It can be imported again (docs/import.md, any other source).
    """
    about = {
        "session": str(session.id),
        **SessionSerializer(session).data,
        "title": mask(session.title),
        "exported_at": datetime.now(UTC).isoformat(),
    }
    yield json.dumps(about, ensure_ascii=False, indent=2)[:-2]
    in_order = session.messages.order_by("position")
    lists = {
        "messages": in_order.exclude(status=MessageStatus.REPLACED),
        "replaced": in_order.filter(status=MessageStatus.REPLACED),
    }
    for name, messages in lists.items():
        yield f',\n  "{name}": ['
        for number, message in enumerate(messages.iterator(chunk_size=_ROWS_AT_ONCE)):
            message.content = mask(message.content)
            said = json.dumps(MessageSerializer(message).data, ensure_ascii=False)
            yield f"{',' if number else ''}\n    {said}"
        yield "\n  ]"
    yield "\n}\n"
