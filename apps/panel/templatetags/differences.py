"""``{% load differences %}{% difference before after %}``: what changed, as deletions and insertions."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from apps.panel.differences import shorten_same, word_difference
from apps.panel.values import show_value

register = template.Library()

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
