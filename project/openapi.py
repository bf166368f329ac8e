"""The OpenAPI document as a whole: its title, tags and names of enumerations. Operations stand on their views."""

from __future__ import annotations

from typing import Any

from apps.core.version import VERSION

DESCRIPTION = """\
A memory for LLM chat applications that its owner can see, correct and erase.

**Authentication.** Send an API token: `Authorization: Bearer <token>`. Create one in the memory panel, or with
`manage.py create_token`. If you are logged in to this site, you can try things out here without one. Each operation
needs a scope: `read`, `write` or `admin`. A service token acts for the end user whose ID is in the header `X-End-User`.

**Conventions.** Bodies and answers are JSON. Times are ISO 8601 with an offset; IDs are UUIDs. Unknown fields are
refused. Lists take `limit` and `offset`. Every error has the shape `Error`: its `code` is for programs, its `message`
for people; only under `/v1` errors have OpenAI's shape. What belongs to somebody else does not exist (404). Every
DELETE answers `{"deleted": n}`.
"""

TAGS = {
    "Conversations": "Sessions, their messages, and turns: send a message, get a reply that remembers.",
    "Long-term memory": "What is known about a person, by key: preferences, facts and patterns. One value per key is "
    "active; others are pending, rejected, superseded or evicted.",
    "Atomic memory": "Single statements from conversations, each with the time when it was said and when it happened.",
    "Working memory": "The topic and variables of a session, until it has been idle for half an hour.",
    "Spaces": "Projects, assistants and characters of a person. What is remembered in one stays there; what is in none "
    "is everywhere.",
    "Shared contexts": "The background of a case, which several agents read and append to.",
    "Profile": "One document per person that every reply takes into account.",
    "Summaries": "A short summary of each session.",
    "Search": "Find memories and what was said, by keywords and by meaning. Searching does not count as use.",
    "History": "The record of every change to memories, and undo.",
    "Import and export": "Take memories along, and bring them in.",
    "Tidying": "Runs that merge duplicates, end what is no longer true and propose patterns: told, and undone.",
    "Webhooks": "Addresses to which signed events are sent when memories change: made, tried, and what arrived.",
    "OpenAI-compatible": "For clients of OpenAI's API: change the base URL to `/v1` of this site, and the key to an "
    "API token. Errors have OpenAI's shape.",
    "Account": "Settings, what models cost, and the export and erasure of everything about a person.",
}

ENUM_NAMES = {
    "Category": "apps.memory.models.Category",
    "MemorySource": "apps.memory.models.Source",
    "AtomicMemorySource": "apps.memory.models.AtomicSource",
    "MemoryStatus": "apps.memory.models.Status",
    "MemoryMode": ["replace", "add", "remove"],
    "MemoryKind": ["long_term", "atomic"],
    "RecalledKind": ["long_term", "atomic", "message"],
    "MemoryUpdateAction": ["created", "superseded", "refreshed", "pending"],
    "MemoryCopyKind": ["long_term", "atomic", "working", "topic", "profile", "summary", "title", "context"],
    "SensitiveCategory": ["health", "faith", "sex", "money", "minors"],
    "MessageStatus": "apps.conversations.models.MessageStatus",
    "Role": "apps.conversations.models.Role",
    "SpeakerRole": ["user", "assistant"],
    "FoundBy": ["words", "meaning"],
    "SpaceKind": "apps.accounts.models.Space.Kind",
    "LearnsTo": "apps.accounts.models.Space.LearnsTo",
    "ModelJob": "apps.costs.models.ModelCall.Job",
    "CommandKind": ["remember", "forget"],
    "CommandStatus": ["stored", "known", "waiting", "left_out", "forgotten", "not_found", "undone", "paused", "secret"],
    "PausedBy": "apps.conversations.models.Pause",
    "SecretKind": [
        "api_key",
        "token",
        "password",
        "pin",
        "code",
        "private_key",
        "recovery_phrase",
        "card",
        "bank_account",
        "identity",
    ],
    "ToolOutcome": ["ok", "invalid", "not_found", "too_large", "unknown_tool", "repeated", "too_many", "failed"],
    "Formality": ["casual", "formal"],
    "TurnEventName": ["start", "delta", "done", "error"],
    "ImportFormat": "apps.doors.imports.api.FORMATS",
    "ImportState": "apps.doors.models.PastImport.State",
    "ImportItemKind": "apps.doors.models.ImportItem.Kind",
    "ImportItemState": "apps.doors.models.ImportItem.State",
    "ImportOmission": "apps.doors.imports.api.LEFT_OUT",
    "ChangeKind": "apps.memory.models.Change.Kind",
    "ChangeAction": "apps.memory.models.Change.Action",
    "ChangeOrigin": "apps.memory.models.Change.Origin",
    "WebhookEvent": "apps.webhooks.models.Event",
    "TidyingState": "apps.tidying.models.Tidying.State",
}

SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "Jiyi",
    "DESCRIPTION": DESCRIPTION,
    "VERSION": VERSION,
    "OAS_VERSION": "3.1.1",
    "TAGS": [{"name": name, "description": description} for name, description in TAGS.items()],
    "SORT_OPERATIONS": False,  # the order of the URL conf
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_SUFFIX": "",
    "ENUM_NAME_OVERRIDES": ENUM_NAMES,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "apps.core.openapi.inline_null",
    ],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {
        "deepLinking": True,
        "displayRequestDuration": True,
        "docExpansion": "list",
        "defaultModelsExpandDepth": 0,
        "filter": True,
        "tryItOutEnabled": True,
    },
}
