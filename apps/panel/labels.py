"""Plain words for names that the database keeps, the same words as on the chat page (static/chat/labels.js)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

_EMOTIONS = {
    "neutral": _("Neutral"),
    "happy": _("Happy"),
    "excited": _("Excited"),
    "grateful": _("Grateful"),
    "curious": _("Curious"),
    "sad": _("Sad"),
    "anxious": _("Anxious"),
    "frustrated": _("Frustrated"),
    "confused": _("Confused"),
    "help_seeking": _("Seeking help"),
    "info_seeking": _("Seeking information"),
    "validation_seeking": _("Seeking confirmation"),
    "unknown": _("Unknown"),
}

_TONES = {
    "professional": _("Professional"),
    "warm": _("Warm"),
    "enthusiastic": _("Enthusiastic"),
    "gracious": _("Gracious"),
    "engaging": _("Engaging"),
    "empathetic": _("Empathetic"),
    "calm_reassuring": _("Calm and reassuring"),
    "patient_solution_focused": _("Patient, looking for a solution"),
    "clear_explanatory": _("Clear and explaining"),
    "helpful": _("Helpful"),
    "informative": _("Informative"),
    "supportive": _("Supportive"),
}

_FORMALITIES = {"casual": pgettext_lazy("formality", "Casual"), "formal": pgettext_lazy("formality", "Formal")}

_CATEGORIES = {
    "preference": _("Preferences"),
    "fact": _("Facts"),
    "pattern": _("Habits"),
    "atomic": _("Atomic memories"),
}


_STATUSES = {
    "active": _("active"),
    "pending": _("pending"),
    "rejected": _("rejected"),
    "superseded": _("superseded"),
    "evicted": _("evicted"),
}


_ACTIONS = {
    "create": pgettext_lazy("was", "added"),
    "edit": pgettext_lazy("was", "changed"),
    "refresh": pgettext_lazy("was", "said again"),
    "accept": pgettext_lazy("was", "accepted"),
    "reject": pgettext_lazy("was", "rejected"),
    "supersede": pgettext_lazy("was", "replaced"),
    "merge": pgettext_lazy("was", "merged"),
    "import": pgettext_lazy("was", "imported"),
    "evict": pgettext_lazy("was", "evicted"),
    "mute": pgettext_lazy("was", "muted or unmuted"),
    "undo": pgettext_lazy("was", "put back"),
    "delete": pgettext_lazy("was", "deleted"),
}


def label_action(name: str) -> str:
    """What a change has done to its object, as one word about that."""
    return str(_ACTIONS.get(name, name))


def label_status(name: str) -> str:
    """The words for a memory's status."""
    return str(_STATUSES.get(name, name))


def label_emotion(name: str) -> str:
    """The words for an emotion; a name that an administrator added is shown as it is."""
    return str(_EMOTIONS.get(name, name))


def label_tone(name: str) -> str:
    """The words for a strategy's tone, or the tone as an administrator wrote it."""
    return str(_TONES.get(name, name))


def label_formality(name: str) -> str:
    return str(_FORMALITIES.get(name, name))


def label_category(name: str) -> str:
    """The words for memories of a category; ``atomic`` stands for the atomic ones."""
    return str(_CATEGORIES.get(name, name))


_TONES_OF_CATEGORIES = {"positive": "teal", "negative": "red", "seeking": "blue"}


def tone_of_emotion(emotion: Mapping[str, Any] | None) -> str:
    """The colour of a chip for an emotion as a turn keeps it (E1), by its category."""
    return tone_of_category((emotion or {}).get("category", ""))


def tone_of_category(category: str) -> str:
    """The colour of a chip for an emotion of this category."""
    return _TONES_OF_CATEGORIES.get(category, "grey")
