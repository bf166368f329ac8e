"""Tombstones: keyed digests of what a person deleted, by which it is recognised and not learned again (L6).

Of a deleted long-term memory there is one of its key and one of each of its values, since the model that proposes it
again may well word the key in another way; of an atomic memory those of its sentences.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from django.utils.crypto import salted_hmac

from apps.accounts.models import User
from apps.core.text.clean import json_text
from apps.core.text.fold import fold_for_search, normalize_key, normalize_value, strip_accents
from apps.core.text.keywords import extract_keywords, stem
from apps.core.text.segment import words
from apps.memory.keyed import list_items
from apps.memory.models import ForgottenKey

_MIN_VALUE_CHARACTERS = 2  # shorter values (3, 是) are told by too many other memories to be recognised by them

_MAX_WORDS = 50

Said = tuple[str, datetime]  # A content, and when it was said


def digest_text(user: User, *, kind: str, text: str) -> str:
    """Return the digest of a text of some kind: of no use without the installation's secret key, or for another user.

    `text` is in the form in which sameness is decided, such as a normalised key, or a keyword, which has no accents.
    """
    plain = strip_accents(text)
    return salted_hmac(f"jiyi.forgotten.{kind}.{user.pk}", plain, algorithm="sha256").hexdigest()


def digest_key(user: User, normalized_key: str) -> str:
    """Return the digest of a normalised key."""
    return digest_text(user, kind="key", text=normalized_key)


def digest_values(user: User, value: Any) -> set[str]:
    """Return the digests of a value: of the whole and of each item; none where it says too little to be recognised."""
    forms = {normalize_value(part) for part in (value, *list_items(value)) if not isinstance(part, bool)}
    return {digest_text(user, kind="value", text=form) for form in forms if len(form) >= _MIN_VALUE_CHARACTERS}


def digest_content(user: User, content: str) -> str:
    """Return the digest of the content of an atomic memory."""
    return digest_text(user, kind="atomic", text=normalize_value(content))


def find_tombstones(user: User, digests: Iterable[str]) -> dict[str, datetime]:
    """Return when each of the digests was deleted, for those that were; one query."""
    found = ForgottenKey.objects.filter(user=user, digest__in=set(digests))
    return dict(found.values_list("digest", "forgotten_at"))


def add_tombstones(*, user: User, digests: Iterable[str], now: datetime) -> None:
    """Remember that these were deleted now."""
    ForgottenKey.objects.bulk_create(
        [ForgottenKey(user=user, digest=digest, forgotten_at=now) for digest in sorted(set(digests))],
        batch_size=5_000,
        update_conflicts=True,
        unique_fields=["user", "digest"],
        update_fields=["forgotten_at"],
    )


def clear_tombstones(*, user: User, digests: Iterable[str]) -> None:
    """Let what its owner wrote anew be learned again."""
    ForgottenKey.objects.filter(user=user, digest__in=set(digests)).delete()


def find_deleted(user: User, said: Collection[Said]) -> set[Said]:
    """Return those that were deleted since they were said: themselves, or a value they are about. One query."""
    digests = {content: _digest_mentions(user, content) for content, _said_at in said}
    buried = find_tombstones(user, {digest for found in digests.values() for digest in found})
    return {
        (content, said_at)
        for content, said_at in said
        if any(digest in buried and said_at <= buried[digest] for digest in digests[content])
    }


def _digest_mentions(user: User, content: str) -> set[str]:
    """The digests under which the content, or a value that it is about, may have been deleted."""
    values = {normalize_value(word) for word in extract_keywords(content, limit=_MAX_WORDS)}
    return {digest_content(user, content), *(digest_text(user, kind="value", text=value) for value in values if value)}


def keep_learnable(
    user: User, key: str, value: Any, *, said_at: datetime, message_text: str, forgotten: Mapping[str, datetime]
) -> Any:
    """Return what of `value` may be learned, None when nothing may; of a list the items that may.

    Of what was deleted: nothing said before that. What was said since must occur in the message itself, as a model
    still sees earlier messages in its window and repeats from them.
    """
    key_forgotten_at = forgotten.get(digest_key(user, normalize_key(key)))

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
