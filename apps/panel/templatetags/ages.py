"""``{% load ages %}{% age time %}``: how long ago; ``{% days start end %}``: when something was. Exact on hover."""

from __future__ import annotations

from datetime import datetime

from django import template
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import gettext as _

from apps.core.times import list_ends

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
    """How long ago a time was, in words."""
    now = timezone.now()
    if time > now:
        return date_format(timezone.localtime(time), "DATE_FORMAT")
    if (now - time).total_seconds() < 60:
        return _("just now")
    return _("%(time)s ago") % {"time": timesince(time, now, depth=1)}
