"""What the API document says about an account: its settings, export and erasure."""

from __future__ import annotations

from apps.accounts.api import EraseRequest, ErasureReceiptSerializer
from apps.accounts.types import PREFIX, MemorySettings, ScoreWeights
from apps.core.openapi.types import Answer, Body, Component, Operation

TAG = "Account"
DEFAULTS = MemorySettings.model_validate({}).model_dump(mode="json")
SETTINGS = {f"{PREFIX}{name}": value for name, value in DEFAULTS.items()}


def _describe_settings(*, changes: bool) -> dict[str, object]:
    """Return the JSON schema of the object, from the registry; in changes null restores a default."""
    properties: dict[str, object] = {}
    for name, schema in MemorySettings.model_json_schema()["properties"].items():
        described = dict(schema)
        if name == "score_weights":
            weights = ScoreWeights.model_json_schema()["properties"]
            described = {"type": "object", "properties": weights, "additionalProperties": False} | described
            described.pop("$ref", None)
        described.pop("title", None)
        properties[f"{PREFIX}{name}"] = {"anyOf": [described, {"type": "null"}]} if changes else described
    about = "Changes to settings; null restores the default." if changes else "The settings in effect."
    required = {} if changes else {"required": sorted(properties)}
    return {"type": "object", "description": about, "properties": properties, "additionalProperties": False} | required


EFFECTIVE = Component("Settings", _describe_settings(changes=False))
EXPORT = Component(
    "DataExport",
    {
        "type": "object",
        "description": "All data of a person.",
        "required": ["about", "exported_at", "user", "data"],
        "properties": {
            "about": {"type": "string"},
            "exported_at": {"type": "string", "format": "date-time"},
            "user": {"type": "object", "additionalProperties": True},
            "data": {
                "type": "object",
                "description": "The rows of each table.",
                "additionalProperties": {
                    "type": "array",
                    "items": {"type": "object", "additionalProperties": True},
                },
            },
        },
    },
)
CHANGES = Component("SettingsChangeRequest", _describe_settings(changes=True))


OPERATIONS = {
    "GET /memory/settings": Operation(
        id="get_settings",
        summary="Get the settings",
        tag=TAG,
        description="What is in effect: your own settings, else global ones, the environment's, and defaults.",
        answers={200: Answer(EFFECTIVE, SETTINGS)},
    ),
    "PATCH /memory/settings": Operation(
        id="update_settings",
        summary="Change settings",
        tag=TAG,
        description="Only the given ones, from the next turn on. Null restores the default.",
        body=Body(CHANGES, {f"{PREFIX}timezone": "Asia/Shanghai", f"{PREFIX}rag_top_n": None}),
        answers={200: Answer(EFFECTIVE, {**SETTINGS, f"{PREFIX}timezone": "Asia/Shanghai"})},
    ),
    "GET /memory/export": Operation(
        id="export_data",
        summary="Export all data",
        tag=TAG,
        description="Everything that is remembered about the person, of every kind and status, table by table, as an "
        "attachment. Vectors and credentials are left out.",
        answers={
            200: Answer(
                EXPORT,
                {
                    "about": "Everything this installation remembers about the person, table by table.",
                    "exported_at": "2026-11-24T09:00:00.000000+00:00",
                    "user": {
                        "id": 1,
                        "username": "alice",
                        "email": "alice@example.com",
                        "date_joined": "2026-10-01T07:12:45.503921+00:00",
                    },
                    "data": {
                        "user_profile": [],
                        "long_term_memory": [
                            {"id": "5e0c8a52-9d3b-4f6e-b1c7-2a4d6f8e0b13", "key": "allergies", "value": ["peanuts"]}
                        ],
                    },
                },
            )
        },
    ),
    "POST /memory/erase": Operation(
        id="erase_data",
        summary="Erase all data",
        tag=TAG,
        description="For good, everywhere: tables, vectors, history, cache and queued work. The account and its tokens "
        "stay. Answers with a receipt of what was deleted, after looking for what is left.",
        body=Body(EraseRequest, {"confirm": "alice"}),
        answers={
            200: Answer(
                ErasureReceiptSerializer,
                {"deleted": {"conversation": 240, "long_term_memory": 42, "user_profile": 1}, "verified": True},
            )
        },
    ),
}
