"""Copies of a deleted memory in the profile, its versions and its proposals (L6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from apps.accounts.models import User
from apps.core.text.traces import Traces
from apps.memory.models import Change
from apps.memory.selectors import list_recorded
from apps.memory.services import CopyHolder, MemoryCopy, forget_history
from apps.profile.audit import forget_decisions, list_decided_texts
from apps.profile.document import Document, read_document
from apps.profile.models import ProfileProposal, ProfileVersion, UserProfile
from apps.profile.services import lock_profile, save_version
from apps.profile.types import TEXT_SECTIONS


def _find(*, user: User, traces: Traces) -> Iterator[MemoryCopy]:
    """Name each sentence once for its section, in whichever version or proposal it stands."""
    profile = UserProfile.objects.filter(user=user).first()
    if profile is None:
        return
    named = set()
    for section, text in _list_texts(user):
        if traces.stand_in(section):
            found: tuple[str, ...] = (text,)
        else:
            found = traces.cut_from(text).removed
        for part in found:
            if (section, part) not in named:
                named.add((section, part))
                yield MemoryCopy(kind="profile", id=profile.id, field=section, text=part)


def _list_texts(user: User) -> Iterator[tuple[str, str]]:
    versions = ProfileVersion.objects.filter(user=user).order_by("-version")
    for document in versions.values_list("document", flat=True):
        yield from _read(document).items()
    yield from ProfileProposal.objects.filter(user=user).order_by("created_at", "id").values_list("section", "text")
    yield from list_decided_texts(user)


def _remove(*, user: User, traces: Traces, now: datetime) -> None:
    """Write the document without them as a new version; nothing said before `now` comes back in any section."""
    if next(_find(user=user, traces=traces), None) is None:
        return
    profile = lock_profile(user)
    for version in ProfileVersion.objects.filter(profile=profile):
        document = _read(version.document)
        cut = _cut(document, traces)
        if cut != document:
            version.document = {
                **{name: cut.get(name, "") for name in TEXT_SECTIONS},
                "sections": {name: text for name, text in cut.items() if name not in TEXT_SECTIONS},
            }
            version.save(update_fields=["document"])
    for proposal in ProfileProposal.objects.filter(user=user):
        left = "" if traces.stand_in(proposal.section) else traces.cut_from(proposal.text).text
        if not left:
            proposal.delete()
        elif left != proposal.text:
            proposal.text = left
            proposal.save(update_fields=["text"])
    profile.edited_at, profile.learned_at = (
        {name: time for name, time in times.items() if not traces.stand_in(name)}
        for times in (profile.edited_at, profile.learned_at)
    )
    profile.forgotten_at = now
    document = read_document(profile)
    cut = _cut(document, traces)
    if cut != document:
        save_version(profile, cut, by_hand=True, now=now)
    else:
        profile.save()
    changed = {profile.id} if cut != document else set()
    changed |= list_recorded(user=user, kind=Change.Kind.PROFILE, where=traces.stand_in)
    forget_history(user=user, kind=Change.Kind.PROFILE, object_ids=changed, now=now)
    forget_decisions(user=user, where=traces.stand_in, now=now)


def _read(document: Mapping[str, Any]) -> Document:
    texts = {name: document.get(name, "") for name in TEXT_SECTIONS} | document.get("sections", {})
    return {name: text for name, text in texts.items() if text}


def _cut(document: Document, traces: Traces) -> Document:
    kept = {name: traces.cut_from(text).text for name, text in document.items() if not traces.stand_in(name)}
    return {name: text for name, text in kept.items() if text}


HOLDER = CopyHolder(find=_find, remove=_remove)
