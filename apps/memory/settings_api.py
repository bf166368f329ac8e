"""REST of the caller's own settings (G1): one flat object of effective values."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.selectors import get_settings, get_user
from apps.accounts.services import update_settings
from apps.accounts.types import PREFIX, MemorySettings, ScoreWeights
from apps.core.errors import InvalidInput


def _describe_settings(*, changes: bool) -> dict[str, Any]:
    """Return the JSON schema of the object, from the registry; in changes null restores a default."""
    properties: dict[str, Any] = {}
    for name, schema in MemorySettings.model_json_schema()["properties"].items():
        described = ScoreWeights.model_json_schema() if name == "score_weights" else schema
        described = {key: value for key, value in described.items() if key != "title"}
        properties[f"{PREFIX}{name}"] = {"anyOf": [described, {"type": "null"}]} if changes else described
    return {"type": "object", "properties": properties, "additionalProperties": False}


EFFECTIVE_SCHEMA = _describe_settings(changes=False)
CHANGES_SCHEMA = _describe_settings(changes=True)


class SettingsView(APIView):
    """Effective settings: the user's own settings override global ones, the environment and defaults."""

    @extend_schema(operation_id="memory_settings_retrieve", responses={(200, "application/json"): EFFECTIVE_SCHEMA})
    def get(self, request: Request) -> Response:
        return Response(_to_wire(get_settings(get_user(request))))

    @extend_schema(
        request={"application/json": CHANGES_SCHEMA},
        responses={(200, "application/json"): EFFECTIVE_SCHEMA},
        description="Change the given settings from the next turn on; null restores a default.",
    )
    def patch(self, request: Request) -> Response:
        if not isinstance(request.data, dict):
            raise InvalidInput("Settings must be a JSON object.")
        return Response(_to_wire(update_settings(user=get_user(request), changes=request.data)))


def _to_wire(settings: MemorySettings) -> dict[str, Any]:
    return {f"{PREFIX}{name}": value for name, value in settings.model_dump(mode="json").items()}
