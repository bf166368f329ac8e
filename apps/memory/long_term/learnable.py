"""What may be learned of a value that was deleted: nothing from earlier messages or queued work (L6).

Of a deleted memory only keyed digests stay: of its key, and of each of its values, since the model that proposes it
again may well word the key in another way.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apps.accounts.models import User
from apps.core.text.fold import fold_for_search, normalize_value
from apps.core.text.json_text import json_text
from apps.core.text.keywords import extract_keywords
from apps.core.text.matching import stem
from apps.core.text.segment import words
from apps.memory.do_not_relearn import allow_again, digest_text
from apps.memory.long_term.changes import list_items

_MIN_VALUE_CHARACTERS = 2
"""Shorter values (3, 是) are told by too many other memories to be recognised by them."""

_MAX_WORDS = 50


def digest_key(user: User, normalized_key: str) -> str:
    """Return the digest of a normalised key, of no use without the installation's secret key and for other users."""
    return digest_text(user, kind="key", text=normalized_key)


def digest_values(user: User, value: Any) -> set[str]:
    """Return the digests of a value: of the whole and of each item; none where it says too little to be recognised."""
    forms = {normalize_value(part) for part in (value, *list_items(value)) if not isinstance(part, bool)}
    return {digest_text(user, kind="value", text=form) for form in forms if len(form) >= _MIN_VALUE_CHARACTERS}


def clear_forgotten(*, user: User, normalized_key: str, value: Any) -> None:
    """The owner wrote it anew: its key and value may be learned again."""
    digests = {digest_key(user, normalized_key), *digest_values(user, value)}
    allow_again(user=user, digests=digests)


def keep_learnable(
    *,
    user: User,
    normalized_key: str,
    key: str,
    value: Any,
    said_at: datetime,
    message_text: str,
    forgotten: Mapping[str, datetime],
) -> Any:
    """Return what of `value` may be learned, None when nothing may; of a list the items that may.

    Of what was forgotten: nothing said before that. What was said since must occur in the message itself, as a model
    still sees earlier messages in its window and repeats from them.
    """
    key_forgotten_at = forgotten.get(digest_key(user, normalized_key))

    def may_learn(part: Any) -> bool:
        times = [forgotten[digest] for digest in digest_values(user, part) if digest in forgotten]
        times += [key_forgotten_at] if key_forgotten_at else []
        return not times or (said_at > max(times) and is_said(key=key, value=part, message_text=message_text))

    if not isinstance(value, list):
        return value if may_learn(value) else None
    kept = [item for item in value if may_learn(item)]
    return value if len(kept) == len(value) else kept or None


def is_said(*, key: str, value: Any, message_text: str) -> bool:
    """Whether every word of the value (of the key, for a value without words such as true) occurs in the message.

    Stop words need not; a value of nothing else (28, 不) is looked for as it is.
    """
    said, text = fold_for_search(message_text), json_text(value)
    folded = words(fold_for_search(text))
    needed = extract_keywords(text, limit=_MAX_WORDS) or folded or extract_keywords(key, limit=_MAX_WORDS)
    return bool(needed) and all(word in said or stem(word) in said for word in needed)
