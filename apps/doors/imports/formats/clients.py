"""Exports of chat programs that people run themselves: Open WebUI, LibreChat, LobeHub and SillyTavern."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from apps.doors.imports.formats.base import Clue, Format, Item, LeftOut, Omission, PastMemory
from apps.doors.imports.formats.base import gettext_noop as _
from apps.doors.imports.formats.uploads import NESTED, Upload, collect, read_nodes, read_objects
from apps.doors.imports.formats.values import (
    Draft,
    Turn,
    as_list,
    as_object,
    cut_elements,
    follow_turns,
    name_source,
    read_number,
    read_parts,
    read_text,
    read_time,
    read_title,
)

# Open WebUI


class OpenWebUI(Format):
    """Exported chats (`history`: a tree with the `currentId` that the person saw last), and the list of memories."""

    name = "openwebui"
    label = "Open WebUI"
    description = _("Open WebUI chats, or memories (JSON)")

    def score(self, clue: Clue) -> float:
        if isinstance(_get_history(clue.found).get("messages"), dict):
            return 0.9
        is_memory = clue.path == () and clue.has("id", "user_id", "content", "created_at", "updated_at")
        return 0.8 if is_memory else 0.0

    def read(self, upload: Upload) -> Iterator[Item]:
        """Yield the chats and memories of the person that comes first: an administrator's file has everybody's."""
        owner = None
        for member in upload.members:
            with upload.open_text(member) as text:
                for found in map(as_object, read_objects(read_nodes(text))):
                    owner = owner or found.get("user_id")
                    if found.get("user_id") not in (None, owner):
                        yield Omission(LeftOut.OTHER_PERSON, label=read_title(found.get("title")))
                    elif _get_history(found):
                        yield read_open_webui_chat(found)
                    elif content := read_text(found.get("content")):
                        name, said_at = str(found.get("id") or name_source(content)), read_time(found.get("created_at"))
                        yield PastMemory(source_id=name, content=content, said_at=said_at)
                    else:
                        detail = "This is neither a chat nor a memory from Open WebUI."
                        yield Omission(LeftOut.MALFORMED, label=read_title(found.get("title")), detail=detail)


def _get_history(found: Mapping[str, Any]) -> Mapping[str, Any]:
    # In older files the chat is not wrapped.
    return as_object(as_object(found.get("chat")).get("history")) or as_object(found.get("history"))


def read_open_webui_chat(found: Mapping[str, Any]) -> Item:
    """Return the conversation in a chat."""
    history = _get_history(found)
    turns = []
    for message in map(as_object, as_object(history.get("messages")).values()):
        text, attachments = read_parts(message.get("content"))
        left_out = Counter({LeftOut.ATTACHMENT: attachments + len(as_list(message.get("files")))})
        if message.get("role") == "assistant":
            text, details = cut_elements(text, '<details type="', "</details>")
            left_out.update(LeftOut.THINKING if one.startswith("reasoning") else LeftOut.TOOL for one in details)
        said_at, name = read_time(message.get("timestamp")), str(message.get("id") or "")
        turns.append(Turn(name, message.get("parentId"), message.get("role"), text, said_at, left_out))
    title = read_title(found.get("title") or as_object(found.get("chat")).get("title"))
    return follow_turns(turns, history.get("currentId")).finish(
        title=title, source_id=found.get("id"), started=found.get("created_at")
    )


# LibreChat


class LibreChat(Format):
    """One conversation, of which the file has the branch that was shown, all branches in a list, or a tree.

    A file of all branches does not say which was shown: it is taken to be the one with the newest message.
    """

    name = "librechat"
    label = "LibreChat"
    description = _("LibreChat conversation (JSON)")

    def score(self, clue: Clue) -> float:
        is_whole = {"conversationId", "exportAt"} <= clue.top.keys() and clue.under in ("", "messages", "messagesTree")
        return 0.9 if is_whole or clue.has("messageId", "isCreatedByUser") else 0.0

    def read(self, upload: Upload) -> Iterator[Item]:
        """Yield a conversation for each file."""
        for member in upload.members:
            with upload.open_text(member) as text:
                for found in map(as_object, read_objects(read_nodes(text))):
                    yield read_librechat_conversation(found)


_NO_PARENT = "00000000-0000-0000-0000-000000000000"


def read_librechat_conversation(found: Mapping[str, Any]) -> Item:
    """Return a conversation, or why it is none."""
    title = read_title(found.get("title"))
    messages = list(_flatten(found.get("messagesTree") or found.get("messages")))
    if not messages:
        detail = "This is not a conversation from LibreChat."
        return Omission(LeftOut.MALFORMED, label=title, detail=detail)
    draft = follow_turns([_read_librechat_message(message) for message in messages])
    started = messages[0].get("createdAt")
    return draft.finish(title=title, source_id=found.get("conversationId"), started=started)


def _flatten(messages: Any) -> Iterator[Mapping[str, Any]]:
    for message in map(as_object, as_list(messages)):
        if "isCreatedByUser" in message:
            yield message
        yield from _flatten(message.get("children"))


def _read_librechat_message(message: Mapping[str, Any]) -> Turn:
    left_out = Counter({LeftOut.ATTACHMENT: len(as_list(message.get("files")))})
    texts = []
    for part in map(as_object, as_list(message.get("content"))):
        match part.get("type"):
            case "text":
                text = part.get("text")
                texts.append(read_text(text if isinstance(text, str) else as_object(text).get("value")))
            case "think":
                left_out[LeftOut.THINKING] += 1
            case "tool_call":
                left_out[LeftOut.TOOL] += 1
            case _:
                left_out[LeftOut.ATTACHMENT] += 1
    text = "\n\n".join(filter(None, texts)) or read_text(message.get("text"))
    if message.get("error"):  # what the program says instead of a reply
        text, left_out = "", Counter({LeftOut.HIDDEN: 1})
    parent, said_at = message.get("parentMessageId"), read_time(message.get("createdAt"))
    return Turn(
        source_id=str(message.get("messageId") or ""),
        parent=None if parent == _NO_PARENT else parent,
        role="user" if message.get("isCreatedByUser") else "assistant",
        text=text,
        said_at=said_at,
        left_out=left_out,
    )


# LobeHub

# Tables of its database in a backup. Other names than those of our own export of everything.
_LOBE_TABLES = frozenset(
    {"userSettings", "userInstalledPlugins", "agents", "agentsToSessions", "aiModels", "aiProviders", "messageChunks"}
    | {"messagePlugins", "messageTranslates", "messages", "sessionGroups", "sessions", "threads", "topics"}
)
_TITLED = frozenset({"sessions", "threads", "topics"})


class LobeHub(Format):
    """A backup (tables under `data`, before 2025 under `state`), or one exported topic.

    A topic is a conversation; what was said outside of one belongs to its session.
    """

    name = "lobehub"
    label = "LobeHub"
    description = _("LobeHub (LobeChat) backup or topic (JSON)")

    def score(self, clue: Clue) -> float:
        if len(clue.path) == 2 and clue.path[1] in _LOBE_TABLES:
            return 1.0
        is_topic = "exportedAt" in clue.top and clue.path == ("messages",) and clue.has("role", "content", "createdAt")
        return 0.9 if is_topic or {"exportType", "state"} <= clue.top.keys() else 0.0

    def read(self, upload: Upload) -> Iterator[Item]:
        """Yield the conversations of each file, in the order in which they begin in it."""
        for member in upload.members:
            groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = defaultdict(list)
            titles: dict[str, str] = {}
            single: dict[str, Any] = {}
            with upload.open_text(member) as text:
                for table, row in _list_lobe_rows(read_nodes(text), single):
                    if table == "messages":
                        where = (row.get("topicId") or row.get("sessionId") or row.get("agentId"), row.get("threadId"))
                        groups[tuple(str(name) for name in where if name)].append(row)
                    elif table in _TITLED:
                        title = row.get("title") or as_object(row.get("meta")).get("title")
                        titles[str(row.get("id"))] = read_title(title)
            titles[""] = read_title(single.get("title"))
            for names, rows in groups.items():
                title = next(filter(None, (titles.get(name) for name in (*reversed(names), ""))), "")
                yield _read_lobe_messages(rows).finish(title=title, source_id="/".join(names))


def _list_lobe_rows(nodes: Iterator[Any], single: dict[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the rows with their tables; values at the top of the file go to `single`."""
    for node in nodes:
        if node.is_element and node.path:
            yield node.path[-1], as_object(node.value)
        elif node.path == ("state",):
            for table, rows in as_object(node.value).items():
                yield from ((table, as_object(row)) for row in as_list(rows))
        elif node.path and node.path[0] != NESTED:
            collect(single, node)


