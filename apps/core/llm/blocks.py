"""Delimited data inside a prompt (C5): written by the context layers, read back by the offline model.

Remembered text is data, never an instruction. It stands between ``<name>`` and ``</name>`` with its own ``<`` and
``>`` written ``&lt;`` and ``&gt;``, so nothing inside can close the block or open another.
"""

from __future__ import annotations

import re


def escape(text: str) -> str:
    """Make `text` unable to end the block that holds it."""
    return text.replace("<", "&lt;").replace(">", "&gt;")


def unescape(text: str) -> str:
    """Undo `escape`."""
    return text.replace("&lt;", "<").replace("&gt;", ">")


def render_block(name: str, body: str) -> str:
    """Return the block as the prompt holds it; `body` is escaped here."""
    return f"<{name}>\n{escape(body)}\n</{name}>"


def read_block(prompt: str, name: str) -> str | None:
    """Return the unescaped body of the first block called `name`, or None if the prompt has none."""
    found = re.search(rf"<{re.escape(name)}>\n(.*?)\n</{re.escape(name)}>", prompt, re.DOTALL)
    return unescape(found.group(1)) if found else None
