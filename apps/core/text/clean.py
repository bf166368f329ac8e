"""What neither JSON in PostgreSQL nor UTF-8 can hold: U+0000, lone surrogates, numbers that are not finite.

A client that sends one gets a 400 naming it (``find_forbidden``); a model's answer is cleaned instead (``clean_text``,
``clean_json``), as nobody is there to correct it (SPEC, API).
"""

from __future__ import annotations

import codecs
import math
import re
from typing import Any

_FORBIDDEN = re.compile("[\x00\ud800-\udfff]")

_BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}

MAX_DEPTH = 64
"""Levels of nesting accepted in a JSON value: far more than any memory needs, far below Python's recursion limit."""


def clean_text(text: str) -> str:
    """`text` without U+0000 and lone surrogates, else unchanged."""
    return _FORBIDDEN.sub("", text)


def guess_encoding(begun: bytes) -> str:
    """Return the encoding of a text by its bytes, or the first of them, which may be cut anywhere.

    UTF-8, UTF-16 with a byte order mark, or GB 18030, which most older Chinese files are in.
    """
    if marked := next((name for mark, name in _BYTE_ORDER_MARKS.items() if begun.startswith(mark)), None):
        return marked
    try:
        codecs.getincrementaldecoder("utf-8")().decode(begun)
    except UnicodeDecodeError:
        return "gb18030"
    return "utf-8"


def normalize_line_ends(text: str) -> str:
    """`text` with U+000A for every CR LF and CR: forms on web pages send back no other, and each as CR LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def clean_json(value: Any) -> Any:
    """A copy of a JSON value with every string and key cleaned and numbers that are not finite turned into None.

    Raises ValueError when it is nested deeper than `MAX_DEPTH` levels.
    """
    return _clean_json(value, depth=0)


def _clean_json(value: Any, *, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    match value:
        case str():
            return clean_text(value)
        case dict():
            return {clean_text(str(key)): _clean_json(item, depth=depth + 1) for key, item in value.items()}
        case list() | tuple():
            return [_clean_json(item, depth=depth + 1) for item in value]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value


def find_forbidden(value: Any) -> str | None:
    """Name what in a string or any JSON value cannot be stored, and where ("U+0000", "U+D83D at tags[2]"), or None.

    Looks at every string, key and number. Nesting deeper than `MAX_DEPTH` levels is forbidden too.
    """
    todo: list[tuple[Any, str, int]] = [(value, "", 0)]
    while todo:
        item, path, depth = todo.pop()
        where = f" at {path}" if path else ""
        if depth > MAX_DEPTH:
            return f"nesting deeper than {MAX_DEPTH} levels"
        if isinstance(item, str) and (name := _find_character(item)):
            return name + where
        if isinstance(item, float) and not math.isfinite(item):
            return "a number that is not finite" + where
        if isinstance(item, dict):
            for key in item:
                if name := _find_character(str(key)):
                    return f"{name} in a key{where}"
            children = [(child, f"{path}.{key}" if path else str(key), depth + 1) for key, child in item.items()]
        elif isinstance(item, list | tuple):
            children = [(child, f"{path}[{index}]", depth + 1) for index, child in enumerate(item)]
        else:
            continue
        todo.extend(reversed(children))
    return None


def _find_character(text: str) -> str | None:
    found = _FORBIDDEN.search(text)
    return f"U+{ord(found.group()):04X}" if found else None
