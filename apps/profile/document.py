"""The document as one mapping of section names to texts, the three fixed ones among them, and what it may hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from apps.core.errors import InvalidInput, TooLarge
from apps.core.text.clean import find_forbidden, normalize_line_ends
from apps.core.text.fold import normalize_key
from apps.profile.models import UserProfile
from apps.profile.types import MAX_NAME_CHARACTERS, MAX_SECTION_CHARACTERS, MAX_SECTIONS, TEXT_SECTIONS

Document = dict[str, str]
"""Sections by name, none of them blank."""


def read_document(profile: UserProfile) -> Document:
    """Return the sections of a stored profile."""
    texts = {name: getattr(profile, name) for name in TEXT_SECTIONS}
    return {name: text for name, text in (texts | profile.sections).items() if text}


def write_document(profile: UserProfile, document: Document) -> None:
    """Set the sections of a profile; saving it is the caller's."""
    for name in TEXT_SECTIONS:
        setattr(profile, name, document.get(name, ""))
    profile.sections = {name: text for name, text in document.items() if name not in TEXT_SECTIONS}


def apply_changes(document: Document, changes: Mapping[str, Any]) -> Document:
    """Return the document with `changes`: texts of `TEXT_SECTIONS` and, under "sections", of others; blank removes one.

    Lines end with U+000A in it, however they were given.

    Raises `InvalidInput` with the reasons by field, or `TooLarge` for a text over `MAX_SECTION_CHARACTERS`.
    """
    if unknown := set(changes) - {*TEXT_SECTIONS, "sections"}:
        raise InvalidInput("Some fields cannot be changed.", fields={name: ["Cannot be changed."] for name in unknown})
    sections = changes.get("sections", {})
    if not isinstance(sections, Mapping):
        raise _refuse("sections", "Must be an object that maps names to texts.")
    fixed = {name: changes[name] for name in TEXT_SECTIONS if name in changes}
    others = {_check_name(name): text for name, text in sections.items()}
    if len(others) < len(sections):
        raise _refuse("sections", "The names must differ.")
    result = dict(document)
    for field, name, text in [(name, name, text) for name, text in fixed.items()] + [
        ("sections", name, text) for name, text in others.items()
    ]:
        result[name] = _check_text(field, name, text)
    result = {name: text for name, text in result.items() if text}
    if sum(name not in TEXT_SECTIONS for name in result) > MAX_SECTIONS:
        raise _refuse("sections", f"There can be at most {MAX_SECTIONS} sections.")
    return result


def _check_name(name: Any) -> str:
    if not isinstance(name, str) or not name.strip():
        raise _refuse("sections", "A section needs a name.")
    name = normalize_line_ends(name).strip()
    if found := find_forbidden(name):
        raise _refuse("sections", f"Must not contain {found}.")
    if len(name) > MAX_NAME_CHARACTERS:
        raise _refuse("sections", f"The name of a section can have at most {MAX_NAME_CHARACTERS} characters.")
    if name in TEXT_SECTIONS:
        raise _refuse("sections", f"{name} is a separate field.")
    return name


def _check_text(field: str, name: str, text: Any) -> str:
    if text is None and field == "sections":
        return ""
    if not isinstance(text, str):
        raise _refuse(field, f"{name} must be text.")
    if found := find_forbidden(text):
        raise _refuse(field, f"Must not contain {found}.")
    text = normalize_line_ends(text).strip()
    check_size(name, text, field=field)
    return text


def check_size(name: str, text: str, *, field: str) -> None:
    """Raise `TooLarge` for a text no section can hold."""
    if len(text) > MAX_SECTION_CHARACTERS:
        message = f"{name} has over {MAX_SECTION_CHARACTERS:,} characters."
        raise TooLarge(message, fields={field: [message]})


def _refuse(field: str, reason: str) -> InvalidInput:
    return InvalidInput(f"{field}: {reason}", fields={field: [reason]})


def find_section(name: str, *, among: Iterable[str]) -> str | None:
    """Return which section a model means by `name`: one of `TEXT_SECTIONS` or of those there are, else None.

    Case, spaces and underscores make no difference, so that "Reply style" is `reply_style`.
    """
    wanted = normalize_key(name.strip())
    return next((known for known in (*TEXT_SECTIONS, *among) if normalize_key(known) == wanted), None)
