"""Blocks that chat clients and their plugins put into a message of a person: recalled memories, documents, reminders.

They stand between tags, ``<relevant-memories>…</relevant-memories>`` or ``[context]…[/context]``, whose name says what
they are. The model reads them with the message; they are not the person's words, so nothing is learned, titled, found
or done by them. Learning from them would be an echo: what one memory recalled, another would take for said. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from apps.core.text.sentences import Span

_TAG = re.compile(
    r"<(?P<closes>/?)(?P<name>[^\W\d][\w.:-]{0,60}+)(?P<rest>[^<>]{0,300}+)>"
    r"|\[(?P<bracket_closes>/?)(?P<bracket_name>[^\W\d][^\[\]<>\n]{0,60}+)\]"
)
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[^\W\d_a-zA-Z]+")
_MOST_INDENT = 64

# Of these words one has to be in the name. `<p>`, `<config>` or `<rant>` may hold what the person says.
_TELLING = (
    {"attached", "attachment", "attachments", "context", "contexts", "document", "documents", "entities"}
    | {"environment", "facts", "file", "files", "history", "knowledge", "memories", "memory"}
    | {"profile", "rag", "recall", "recalled", "reminder", "reminders", "remembered", "retrieved"}
    | {"snippets", "source", "sources", "summaries", "summary"}
)
_ENDINGS = ("memory", "memories", "context", "记忆", "上下文")
# Clients that wrap everything put the person's own words into tags, too, such as `<context_query>`.
_OWN = frozenset({"feedback", "input", "message", "prompt", "query", "question", "request", "task"})


def cut_client_blocks(text: str) -> str:
    """Return a message without the blocks of clients; "" where it holds nothing else.

    A block begins on a line of its own, or right after another one. One that is not closed is left as it is: better to
    learn a wrong thing, which can be deleted, than to lose what somebody said.
    """
    blocks = list(find_client_blocks(text))
    if not blocks:
        return text
    kept, at = [], 0
    for start, end in blocks:
        kept.append(text[at:start].strip())
        at = end
    return "\n\n".join(filter(None, [*kept, text[at:].strip()]))


def find_client_blocks(text: str) -> Iterator[Span]:
    """Yield where the blocks of clients are in a message, the tags included, in order and apart from each other."""
    if "</" not in text and "[/" not in text:
        return
    done = 0
    for start, end in _find_pairs(text):
        before = text[max(done, start - _MOST_INDENT) : start].rstrip(" \t")
        begins_line = before.endswith("\n") or (not before and start - _MOST_INDENT <= done)
        if start >= done and begins_line:  # what stands in a block is part of it
            yield start, end
            done = end


def _find_pairs(text: str) -> list[Span]:
    """Where tags with a telling name open and close, by the place where they open. Linear in the length of the text."""
    opened: dict[str, list[int]] = {}
    pairs: list[Span] = []
    for tag in _TAG.finditer(text):
        name = tag["name"] or tag["bracket_name"]
        key = f"{tag.group()[0]}{name.lower()}"
        if tag["closes"] or tag["bracket_closes"]:
            if opened.get(key):
                pairs.append((opened[key].pop(), tag.end()))
        elif not (tag["rest"] or "").endswith("/") and _is_telling(name):
            opened.setdefault(key, []).append(tag.start())
    return sorted(pairs)


def _is_telling(name: str) -> bool:
    parts = [part.lower() for part in _PARTS.findall(name)]
    return parts[-1:] != [] and parts[-1] not in _OWN and any(p in _TELLING or p.endswith(_ENDINGS) for p in parts)
