"""The do-not-relearn list: digests of what was deleted (L6)."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from apps.memory.models import ForgottenKey
from apps.panel.cards import ReadingPage
from apps.panel.owned import ReadOnlyAdmin
from apps.panel.templatetags.ages import age

SHOWN = 12


@admin.register(ForgottenKey)
class ForgottenKeyAdmin(ReadingPage, ReadOnlyAdmin):
    """Deleting an entry allows it to be learned again."""

    list_before_template = "panel/do_not_relearn/words.html"
    change_form_template = "panel/do_not_relearn/key.html"
    list_display = ("fingerprint", "user", "forgotten")
    list_select_related = ("user",)
    list_filter = ("forgotten_at",)
    search_fields = ("user__username",)
    fields = readonly_fields = ("user", "forgotten_at")

    class Media:
        css = {"all": ["panel/remembered.css"]}

    @admin.display(description=_("fingerprint"))
    def fingerprint(self, row: ForgottenKey) -> SafeString:
        return format_html('<span class="fingerprint">{}</span>', row.digest[:SHOWN])

    @admin.display(description=_("deleted at"), ordering="forgotten_at")
    def forgotten(self, row: ForgottenKey) -> SafeString | str:
        return age(row.forgotten_at)

    def describe(self, request: HttpRequest, row: ForgottenKey) -> dict[str, object]:
        return {"key": row, "fingerprint": row.digest[:SHOWN]}
