"""What every setting looks like on a page: a switch, a number with its range, sliders, a choice (G1).

The registry (`apps.accounts.types`) decides names, ranges and help; here is only what a page adds: words and order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.utils import formats
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from pydantic.fields import FieldInfo

from apps.accounts.types import PREFIX, MemorySettings, ScoreWeights, list_timezones

GROUPS: tuple[tuple[str, Any, tuple[str, ...]], ...] = (
    (
        "recall",
        _("Recall"),
        (
            "retrieval_limit", "rag_top_n", "rounds_top_n", "session_summary_limit", "semantic_candidates",
            "semantic_min_similarity",
            "score_weights", "recency_half_life_days", "candidate_limit", "max_keywords", "similarity_threshold",
            "enable_agentic_search",
        ),
    ),
    (
        "learning",
        _("Learning"),
        (
            "auto_accept_confidence", "confirm_ends", "remembered_feedback", "enable_user_profile", "auto_context",
            "atomic_content_max_length", "emotion_confidence",
        ),
    ),
    ("prompt", _("Conversation"), ("context_limit", "token_budget", "summary_threshold", "timezone")),
    (
        "keeping",
        _("Keeping and forgetting"),
        (
            "working_ttl_minutes", "working_max_bytes", "working_archive", "embedding_retention_days",
            "eviction_threshold", "confidence_floor",
        ),
    ),
)  # fmt: skip
"""Name, title and settings of each part of the page; every setting is in one."""

LABELS = {
    "rag_top_n": _("Atomic memories per reply"),
    "rounds_top_n": _("Past messages per reply"),
    "enable_agentic_search": _("Let the model search"),
    "enable_user_profile": _("Use the profile"),
    "atomic_content_max_length": _("Longest atomic memory"),
    "session_summary_limit": _("Earlier conversations per reply"),
    "retrieval_limit": _("Long-term memories per reply"),
    "semantic_candidates": _("Search by meaning too"),
    "semantic_min_similarity": _("Minimum similarity"),
    "candidate_limit": _("Candidates scored"),
    "max_keywords": _("Keywords per message"),
    "score_weights": _("Score weights"),
    "recency_half_life_days": _("Half-life of recency"),
    "context_limit": _("Messages in the prompt"),
    "token_budget": _("Token budget"),
    "summary_threshold": _("Summarise after"),
    "auto_accept_confidence": _("Auto-accept threshold"),
    "emotion_confidence": _("Emotion threshold"),
    "similarity_threshold": _("Minimum search similarity"),
    "working_ttl_minutes": _("Working memory lifetime"),
    "working_max_bytes": _("Size of working memory"),
    "working_archive": _("Keep important context"),
    "embedding_retention_days": _("Keep message embeddings for"),
    "eviction_threshold": _("Long-term memory limit"),
    "confidence_floor": _("Clean-up threshold"),
    "confirm_ends": _("Confirm before a memory ends"),
    "remembered_feedback": _("Mention what was remembered"),
    "auto_context": _("Create shared contexts"),
    "timezone": _("Time zone"),
}

UNITS = {
    "atomic_content_max_length": _("characters"),
    "recency_half_life_days": _("days"),
    "token_budget": _("tokens"),
    "context_limit": _("messages"),
    "summary_threshold": _("messages"),
    "working_ttl_minutes": _("minutes"),
    "working_max_bytes": _("bytes"),
    "embedding_retention_days": _("days"),
}

EMPTY = {
    "semantic_min_similarity": _("automatic"),
    "eviction_threshold": _("no limit"),
    "confidence_floor": _("off"),
}
"""What it means that one of these has no value."""

WEIGHT_LABELS = {
    "keyword": _("Match weight"),
    "category": _("Category"),
    "recency": _("Recency"),
    "frequency": _("Frequency"),
    "confidence": _("Confidence"),
}


class Kind(StrEnum):
    """How a setting is entered."""

    SWITCH = "switch"
    NUMBER = "number"
    SHARE = "share"
    WEIGHTS = "weights"
    ZONE = "zone"


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
        """Its name on the wire and in forms."""
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
                return {name: _read_number(form.get(f"{self.key}.{name}", "")) for name in ScoreWeights.model_fields}
            case Kind.ZONE:
                return form.get(self.key, "").strip()
        text = form.get(self.key, "").strip()
        return None if not text and self.optional else _read_number(text, whole=self.whole)

    @staticmethod
    def _show(number: float) -> str:
        return str(formats.number_format(number if number % 1 else int(number)))


def list_controls() -> dict[str, Control]:
    """Every setting's control, by its name, in the registry's order and the language of who asks."""
    schemas = MemorySettings.model_json_schema()["properties"]
    return {name: _make_control(name, field, schemas[name]) for name, field in MemorySettings.model_fields.items()}


def list_zones() -> list[str]:
    """The names of time zones to choose from."""
    return sorted(list_timezones())


def _make_control(name: str, field: FieldInfo, schema: dict[str, Any]) -> Control:
    types = {option.get("type") for option in schema.get("anyOf", [schema])}
    limits: dict[str, Any] = next((option for option in schema.get("anyOf", [schema]) if "minimum" in option), {})
    kind = (
        Kind.WEIGHTS if name == "score_weights"
        else Kind.ZONE if name == "timezone"
        else Kind.SWITCH if "boolean" in types
        else Kind.SHARE if limits.get("maximum") == 1 and "null" not in types
        else Kind.NUMBER
    )  # fmt: skip
    return Control(
        name=name,
        label=str(LABELS[name]),
        help=gettext(field.description or ""),
        kind=kind,
        minimum=limits.get("minimum"),
        maximum=limits.get("maximum"),
        whole="integer" in types,
        optional="null" in types,
        unit=str(UNITS.get(name, "")),
        empty=str(EMPTY.get(name, "")),
    )


def _read_number(text: str, *, whole: bool = False) -> int | float | str:
    try:
        return int(text) if whole else float(text)
    except ValueError:
        return text
