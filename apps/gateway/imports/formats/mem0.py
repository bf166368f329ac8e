"""mem0: what `get_all` answers (`{"results": […]}` or a list), its memory export, and the backup of OpenMemory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from apps.gateway.imports.formats.files import Member, Upload
from apps.gateway.imports.formats.json_stream import Node, read_lines_or_document
from apps.gateway.imports.formats.values import as_list, as_object, name_source, read_tag, read_text, read_time
from apps.gateway.imports.types import Item, LeftOut, Omission, PastMemory, Remark

TEXT_FIELDS = ("memory", "data", "content", "text")
LISTS = frozenset({"results", "memories"})

ONE_PAGE = "This file is one page of several. Export the other pages, too, and import each of them."

_STOPPED = frozenset({"archived", "expired"})


def read(upload: Upload) -> Iterator[Item]:
    """Yield the memories of the person that comes first in the file."""
    owners: list[str] = []
    for member in _choose(upload):
        with upload.open_text(member) as text:
            yield from _read_nodes(read_lines_or_document(text), owners)


def _choose(upload: Upload) -> Iterator[Member]:
    """OpenMemory's backup has each memory twice: `memories.json` has its state, too."""
    members = upload.members
    names = {member.name for member in members}
    yield from (member for member in members if not (member.name.endswith(".gz") and "memories.json" in names))


def _read_nodes(nodes: Iterator[Node], owners: list[str]) -> Iterator[Item]:
    others: dict[str, int] = {}
    single: dict[str, Any] = {}
    for node in nodes:
        if node.is_element and (not node.path or node.path[0] in LISTS):
            yield _read_memory(node.value, owners)
        elif node.is_element:
            others[node.path[0]] = others.get(node.path[0], 0) + 1
        elif node.path == ("next",) and node.value:
            yield Remark(ONE_PAGE)
        elif node.path:
            single[node.path[0]] = node.value
    if "memory" in single:  # the file is one memory
        yield _read_memory(single, owners)
    for name, count in others.items():
        reason = LeftOut.RELATION if name == "relations" else LeftOut.UNSUPPORTED
        yield Omission(reason, label=name, count=count)


def _read_memory(value: Any, owners: list[str]) -> Item:
    memory = as_object(value)
    texts = (read_text(memory.get(name)) for name in TEXT_FIELDS)
    content = next(filter(None, texts), "")
    if not memory or not any(name in memory for name in TEXT_FIELDS):
        return Omission(LeftOut.MALFORMED, detail="This is not a memory of mem0.")
    if not content:
        return Omission(LeftOut.EMPTY)
    if memory.get("deleted_at") or memory.get("is_deleted") or "DELETE" in (memory.get("event"), memory.get("state")):
        return Omission(LeftOut.DELETED, label=content[:80])
    state = str(memory.get("state") or "").lower()
    if state == "deleted":
        return Omission(LeftOut.DELETED, label=content[:80])
    owner = str(memory.get("user_id") or "")
    if not owner and memory.get("agent_id"):
        return Omission(LeftOut.ASSISTANT, label=content[:80])
    if not owner and (memory.get("run_id") or memory.get("app_id")):
        return Omission(LeftOut.OTHER_PERSON, label=content[:80])
    if owner:
        owners.append(owner)
        del owners[1:]
        if owner != owners[0]:
            return Omission(LeftOut.OTHER_PERSON, label=owner)
    return PastMemory(
        source_id=str(memory.get("id") or name_source(content)),
        content=content,
        tags=tuple(_read_tags(memory)),
        said_at=read_time(memory.get("created_at")) or read_time(memory.get("updated_at")),
        ended_at=read_time(memory.get("expiration_date")),
        ended=state in _STOPPED,
        muted=state == "paused",
    )


def _read_tags(memory: Mapping[str, Any]) -> Iterator[str]:
    for category in as_list(memory.get("categories")):
        named = category.get("name") if isinstance(category, dict) else category
        if tag := read_tag(named):
            yield tag
