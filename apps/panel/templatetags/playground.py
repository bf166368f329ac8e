"""``{% load playground %}``: what the playground's rows need."""

from __future__ import annotations

from django import template

from apps.panel.playground.rows import name_outcome
from apps.panel.playground.run import Outcome

register = template.Library()


@register.simple_tag
def outcome(became: Outcome) -> str:
    """What became of a memory, in words."""
    return name_outcome(became)


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
