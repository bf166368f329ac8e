"""The forms in which texts are compared: folded text, the identity of a memory's key, sameness of its value (L3)."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Any

from apps.core.text.clean import clean_text
from apps.core.text.segment import drop_pronouns

# Marks before and after a text that make no other spelling of it.
_AROUND = " .,;:!?。，、；：！？"

_ACCENTED = re.compile("[\u00c0-\u024f\u0300-\u036f\u1e00-\u1eff]")
_ACCENTS = re.compile("(?<=[a-z])[\u0300-\u036f]+")


def fold(text: str) -> str:
    """`text` without differences of width, case and Chinese script: NFKC, casefold, traditional → simplified (OpenCC).

    Whitespace and punctuation stay. U+0000 and lone surrogates, which OpenCC cannot take, are dropped.
    """
    return simplify(fold_form(text))


def fold_form(text: str) -> str:
    """`fold` but for Chinese script."""
    if text.isascii():
        return clean_text(text).lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", clean_text(text)).casefold())


def simplify(text: str) -> str:
    """`text` in simplified characters."""
    if text.isascii():
        return text
    converted: str = get_converter("t2s").convert(text)
    return converted


def fold_for_search(text: str) -> str:
    """`text` folded, and without the accents of Latin letters: who looks for "cafe" finds "café"."""
    return strip_accents(fold(text))


def strip_accents(text: str) -> str:
    """Leave out the accents of Latin letters in lower-case `text`; those of kana and of other alphabets stay."""
    if not _ACCENTED.search(text):
        return text
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text)))


@cache
def get_converter(name: str) -> Any:
    """Return OpenCC's converter from one Chinese script to another: ``t2s`` or ``s2t``."""
    from opencc import OpenCC  # its dictionaries: only where there is Chinese

    return OpenCC(name)


def normalize_key(key: str) -> str:
    """The identity of a memory's key (L3), never empty for a key that is not blank.

    Punctuation, whitespace, underscores, case, script and pronouns make no difference: "my favorite_color" is
    "favorite color", 你喜歡的顏色 is 喜欢的颜色. Symbols that name different things stay different (C, C++, C#).
    """
    return _reduce(key)


def normalize_value(value: Any) -> str:
    """The form of a JSON value in which "the same value again" is decided (L3).

    Strings are reduced as keys are, keeping what changes the meaning (C++, 1.5, -5, 10%, addresses). 3 is 3.0. The
    order of a dict's keys and of a list's items makes no difference, nor do repeated items: lists here are sets (of
    allergies, pets, languages), so a list of one item is that item.
    """
    return _write_canonical(value, _reduce)


def spell_value(value: Any) -> str:
    """The form of a JSON value in which "written alike" is decided: its texts as they stand, but for marks around them.

    Values that are the same (`normalize_value`) may be spelled otherwise: McDonald and mcdonald, 王汎森 and 王泛森.
    """
    return _write_canonical(value, lambda text: " ".join(text.split()).strip(_AROUND) or text)


def _write_canonical(value: Any, write: Callable[[str], str]) -> str:
    canonical = _canonical(value, write)
    return canonical if isinstance(canonical, str) else json.dumps(canonical, ensure_ascii=False, sort_keys=True)


def _canonical(value: Any, write: Callable[[str], str]) -> Any:
    match value:
        case None | bool():
            return json.dumps(value)
        case float() if value.is_integer():
            return str(int(value))
        case int() | float():
            return str(value)
        case str():
            return write(value)
        case dict():
            return dict(sorted(((write(str(key)), _canonical(item, write)) for key, item in value.items()), key=repr))
        case list() | tuple():
            items = {repr(item): item for item in (_canonical(part, write) for part in value)}
            return next(iter(items.values())) if len(items) == 1 else [items[name] for name in sorted(items)]
        case _:
            raise TypeError(f"not a JSON value: {type(value).__name__}")


def _reduce(text: str) -> str:
    folded = " ".join(fold(text).split())
    return _strip_marks(drop_pronouns(folded)) or _strip_marks(folded) or folded


_MARK = re.compile(
    r"(?P<thousands>(?<=\d),(?=\d{3}(?!\d)))"  # 1,000 is 1000
    r"|(?P<minus>(?<![a-z0-9)])[-\u2212](?=\d))"  # -5 is not 5, but 3-5 and covid-19 have no minus
    r"|(?P<decimal>(?<=\d)\.(?=\d))"  # 1.5 is not 15
    r"|(?P<sign>(?<=\d)\s?[%‰]|(?<=[a-z])\#(?![a-z0-9]))"  # 10% is not 10, C# is not C
    r"|(?P<between>(?<=\d)[\W_]+(?=\d))"  # 1/2 is not 12, and 2024-05-01 is 2024/05/01
    r"|(?P<other>[\W_])"
)


def _strip_marks(text: str) -> str:
    """`text` without punctuation and whitespace, except where leaving them out would make another thing of it."""
    if "@" in text or "://" in text:
        return " ".join(map(_strip_address, text.split(" ")))
    return _MARK.sub(_keep_mark, text)


def _strip_address(chunk: str) -> str:
    # An address is made of its punctuation: a.b@c.org is not ab@c.org.
    return chunk.strip(".,;:!?()<>\"'。、《》") if "@" in chunk or "://" in chunk else _MARK.sub(_keep_mark, chunk)


def _keep_mark(found: re.Match[str]) -> str:
    mark = found.group()
    match found.lastgroup:
        case "thousands":
            return ""
        case "minus":
            return "-"
        case "decimal" | "sign":
            return mark.strip()
        case kind:
            symbols = "".join(character for character in mark if unicodedata.category(character).startswith("S"))
            return symbols or (" " if kind == "between" else "")