def _read_lobe_messages(rows: Sequence[Mapping[str, Any]]) -> Draft:
    rows = sorted(rows, key=lambda row: read_time(row.get("createdAt")) or datetime.max.replace(tzinfo=UTC))
    turns = []
    for row in rows:
        left_out = Counter({LeftOut.THINKING: bool(row.get("reasoning")), LeftOut.TOOL: len(as_list(row.get("tools")))})
        # Without a parent a message of the person follows what was said before it.
        name, parent, said_at = str(row.get("id") or ""), row.get("parentId") or "", read_time(row.get("createdAt"))
        turns.append(Turn(name, parent, row.get("role"), read_text(row.get("content")), said_at, left_out))
    return follow_turns(turns, _find_shown(rows))


def _find_shown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the ID of the newest message that is on no branch but those that the person chose."""
    links = [(str(row.get("id") or ""), str(row.get("parentId") or "")) for row in rows]
    branches: dict[str, list[str]] = defaultdict(list)
    for name, parent in links:
        branches[parent].append(name)
    hidden: set[str] = set()
    newest = ""
    for row, (name, parent) in zip(rows, links, strict=True):
        chosen = as_object(row.get("metadata")).get("activeBranchIndex")
        if isinstance(chosen, int) and 0 <= chosen < len(branches[name]):
            hidden.update(other for other in branches[name] if other != branches[name][chosen])
        if name in hidden or parent in hidden:
            hidden.add(name)
        else:
            newest = name
    return newest


# SillyTavern


class SillyTavern(Format):
    """A chat with a character: a line about it, then a line for each message, of which the chosen version counts."""

    name = "sillytavern"
    label = "SillyTavern"
    description = _("SillyTavern chats (JSON lines, or an archive of them)")

    def score(self, clue: Clue) -> float:
        known = clue.has("is_user", "mes") or clue.has("user_name", "character_name")
        return 0.9 if known or {"user_name", "character_name"} <= clue.top.keys() else 0.0

    def read(self, upload: Upload) -> Iterator[Item]:
        """Yield a conversation for each file."""
        seen: set[str] = set()
        for member in upload.members:
            with upload.open_text(member) as text:
                rows = [as_object(value) for value in read_objects(read_nodes(text))]
            yield from _read_tavern_chat(rows, seen, file=member.name)


_HUMANIZED = re.compile(r"(\d{4})-(\d\d?)-(\d\d?) ?@(\d\d?)h ?(\d\d?)m ?(\d\d?)s")
_UNUSED = "unused"  # what newer versions write in place of names


def _read_tavern_chat(rows: Sequence[Mapping[str, Any]], seen: set[str], *, file: str) -> Iterator[Item]:
    draft = Draft()
    head = next((row for row in rows if "character_name" in row), {})
    names = [head.get("character_name"), *(row.get("name") for row in rows if "mes" in row and not row.get("is_user"))]
    title = next((title for title in map(read_title, names) if title and title != _UNUSED), "")
    for row in rows:
        if "mes" in row:
            _read_tavern_message(row, draft)
        elif row is not head:
            yield Omission(LeftOut.MALFORMED, label=title, detail="This is not a message from SillyTavern.")
    about = as_object(head.get("chat_metadata"))
    first = draft.messages[0].content if draft.messages else ""
    source = name_source(title, head.get("create_date"), about.get("integrity"), about.get("main_chat"), first)
    if source in seen:  # a branch is kept as a copy, which may tell nothing but its file's name
        source = name_source(source, file)
    seen.add(source)
    yield draft.finish(title=title, source_id=source, started=_read_tavern_time(head.get("create_date")))


def _read_tavern_message(row: Mapping[str, Any], draft: Draft) -> None:
    extra = as_object(row.get("extra"))
    draft.left_out[LeftOut.OTHER_BRANCH] += max(0, len(as_list(row.get("swipes"))) - 1)
    draft.left_out[LeftOut.THINKING] += bool(extra.get("reasoning"))
    # A narrator, a comment or the program itself. `is_system` alone only keeps a message from the model.
    role = "user" if row.get("is_user") else "system" if extra.get("type") else "assistant"
    files = bool(extra.get("image") or extra.get("file") or extra.get("media"))
    said_at = read_time(_read_tavern_time(row.get("send_date")))
    draft.say(role, read_text(row.get("mes")), said_at=said_at, attachments=files)


def _read_tavern_time(value: Any) -> Any:
    """Return a time that `read_time` reads: milliseconds, ISO 8601, or the two forms of SillyTavern's own."""
    text = str(value or "").strip()
    try:
        if found := _HUMANIZED.match(text):
            year, month, day, hour, minute, second = map(int, found.groups())
            return datetime(year, month, day, hour, minute, second, tzinfo=UTC).isoformat()
        return datetime.strptime(text, "%B %d, %Y %I:%M%p").replace(tzinfo=UTC).isoformat()
    except ValueError:
        return read_number(text)
