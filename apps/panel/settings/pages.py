"""The settings (G1): one's own, and for staff the global ones and anybody's. They hold from the next turn on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.accounts.models import User
from apps.accounts.selectors import Origin, SettingValue, list_setting_values
from apps.accounts.services.people import update_settings
from apps.accounts.types import PREFIX
from apps.core.errors import InvalidInput
from apps.core.version import VERSION
from apps.panel.links import link_page
from apps.panel.owned import sees_everybody
from apps.panel.pages import PanelPage
from apps.panel.settings.controls import GROUPS, WEIGHT_LABELS, Control, Kind, list_controls, list_zones


@dataclass(frozen=True, slots=True)
class Row:
    """One setting on the page. `value`: what its control holds; `problem`: why that was refused."""

    control: Control
    value: Any
    origin: str
    own: bool
    inherited: str
    problem: str = ""

    @property
    def text(self) -> str:
        """The value as an input holds it, in no language."""
        return "" if self.value is None else _show_number(self.value)

    @property
    def step(self) -> str:
        """Of a slider or a number; one that a finer value would be rounded to is none."""
        if self.control.whole:
            return "1"
        fine = isinstance(self.value, float) and round(self.value, 2) != self.value
        return "any" if fine or self.control.kind is Kind.NUMBER else "0.01"

    @property
    def weights(self) -> list[tuple[str, str, str]]:
        """The parts of the score: name, words, weight."""
        return [(name, str(label), _show_number(self.value[name])) for name, label in WEIGHT_LABELS.items()]


class SettingsPage(PanelPage):
    """``?scope=global``: what holds for everybody who changed nothing; only with the permission to change settings."""

    title = gettext_lazy("Settings")
    template_name = "panel/settings/page.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        return self._show(request)

    def post(self, request: HttpRequest) -> HttpResponse:
        subject = self._find_subject(request)
        controls = list_controls()
        now = list_setting_values(subject)
        if (name := request.POST.get("restore", "").removeprefix(PREFIX)) in controls:
            update_settings(user=subject, changes={f"{PREFIX}{name}": None})
            messages.success(request, _("“%(label)s” was reset to its default.") % {"label": controls[name].label})
            return HttpResponseRedirect(self._address(request))
        entered = {name: control.read(request.POST) for name, control in controls.items()}
        changes = {name: value for name, value in entered.items() if value != now[name].value}
        try:
            update_settings(user=subject, changes={controls[name].key: value for name, value in changes.items()})
        except InvalidInput as error:
            return self._show(request, entered=entered, problems=error.fields, status=400)
        after = list_setting_values(subject)
        count = sum(now[name].value != after[name].value for name in changes)
        text = ngettext("%(count)s setting was changed.", "%(count)s settings were changed.", count)
        told = text % {"count": count} if count else _("No changes to save.")
        messages.success(request, told)
        return HttpResponseRedirect(self._address(request))

    def _find_subject(self, request: HttpRequest) -> User | None:
        """Whose settings: a person's, or None for the global ones; nobody changes those without permission."""
        if request.GET.get("scope") != "global":
            return self.owner
        if not may_change_global(request):
            raise PermissionDenied
        return None

    def _address(self, request: HttpRequest) -> str:
        if request.GET.get("scope") == "global":
            return link_page("settings", scope="global")
        return link_page("settings", user=self.owner if self.owner != request.user else None)

    def _show(
        self,
        request: HttpRequest,
        *,
        entered: dict[str, Any] | None = None,
        problems: dict[str, Any] | None = None,
        status: int = 200,
    ) -> HttpResponse:
        subject = self._find_subject(request)
        values = list_setting_values(subject)
        rows = {
            name: _make_row(control, values[name], subject, entered or {}, problems or {})
            for name, control in list_controls().items()
        }
        return self.render(
            request,
            status=status,
            subject=subject,
            is_global=subject is None,
            may_change_global=may_change_global(request),
            address=self._address(request),
            mine=link_page("settings"),
            everybodys=link_page("settings", scope="global"),
            groups=[(name, title, [rows[one] for one in names]) for name, title, names in GROUPS],
            zones=list_zones(),
            problems=problems,
            version=VERSION,
        )


def may_change_global(request: HttpRequest) -> bool:
    """Whether who asks may change what holds for everybody."""
    return sees_everybody(request) and request.user.has_perm("accounts.change_setting")


def _show_number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _make_row(
    control: Control, value: SettingValue, subject: User | None, entered: dict[str, Any], problems: dict[str, Any]
) -> Row:
    origins = {
        Origin.OWN: _("custom"),
        Origin.GLOBAL: _("custom") if subject is None else _("set for all users"),
        Origin.ENVIRONMENT: _("from the environment"),
        Origin.DEFAULT: _("default"),
    }
    return Row(
        control=control,
        value=entered.get(control.name, value.value),
        origin=origins[value.origin],
        own=value.origin is (Origin.GLOBAL if subject is None else Origin.OWN),
        inherited=control.show(value.inherited),
        problem=control.rule if control.key in problems else "",
    )
