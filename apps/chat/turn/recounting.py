"""The reply to "what do you remember about me?" (L9): everything active, from the store, in the message's language.

The turn composes it, so that it is complete and true whatever model answers otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.accounts.models import User
from apps.accounts.types import MemorySettings
from apps.core.text.json_text import readable_text
from apps.core.text.scripts import holds_chinese
from apps.memory.models import LongTermMemory
from apps.memory.selectors import list_atomic_memories, list_memories
from apps.memory.services import CommandResult, Outcome
from apps.profile.services import get_user_profile

LISTED = 50
"""Memories of each kind that the reply lists; the panel shows them all."""

_DONE = {
    Outcome.STORED: gettext_lazy("Stored: %(text)s"),
    Outcome.KNOWN: gettext_lazy("Already remembered: %(text)s"),
    Outcome.WAITING: gettext_lazy("Stored, waiting for your review: %(text)s"),
    Outcome.FORGOTTEN: gettext_lazy("Forgotten: %(text)s"),
    Outcome.NOT_FOUND: gettext_lazy("Not forgotten, as no single memory plainly says it: %(text)s"),
}
_SECTIONS = {
    "reply_style": gettext_lazy("Reply style"),
    "language_habits": gettext_lazy("Language habits"),
    "background": gettext_lazy("Background"),
}
_CATEGORIES = {
    "fact": gettext_lazy("Facts"),
    "preference": gettext_lazy("Preferences"),
    "pattern": gettext_lazy("Habits"),
}


def compose_memory_list_reply(
    *, user: User, message: str, settings: MemorySettings, results: Sequence[CommandResult], recalls: bool
) -> str:
    """Return the reply, in Markdown. `results`: what else the message asked of the memory, and what was done.

    `recalls`: whether anything remembered may be read (not in a temporary session, C7).
    """
    with translation.override("zh-hans" if holds_chinese(message) else "en"):
        if not recalls:
            return _("This is a temporary conversation: nothing is read from memory here, and nothing is stored.")
        done = [line for result in results for line in _list_done(result)]
        groups = [*_list_profile(user), *_list_long_term(user), *_list_atomic(user, settings)]
        if groups:
            groups.insert(0, _("This is everything I remember about you:"))
        else:
            groups = [_("I do not remember anything about you yet.")]
        return "\n\n".join([*done, *groups])


def _list_done(result: CommandResult) -> Iterator[str]:
    if result.status not in _DONE:
        return
    for text in [result.said] if result.status is Outcome.NOT_FOUND else result.texts[:LISTED]:
        yield _DONE[result.status] % {"text": text}


def _list_profile(user: User) -> Iterator[str]:
    profile = get_user_profile(user=user)
    if profile is not None and not profile.is_empty:
        lines = [f"{_SECTIONS.get(name, name)}: {text}" for name, text in profile.texts.items()]
        yield _write_group(_("Profile"), lines)


def _list_long_term(user: User) -> Iterator[str]:
    active = list_memories(user).filter(status="active")
    shown = list(active[:LISTED])
    for category, title in _CATEGORIES.items():
        lines = [_mark(_describe(memory), muted=memory.muted) for memory in shown if memory.category == category]
        if lines:
            yield _write_group(str(title), lines)
    if len(shown) == LISTED:
        yield from _count_more(active.count() - LISTED, page="admin:memory_longtermmemory_changelist")


def _list_atomic(user: User, settings: MemorySettings) -> Iterator[str]:
    active = list_atomic_memories(user).filter(status="active").order_by("-timestamp", "-id")
    shown = list(active[:LISTED])
    days = groupby(shown, key=lambda memory: memory.timestamp.astimezone(settings.zone).date())
    for at, (day, memories) in enumerate(days):
        group = _write_list([_mark(memory.content, muted=memory.muted) for memory in memories])
        yield "\n".join([*([f"**{_('From your conversations')}**\n"] if at == 0 else []), f"{day}\n", group])
    if len(shown) == LISTED:
        yield from _count_more(active.count() - LISTED, page="admin:memory_atomicmemory_changelist")


def _count_more(count: int, *, page: str) -> Iterator[str]:
    if count > 0:
        yield ngettext(
            "… and %(count)s more. All of them are in the memory panel: %(address)s",
            "… and %(count)s more. All of them are in the memory panel: %(address)s",
            count,
        ) % {"count": count, "address": reverse(page)}


def _mark(text: str, *, muted: bool) -> str:
    return f"{text} {_('(muted)')}" if muted else text


def _describe(memory: LongTermMemory) -> str:
    return f"{memory.key}: {readable_text(memory.value)}"


def _write_group(title: str, lines: Sequence[str]) -> str:
    return f"**{title}**\n\n{_write_list(lines)}"


def _write_list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {' '.join(line.split())}" for line in lines)
