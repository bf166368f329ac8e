"""The settings that the playground lets one change, as controls, and back (G1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.accounts.types import PREFIX, MemorySettings, read_setting_problems

WEIGHTS = ("keyword", "category", "recency", "frequency", "confidence")


@dataclass(frozen=True, slots=True)
class Control:
    """A slider or a switch. `unset`: what an empty value means, for a setting that may have none."""

    name: str
    title: str | Promise
    minimum: float = 0.0
    maximum: float = 1.0
    step: float = 1.0
    whole: bool = True
    switch: bool = False
    unset: str | Promise = ""


_SHARE = {"minimum": 0.0, "maximum": 1.0, "step": 0.01, "whole": False}

CONTROLS = (
    Control(name="weight_keyword", title=gettext_lazy("Keyword or meaning"), **_SHARE),  # type: ignore[arg-type]
    Control(name="weight_category", title=gettext_lazy("Category"), **_SHARE),  # type: ignore[arg-type]
    Control(name="weight_recency", title=gettext_lazy("Recency"), **_SHARE),  # type: ignore[arg-type]
    Control(name="weight_frequency", title=gettext_lazy("Frequency"), **_SHARE),  # type: ignore[arg-type]
    Control(name="weight_confidence", title=gettext_lazy("Confidence"), **_SHARE),  # type: ignore[arg-type]
    Control(
        name="recency_half_life_days",
        title=gettext_lazy("Recency half-life, in days"),
        minimum=0.5,
        maximum=90,
        step=0.5,
        whole=False,
    ),
    Control(name="retrieval_limit", title=gettext_lazy("Long-term memories in the prompt"), minimum=1, maximum=50),
    Control(name="rag_top_n", title=gettext_lazy("Atomic memories in the prompt"), minimum=1, maximum=50),
    Control(name="rounds_top_n", title=gettext_lazy("Past messages in the prompt"), minimum=0, maximum=10),
    Control(name="candidate_limit", title=gettext_lazy("Candidates"), minimum=1, maximum=500),
    Control(name="max_keywords", title=gettext_lazy("Maximum keywords"), minimum=1, maximum=50),
    Control(name="semantic_candidates", title=gettext_lazy("Search by meaning too"), switch=True),
    Control(
        name="semantic_min_similarity",
        title=gettext_lazy("Minimum similarity"),
        unset=pgettext_lazy("value", "auto"),
        **_SHARE,  # type: ignore[arg-type]
    ),
    Control(name="token_budget", title=gettext_lazy("Prompt token budget"), minimum=500, maximum=20_000, step=100),
)


@dataclass(frozen=True, slots=True)
class ControlValue:
    """A control as it stands on the page: its value, the person's own, and what is wrong with it."""

    control: Control
    value: Any
    own: Any
    problems: tuple[str, ...] = ()

    @property
    def is_changed(self) -> bool:
        return bool(self.value != self.own)


def read_changes(given: Mapping[str, str], *, own: MemorySettings) -> dict[str, Any]:
    """The settings (prefixed names) that the form has other values for than the person has; unchecked."""
    changes: dict[str, Any] = {}
    weights = own.score_weights.model_dump()
    for control in CONTROLS:
        if control.switch:
            value: Any = given.get(control.name) == "on" if f"{control.name}_shown" in given else None
        elif control.name in given:
            value = _read_number(given[control.name], control)
        else:
            continue
        if value is None and not control.unset:
            continue
        if control.name.startswith("weight_"):
            weights[control.name.removeprefix("weight_")] = value
        elif value != getattr(own, control.name):
            changes[f"{PREFIX}{control.name}"] = value
    if weights != own.score_weights.model_dump():
        changes[f"{PREFIX}score_weights"] = weights
    return changes


def _read_number(text: str, control: Control) -> Any:
    """The number of a text; the text itself, which is refused later, where it is none."""
    if not text.strip():
        return None
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if control.whole and number.is_integer() else number


def apply_changes(own: MemorySettings, changes: Mapping[str, Any]) -> MemorySettings:
    """The settings with `changes`, which are acceptable (`list_problems`)."""
    values = own.model_dump() | {name.removeprefix(PREFIX): value for name, value in changes.items()}
    return MemorySettings.model_validate(values)


def list_problems(changes: Mapping[str, Any]) -> dict[str, list[str]]:
    """Why changes are not acceptable, by prefixed name."""
    found = read_setting_problems(changes)
    return {name: [_("This value is out of range.")] for name in found}


def list_controls(
    own: MemorySettings, tried: MemorySettings, *, problems: Mapping[str, Any] | None = None
) -> list[ControlValue]:
    """Every control with its values."""
    wrong = problems or {}
    return [
        ControlValue(
            control=control,
            value=_get(tried, control.name),
            own=_get(own, control.name),
            problems=tuple(wrong.get(_name(control), ())),
        )
        for control in CONTROLS
    ]


def _name(control: Control) -> str:
    return f"{PREFIX}score_weights" if control.name.startswith("weight_") else f"{PREFIX}{control.name}"


def _get(settings: MemorySettings, name: str) -> Any:
    if name.startswith("weight_"):
        return getattr(settings.score_weights, name.removeprefix("weight_"))
    return getattr(settings, name)
