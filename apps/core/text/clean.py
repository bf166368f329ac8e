"""What can be stored of a text or a JSON value, how long it is, and how it reads. Pure.

Neither JSON in PostgreSQL nor UTF-8 can hold U+0000, lone surrogates, and numbers that are not finite. A client that
sends one gets a 400 naming it (``find_forbidden``); a model's answer is cleaned instead (``clean_text``,
``clean_json``), as nobody is there to correct it.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from typing import Any

from apps.core.text.segment import holds_chinese

_FORBIDDEN = re.compile("[\x00\ud800-\udfff]")

_BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}

# Levels of nesting accepted in a JSON value: far more than any memory needs, far below Python's recursion limit.
MAX_DEPTH = 64


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


_ASCII_CHARACTERS_PER_TOKEN = 4
_OTHER_BYTES_PER_TOKEN = 3


def estimate_tokens(text: str) -> int:
    """The estimated number of tokens of `text`, rounded up; 0 for the empty text.

    Four ASCII characters, or three bytes of other UTF-8, are one token: a Chinese character (3 bytes) is one, a
    Cyrillic letter (2 bytes) two thirds, an emoji (4 bytes) one and a third. Monotone: more text is never fewer tokens,
    and the estimate of two texts joined is at most the sum of theirs.
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    ascii_size = len(text.encode("ascii", "ignore"))
    return math.ceil(ascii_size / _ASCII_CHARACTERS_PER_TOKEN + (size - ascii_size) / _OTHER_BYTES_PER_TOKEN)


def cut_to_tokens(text: str, tokens: int) -> str:
    """Return the longest beginning of a text that takes at most so many tokens."""
    low, high = 0, len(text)
    while low < high:  # estimates only grow with the text
        middle = (low + high + 1) // 2
        low, high = (middle, high) if estimate_tokens(text[:middle]) <= tokens else (low, middle - 1)
    return text[:low]


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
