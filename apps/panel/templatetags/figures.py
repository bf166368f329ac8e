"""Numbers and names as the panel shows them: `grouped`, `percent`, `copy_kind`."""

from __future__ import annotations

from django import template
from django.utils.formats import number_format
from django.utils.translation import gettext_lazy as _

register = template.Library()

_COPY_KINDS = {
    "long_term": _("long-term memory"),
    "atomic": _("atomic memory"),
    "working": _("working memory"),
    "topic": _("current topic"),
    "profile": _("user profile"),
    "summary": _("summary"),
    "title": _("title of a conversation"),
    "context": _("shared context"),
}


@register.filter
def grouped(number: int) -> str:
    """A number with separators: 100,000."""
    return number_format(number, use_l10n=True, force_grouping=True)


@register.filter
def percent(share: float) -> str:
    """A share from 0 to 1 as whole percent: 0.93 is 93%."""
    return f"{number_format(round(share * 100), use_l10n=True)}%"


@register.filter
def copy_kind(kind: str) -> str:
    """What a `MemoryCopy` is, in words."""
    return str(_COPY_KINDS.get(kind, kind))
