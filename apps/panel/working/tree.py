"""JSON values as a tree to read. Pure: no Django."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from apps.panel.values import show_value

MAX_DEPTH = 5
"""Below it a value is shown as JSON."""

MAX_CHILDREN = 200
MAX_CHARACTERS = 5_000

Kind = Literal["text", "number", "truth", "nothing", "group"]


@dataclass(frozen=True, slots=True)
class Node:
    """A value under its name. A group has `children`, and `left_out` more that are not shown."""

    name: str
    kind: Kind
    text: str = ""
    children: Sequence[Node] = ()
    left_out: int = 0

    @property
    def count(self) -> int:
        return len(self.children) + self.left_out


def grow_tree(values: Mapping[str, Any]) -> list[Node]:
    """Return the nodes of variables by name, in their order."""
    return [_grow(name, value, depth=1) for name, value in values.items()]


def grow_value(name: str, value: Any) -> Node:
    """Return the node of one value."""
    return _grow(name, value, depth=1)


def _grow(name: str, value: Any, *, depth: int) -> Node:
    if isinstance(value, bool):
        return Node(name=name, kind="truth", text="true" if value else "false")
    if isinstance(value, int | float):
        return Node(name=name, kind="number", text=str(value))
    if value in (None, "", [], {}):
        return Node(name=name, kind="nothing")
    if isinstance(value, dict | list) and value and depth < MAX_DEPTH:
        pairs = (
            list(value.items())
            if isinstance(value, dict)
            else [(str(i), item) for i, item in enumerate(value, start=1)]
        )
        shown = [_grow(child, item, depth=depth + 1) for child, item in pairs[:MAX_CHILDREN]]
        return Node(name=name, kind="group", children=shown, left_out=len(pairs) - len(shown))
    text = show_value(value)
    return Node(name=name, kind="text", text=text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}…")
