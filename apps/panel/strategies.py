"""The strategy table in the panel (E2): what it comes to in words, and every row to be edited where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.chat.emotions import NEUTRAL
from apps.chat.models import Strategy
from apps.core.words import word
from apps.panel.owned import StaffAdmin, column
from apps.panel.templatetags.panel import emotion_chip


class RowForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable when it runs
    """A row of the table, whose entries say whose they are: the table's head is no label to a screen reader."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.widget.attrs["aria-label"] = f"{word('emotion', self.instance.emotion)}: {field.label}"


@admin.register(Strategy)
class StrategyAdmin(StaffAdmin):
    """How to reply after which emotion (E2). The neutral row is what a first turn uses, so it stays."""

    list_before_template = "panel/strategies/preview.html"
    list_display = (
        "shown_emotion", "tone", "max_length", "use_memory", "proactive_question", "formality", "emoji_allowed",
    )  # fmt: skip
    list_display_links = ("shown_emotion",)
    list_editable = ("tone", "max_length", "use_memory", "proactive_question", "formality", "emoji_allowed")
    list_filter = ("category", "formality")
    search_fields = ("emotion", "tone")

    class Media:
        css = {"all": ("panel/strategies.css",)}

    shown_emotion = column(
        gettext_lazy("emotion"), lambda strategy: emotion_chip(strategy.emotion, strategy.category), ordering="emotion"
    )

    def get_readonly_fields(self, request: HttpRequest, obj: Strategy | None = None) -> tuple[str, ...]:
        return ("emotion",) if obj else ()

    def has_delete_permission(self, request: HttpRequest, obj: Strategy | None = None) -> bool:
        return super().has_delete_permission(request, obj) and (obj is None or obj.emotion != NEUTRAL)

    def get_changelist_form(self, request: HttpRequest, **kwargs: Any) -> type[RowForm]:
        return super().get_changelist_form(request, **{**kwargs, "form": RowForm})  # type: ignore[no-any-return]

    def describe_list(self, request: HttpRequest, rows: Sequence[Strategy]) -> dict[str, Any]:
        return {
            "preview": [
                (emotion_chip(strategy.emotion, strategy.category), describe_strategy(strategy))
                for strategy in Strategy.objects.all()
            ]
        }


def describe_strategy(strategy: Strategy) -> str:
    """What a row comes to, as one reads it: "Warm, casual, about 250 characters, with memories, …"."""
    length = ngettext("about %(count)s character", "about %(count)s characters", strategy.max_length)
    parts = [
        word("tone", strategy.tone),
        word("formality", strategy.formality).lower(),
        length % {"count": strategy.max_length},
        _("with memories") if strategy.use_memory else _("without memories"),
    ]
    if strategy.proactive_question:
        parts.append(_("asks follow-up questions"))
    if strategy.emoji_allowed:
        parts.append(_("uses emoji"))
    return _(", ").join(parts)
