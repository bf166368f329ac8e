"""A JSON value as text: to be searched, and to be read by people and models. Pure."""

from __future__ import annotations

import json
from typing import Any

from apps.core.text.scripts import holds_chinese


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


def readable_text(value: Any) -> str:
    """A JSON value as people write it: ["tea", "jam"] → "tea, jam", {"城市": "北京"} → "城市：北京". Null is nothing.

    Where an item holds a comma itself, semicolons separate; what is nested is put in brackets.
    """
    return _read_out(value, nested=False)


def _read_out(value: Any, *, nested: bool) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case dict():
            texts = [(str(key), _read_out(item, nested=True)) for key, item in value.items()]
            parts = [f"{key}{'：' if holds_chinese(key + text) else ': '}{text}" for key, text in texts]
            separators = ("；", "; ")
        case list():
            parts = [_read_out(item, nested=True) for item in value]
            separators = ("；", "; ") if any("," in part or "、" in part for part in parts) else ("、", ", ")
        case _:
            return json.dumps(value)
    chinese = holds_chinese("".join(parts))
    text = separators[0 if chinese else 1].join(parts)
    if not nested:
        return text
    return f"（{text}）" if chinese else f"({text})"
