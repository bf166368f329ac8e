"""A JSON value as text to be searched and shown."""

from __future__ import annotations

from typing import Any


def json_text(value: Any) -> str:
    """The words of a JSON value in order, spaces between them, keys included: {"城市": ["北京"]} → "城市 北京".

    Numbers are written as JSON writes them, 3.0 as 3; true, false and null say nothing and are left out.
    """
    parts: list[str] = []
    todo = [value]
    while todo:
        match todo.pop():
            case str() as text:
                parts.append(text)
            case None | bool():
                pass
            case float() as number if number.is_integer():
                parts.append(str(int(number)))
            case dict() as mapping:
                todo.extend(item for pair in reversed(mapping.items()) for item in reversed(pair))
            case list() | tuple() as items:
                todo.extend(reversed(items))
            case number:
                parts.append(str(number))
    return " ".join(parts)
