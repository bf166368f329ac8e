"""Tags and filters of the panel's templates."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import template
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import gettext as _

from apps.accounts.spaces import get_colour
from apps.core.times import MOMENT, list_ends
from apps.core.words import find_emotion, word
from apps.memory.models import Status
from apps.panel.links import link_memory, link_message
from apps.panel.texts import shorten_same, word_difference
from apps.panel.words import has_name, name_row, show_value

register = template.Library()


@register.simple_tag
def age(time: datetime | None) -> SafeString | str:
    """A ``<time>`` that says "3 hours ago", and the date for what is to come; a dash for none."""
    if time is None:
        return "–"
    exact = date_format(timezone.localtime(time), "DATETIME_FORMAT")
    return format_html('<time datetime="{}" title="{}">{}</time>', time.isoformat(), exact, tell_age(time))


@register.simple_tag
def days(start: datetime | None, end: datetime | None = None) -> SafeString | str:
    """The days of a stretch of time whose end is not part of it: one date, or the first and the last."""
    if start is None:
        return ""
    local = timezone.localtime(start)
    exact = " – ".join(date_format(timezone.localtime(time), "DATETIME_FORMAT") for time in (start, end) if time)
    first, last = list_ends(local, end)
    text = date_format(first, "DATE_FORMAT")
    if last != first:
        text = f"{text} – {date_format(last, 'DATE_FORMAT')}"
    return format_html('<time datetime="{}" title="{}">{}</time>', local.isoformat(), exact, text)


def tell_age(time: datetime) -> str:
    now = timezone.now()
    if time > now:
        return date_format(timezone.localtime(time), "DATE_FORMAT")
    if (now - time).total_seconds() < 60:
        return _("just now")
    return _("%(time)s ago") % {"time": timesince(time, now, depth=1)}


_TAGS = {"same": "span", "gone": "del", "new": "ins"}


@register.simple_tag
def difference(before: Any, after: Any, whole: bool = False) -> SafeString:
    """Both values in one text: what is gone in ``<del>``, what is new in ``<ins>``. None is an empty text.

    A value that is no text is compared as the JSON that a person reads. Of long texts only what is near to a change is
    shown, unless `whole`.
    """
    parts = word_difference(show_value(before), show_value(after))
    if not whole:
        parts = shorten_same(parts)
    if all(kind == "same" for kind, _text in parts):
        return format_html('<span class="difference difference--none">{}</span>', _("no difference"))
    told = format_html_join("", "<{0}>{1}</{0}>", ((_TAGS[kind], text) for kind, text in parts))
    return format_html('<span class="difference" dir="auto">{}</span>', told)


@register.filter
def grouped(number: int) -> str:
    """A number with separators: 100,000."""
    return number_format(number, use_l10n=True, force_grouping=True)


@register.filter
def percent(share: float) -> str:
    """A share from 0 to 1 as whole percent: 0.93 is 93%."""
    return f"{number_format(round(share * 100), use_l10n=True)}%"


register.filter("has_name", has_name)
register.filter("row_name", name_row)
register.filter("word", lambda name, kind: word(kind, name))


register.simple_tag(link_memory, name="memory_url")


def link_conversation(session: Any, message_id: Any = None) -> SafeString:
    """A link to a conversation, by its title; with `message_id`, at that message."""
    link = link_message(session.pk, message_id) or reverse("admin:conversations_session_change", args=[session.pk])
    return format_html('<a href="{}" dir="auto">{}</a>', link, session.title or _("Untitled conversation"))


def chip(words: Any, tone: str = "") -> SafeString:
    """Words as a chip; ``tone``: its colour."""
    return format_html('<span class="chip{}">{}</span>', f" chip--{tone}" if tone else "", words)


@register.simple_tag
def space_chip(space: Any) -> SafeString | str:
    """The name of a space beside its colour; nothing for what is everywhere."""
    if space is None:
        return ""
    return format_html('<span class="chip chip--space space--{}"><bdi>{}</bdi></span>', get_colour(space), space.name)


@register.simple_tag
def until_chip(memory: Any) -> SafeString | str:
    """Until which day a memory holds, or held (D3); nothing for one that holds for good."""
    if memory.valid_until is None:
        return ""
    day = date_format(timezone.localtime(memory.valid_until) - MOMENT, "DATE_FORMAT")
    is_over = memory.valid_until <= timezone.now()
    words = _("over since %(day)s") if is_over else _("until %(day)s")
    return chip(words % {"day": day}, "grey" if is_over else "blue")


@register.simple_tag
def sensitive_chips(memory: Any) -> SafeString:
    """The sensitive categories that a memory is marked with (D4)."""
    chips = [(word("sensitive", mark),) for mark in memory.sensitive]
    title = _("Marked as sensitive")
    return format_html_join(" ", f'<span class="chip chip--amber" title="{title}">{{}}</span>', chips)


@register.simple_tag
def emotion_chip(name: str, category: str = "") -> SafeString:
    emotion = find_emotion(name, category)
    return chip(emotion.title, emotion.tone)


@register.filter
def status_word(name: str) -> str:
    return str(Status(name).label)


@register.simple_tag
def width(percent: float, whole: float) -> str:
    """A number for a style: with a point in every language, from 0 to 100 percent, as a share of `whole` if not 1."""
    return f"{max(0.0, min(percent, 100.0)) / whole:.3f}"


@register.filter
def places(number: float, count: int) -> str:
    """A number with so many decimal places, as both languages of the panel write it.

    There are a thousand of them on the page, for each of which ``floatformat`` takes twenty times as long.
    """
    return f"{number:.{count}f}"
