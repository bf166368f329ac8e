"""The settings (G1): one's own, and for staff the global ones and anybody's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, NamedTuple

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import formats
from django.utils.translation import gettext, gettext_lazy, ngettext, pgettext_lazy
from django.utils.translation import gettext as _
from pydantic.fields import FieldInfo

from apps.accounts.models import User
from apps.accounts.selectors import Origin, SettingValue, list_setting_values
from apps.accounts.services.people import update_settings
from apps.accounts.types import PREFIX, Handling, MemorySettings, ScoreWeights, Sensitive, list_timezones
from apps.core.errors import InvalidInput
from apps.core.version import VERSION
from apps.core.words import word
from apps.memory.lifecycle import count_marked
from apps.panel.links import link_page
from apps.panel.owned import sees_everybody
from apps.panel.pages import PanelPage


class Words(NamedTuple):
    """What a setting is called, the unit of its number, and what it means that it has no value."""

    label: Any
    unit: Any = ""
    empty: Any = ""


# Name and title of each part of the page, with its settings in their order; every setting is in one.
GROUPS: tuple[tuple[str, Any, Mapping[str, Words]], ...] = (
    (
        "recall",
        gettext_lazy("Recall"),
        {
            "retrieval_limit": Words(gettext_lazy("Long-term memories per reply")),
            "rag_top_n": Words(gettext_lazy("Atomic memories per reply")),
            "rounds_top_n": Words(gettext_lazy("Past messages per reply")),
            "session_summary_limit": Words(gettext_lazy("Earlier conversations per reply")),
            "semantic_candidates": Words(gettext_lazy("Search by meaning too")),
            "semantic_min_similarity": Words(gettext_lazy("Minimum similarity"), empty=gettext_lazy("automatic")),
            "score_weights": Words(gettext_lazy("Score weights")),
            "recency_half_life_days": Words(gettext_lazy("Half-life of recency"), gettext_lazy("days")),
            "candidate_limit": Words(gettext_lazy("Candidates scored")),
            "max_keywords": Words(gettext_lazy("Keywords per message")),
            "similarity_threshold": Words(gettext_lazy("Minimum search similarity")),
            "enable_agentic_search": Words(gettext_lazy("Let the model search")),
        },
    ),
    (
        "learning",
        gettext_lazy("Learning"),
        {
            "paused": Words(gettext_lazy("Pause remembering")),
            "auto_accept_confidence": Words(gettext_lazy("Auto-accept threshold")),
            "confirm_ends": Words(gettext_lazy("Confirm before a memory ends")),
            "remember_assistant": Words(gettext_lazy("Remember the assistant's words")),
            "remembered_feedback": Words(gettext_lazy("Mention what was remembered")),
            "enable_user_profile": Words(gettext_lazy("Use the profile")),
            "auto_context": Words(gettext_lazy("Create shared contexts")),
            "atomic_content_max_length": Words(gettext_lazy("Longest atomic memory"), gettext_lazy("characters")),
            "emotion_confidence": Words(gettext_lazy("Emotion threshold")),
        },
    ),
    (
        "sensitive",
        gettext_lazy("Sensitive facts"),
        {
            "sensitive": Words(gettext_lazy("What may be remembered")),
        },
    ),
    (
        "prompt",
        gettext_lazy("Conversation"),
        {
            "context_limit": Words(gettext_lazy("Messages in the prompt"), gettext_lazy("messages")),
            "token_budget": Words(gettext_lazy("Token budget"), gettext_lazy("tokens")),
            "summary_threshold": Words(gettext_lazy("Summarise after"), gettext_lazy("messages")),
            "timezone": Words(gettext_lazy("Time zone")),
        },
    ),
    (
        "keeping",
        gettext_lazy("Keeping and forgetting"),
        {
            "working_ttl_minutes": Words(gettext_lazy("Working memory lifetime"), gettext_lazy("minutes")),
            "working_max_bytes": Words(gettext_lazy("Size of working memory"), gettext_lazy("bytes")),
            "working_archive": Words(gettext_lazy("Keep important context")),
            "embedding_retention_days": Words(gettext_lazy("Keep message embeddings for"), gettext_lazy("days")),
            "eviction_threshold": Words(gettext_lazy("Long-term memory limit"), empty=gettext_lazy("no limit")),
            "confidence_floor": Words(gettext_lazy("Clean-up threshold"), empty=gettext_lazy("off")),
            "tidy_after_hours": Words(
                gettext_lazy("Tidy up after"), gettext_lazy("idle hours"), empty=gettext_lazy("only by hand")
            ),
            "tidying_tokens": Words(gettext_lazy("Tokens per tidying run"), gettext_lazy("tokens")),
            "mask_secrets": Words(gettext_lazy("Mask secrets for models")),
            "mask_secrets_in_exports": Words(gettext_lazy("Mask secrets in exports")),
        },
    ),
)
WORDS = {name: words for _group, _title, settings in GROUPS for name, words in settings.items()}

WEIGHT_LABELS = {
    "keyword": gettext_lazy("Match weight"),
    "category": gettext_lazy("Category"),
    "recency": gettext_lazy("Recency"),
    "frequency": gettext_lazy("Frequency"),
    "confidence": gettext_lazy("Confidence"),
}


HANDLINGS = {
    Handling.REMEMBER: pgettext_lazy("handling", "Remember"),
    Handling.REVIEW: pgettext_lazy("handling", "Review first"),
    Handling.EXCLUDE: pgettext_lazy("handling", "Never"),
}


class Kind(StrEnum):
    """How a setting is entered."""

    SWITCH = "switch"
    NUMBER = "number"
    SHARE = "share"
    WEIGHTS = "weights"
    ZONE = "zone"
    HANDLINGS = "handlings"


@dataclass(frozen=True, slots=True)
class Control:
    """How one setting is entered. `minimum` to `maximum`; `whole`: without decimals; `optional`: may stay empty."""

    name: str
    label: str
    help: str
    kind: Kind
    minimum: float | None = None
    maximum: float | None = None
    whole: bool = False
    optional: bool = False
    unit: str = ""
    empty: str = ""

    @property
    def key(self) -> str:
        return f"{PREFIX}{self.name}"

    @property
    def rule(self) -> str:
        """What is accepted, in words."""
        match self.kind:
            case Kind.ZONE:
                return gettext("Must be a time zone name, such as Asia/Shanghai.")
            case Kind.WEIGHTS:
                return gettext("Each must be from 0 to 1, and at least one must be above 0.")
            case Kind.SWITCH:
                return ""
            case Kind.HANDLINGS:
                return gettext("Choose one of the three for each.")
        assert self.minimum is not None, "the registry gives every number a range"
        assert self.maximum is not None, "the registry gives every number a range"
        limits = {"minimum": self._show(self.minimum), "maximum": self._show(self.maximum)}
        if self.whole:
            return gettext("Enter a whole number from %(minimum)s to %(maximum)s.") % limits
        return gettext("Enter a number from %(minimum)s to %(maximum)s.") % limits

    def show(self, value: Any) -> str:
        """A value in words, as the default is shown."""
        match value:
            case None:
                return self.empty
            case bool():
                return gettext("on") if value else gettext("off")
            case dict() if self.kind is Kind.HANDLINGS:
                return " · ".join(f"{word('sensitive', name)}: {HANDLINGS[chosen]}" for name, chosen in value.items())
            case dict():
                return " · ".join(f"{WEIGHT_LABELS[name]} {self._show(share)}" for name, share in value.items())
            case int() | float():
                return f"{self._show(value)} {self.unit}".strip()
        return str(value)

    def read(self, form: Mapping[str, str]) -> Any:
        """The value that a submitted form has for it; what is no number stays text, which the registry refuses."""
        match self.kind:
            case Kind.SWITCH:
                return form.get(self.key) == "on"
            case Kind.WEIGHTS:
                return {name: read_number(form.get(f"{self.key}.{name}", "")) for name in ScoreWeights.model_fields}
            case Kind.HANDLINGS:
                return {one.value: form.get(f"{self.key}.{one}", "") for one in Sensitive}
            case Kind.ZONE:
                return form.get(self.key, "").strip()
        text = form.get(self.key, "").strip()
        return None if not text and self.optional else read_number(text, whole=self.whole)

    @staticmethod
    def _show(number: float) -> str:
        return str(formats.number_format(number if number % 1 else int(number)))


def list_controls() -> dict[str, Control]:
    """Every setting's control, by its name, in the registry's order and the language of who asks."""
    schemas = MemorySettings.model_json_schema()["properties"]
    return {name: _make_control(name, field, schemas[name]) for name, field in MemorySettings.model_fields.items()}


def _make_control(name: str, field: FieldInfo, schema: dict[str, Any]) -> Control:
    types = {option.get("type") for option in schema.get("anyOf", [schema])}
    limits: dict[str, Any] = next((option for option in schema.get("anyOf", [schema]) if "minimum" in option), {})
    kind = (
        Kind.WEIGHTS if name == "score_weights"
        else Kind.HANDLINGS if name == "sensitive"
        else Kind.ZONE if name == "timezone"
        else Kind.SWITCH if "boolean" in types
        else Kind.SHARE if limits.get("maximum") == 1 and "null" not in types
        else Kind.NUMBER
    )  # fmt: skip
    return Control(
        name=name,
        label=str(WORDS[name].label),
        help=gettext(field.description or ""),
        kind=kind,
        minimum=limits.get("minimum"),
        maximum=limits.get("maximum"),
        whole="integer" in types,
        optional="null" in types,
        unit=str(WORDS[name].unit),
        empty=str(WORDS[name].empty),
    )


def read_number(text: str, *, whole: bool = False) -> int | float | str:
    """Return the number of a typed text; the text itself, which the registry refuses, where it is none."""
    try:
        return int(text) if whole else float(text)
    except ValueError:
        return text


@dataclass(frozen=True, slots=True)
class Row:
    """One setting on the page. `value`: what its control holds; `problem`: why that was refused.

    `marked`: of sensitive categories, how many memories are marked with each, and where they are listed.
    """

    control: Control
    value: Any
    origin: str
    own: bool
    inherited: str
    problem: str = ""
    marked: Mapping[str, tuple[int, str]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "" if self.value is None else _show_number(self.value)

    @property
    def step(self) -> str:
        """Of a slider or a number; one that a finer value would be rounded to is none."""
        if self.control.whole:
            return "1"
        fine = isinstance(self.value, float) and round(self.value, 2) != self.value
        return "any" if fine or self.control.kind is Kind.NUMBER else "0.01"

    @property
    def handlings(self) -> list[dict[str, Any]]:
        """Each category with its words, its choices, and the memories that were marked with it while it was allowed."""
        return [
            {
                "name": one.value,
                "label": word("sensitive", one),
                "hint": word("sensitive_hint", one),
                "choices": [(each.value, label, self.value.get(one) == each) for each, label in HANDLINGS.items()],
                "marked": self.marked.get(one) if self.value.get(one) == Handling.EXCLUDE else None,
            }
            for one in Sensitive
        ]

    @property
    def weights(self) -> list[tuple[str, str, str]]:
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

    @staticmethod
    def _count_marked(subject: User, request: HttpRequest) -> dict[str, tuple[int, str]]:
        """How many active memories are marked with each category, and the address of their list."""
        somebody = None if subject == request.user else subject
        return {
            category: (count, link_page("memories_changelist", user=somebody, sensitive=category))
            for category, count in count_marked(subject.overseeing()).items()
        }

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
        if subject is not None:
            rows["sensitive"] = replace(rows["sensitive"], marked=self._count_marked(subject, request))
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
            zones=sorted(list_timezones()),
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
