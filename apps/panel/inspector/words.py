"""Plain words for what a turn keeps by name: those of the chat page (static/chat/labels.js, recalled.js)."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

LAYERS = (
    _("Instructions and strategy"),
    _("The profile"),
    _("Working memory"),
    _("Recalled memories"),
    _("Earlier conversations"),
    _("This conversation"),
    _("The new message"),
)

COMPONENTS = {
    "keyword_score": (
        _("Keyword match"),
        _("How much of the message's keywords it holds. Rare words count more than common ones."),
    ),
    "semantic_score": (
        _("Meaning match"),
        _("How near it is in meaning, even where no word is the same. The better of the two matches counts."),
    ),
    "category_boost": (_("Category boost"), _("Preferences weigh 1.5, facts 1.2, habits 1.")),
    "recency_score": (_("Recency"), _("1 when it was just used; it halves with every week of rest.")),
    "frequency_score": (_("Frequency"), _("How often it was used, next to the most used of the candidates.")),
    "confidence": (_("Confidence"), _("How sure it is: what was said is surer than what was concluded.")),
    "topic_boost": (
        _("Topic boost"),
        _("The weighted sum of the above is multiplied by this: 1.3 when it fits the current topic, else 1."),
    ),
}
"""Components of a score (K5): title, and one sentence about it."""

KINDS = {
    "long_term": _("Long-term memory"),
    "atomic": _("From a conversation"),
    "session_summary": _("Summary of another session"),
    "conversation_summary": _("Summary of this conversation"),
    "context": _("Shared context"),
    "profile": _("The profile"),
    "working": _("Topic and variables"),
    "messages": _("Messages of this conversation"),
    "variable": _("A variable of working memory"),
}

ACTIONS = {
    "created": _("New"),
    "superseded": _("Updated"),
    "refreshed": _("Heard again"),
    "pending": _("Waiting for review"),
}

PHASES = {
    "storing": _("Storing the message"),
    "context": _("Reading what is remembered"),
    "first_token": _("Waiting for the first word"),
    "writing": _("The reply being written"),
}
