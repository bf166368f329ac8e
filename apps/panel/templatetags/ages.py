"""``{% load ages %}{% age time %}``: how long ago, with the exact time on hover."""

from __future__ import annotations

from datetime import datetime

from django import template
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import gettext as _

register = template.Library()


@register.simple_tag
def age(time: datetime | None) -> SafeString | str:
    """A ``<time>`` that says "3 hours ago", and the date for what is to come; a dash for none."""
    if time is None:
        return "–"
    exact = date_format(timezone.localtime(time), "DATETIME_FORMAT")
    return format_html('<time datetime="{}" title="{}">{}</time>', time.isoformat(), exact, tell_age(time))


def tell_age(time: datetime) -> str:
    """How long ago a time was, in words."""
    now = timezone.now()
    if time > now:
        return date_format(timezone.localtime(time), "DATE_FORMAT")
    if (now - time).total_seconds() < 60:
        return _("just now")
    return _("%(time)s ago") % {"time": timesince(time, now, depth=1)}
