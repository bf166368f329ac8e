"""What "forget …" takes out of the profile (SPEC L9): sentences of its sections, undone with the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from apps.accounts.models import User
from apps.core.text.forget_targets import Statement
from apps.core.text.sentences import split_sentences
from apps.memory.history.types import ChangeDraft
from apps.memory.models import Change
from apps.memory.services import StatementHolder
from apps.profile.audit import describe_change, snapshot
from apps.profile.document import Document, read_document
from apps.profile.models import UserProfile
from apps.profile.services import lock_profile, save_version
from apps.profile.types import TEXT_SECTIONS


def _find(user: User) -> Sequence[tuple[tuple[str, int], Statement]]:
    """Each sentence, named by its section and its place in it."""
    profile = UserProfile.objects.filter(user=user, version__gt=0).first()
    return [
        ((section, at), Statement(sentence.strip()))
        for section, text in (read_document(profile) if profile else {}).items()
        for at, sentence in enumerate(split_sentences(text))
    ]


def _remove(user: User, parts: Sequence[tuple[str, int]], now: datetime) -> list[ChangeDraft]:
    """Write the document without them as a new version; nothing said before `now` is learned in any section."""
    profile = lock_profile(user)
    before, document = snapshot(profile), read_document(profile)
    for section in {section for section, _at in parts}:
        sentences = split_sentences(document[section])
        document[section] = "".join(text for at, text in enumerate(sentences) if (section, at) not in parts).strip()
    profile.forgotten_at = now
    save_version(profile, {name: text for name, text in document.items() if text}, by_hand=True, now=now)
    return [describe_change(profile, action=Change.Action.EDIT, before=before)]


def _describe(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    then, now = _sections(before), _sections(after)
    return [
        sentence.strip()
        for section, text in then.items()
        for sentence in split_sentences(text)
        if sentence.strip() not in map(str.strip, split_sentences(now.get(section, "")))
    ]


def _sections(state: Mapping[str, Any]) -> Document:
    return {name: state[name] for name in TEXT_SECTIONS} | state["sections"]


HOLDER = StatementHolder(find=_find, remove=_remove, describe=_describe)
