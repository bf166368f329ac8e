"""Plain words for what a turn keeps by name: those of the chat page (static/chat/labels.js, recalled.js)."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

LAYERS = (
    _("Instructions and strategy"),
    _("Profile"),
    _("Working memory"),
    _("Recalled memories"),
    _("Earlier conversations"),
    _("This conversation"),
    _("The new message"),
)

KINDS = {
    "long_term": _("Long-term memory"),
    "atomic": _("Atomic memory"),
    "message": _("Past message"),
    "session_summary": _("Summary of another conversation"),
    "conversation_summary": _("Summary of this conversation"),
    "context": _("Shared context"),
    "profile": _("Profile"),
    "working": _("Topic and variables"),
    "messages": _("Messages of this conversation"),
    "variable": _("Variable in working memory"),
}

ACTIONS = {
    "created": _("New"),
    "superseded": _("Updated"),
    "refreshed": _("Mentioned again"),
    "pending": _("Waiting for review"),
}

COMMANDS = {
    "stored": _("Stored"),
    "known": _("Already remembered"),
    "waiting": _("Waiting for review"),
    "left_out": _("Not stored: deleted since"),
    "forgotten": _("Forgotten"),
    "not_found": _("No matching memory"),
    "undone": _("Undone"),
}

TOOLS = {
    "search_memories": _("Search memories"),
    "createContext": _("Create shared context"),
    "fetchContext": _("Read shared context"),
    "updateContext": _("Add to shared context"),
}

OUTCOMES = {
    "ok": _("Done"),
    "invalid": _("Invalid arguments"),
    "not_found": _("Not found"),
    "too_large": _("Too large"),
    "unknown_tool": _("No such tool"),
    "repeated": _("Repeated call"),
    "too_many": _("Too many calls"),
    "failed": _("Failed"),
}

PHASES = {
    "storing": _("Storing the message"),
    "context": _("Retrieving memories"),
    "first_token": _("Waiting for the first token"),
    "writing": _("Generating the reply"),
}
