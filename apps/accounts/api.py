"""REST of an account: its settings (G1), the export of everything remembered about it (R2), and its erasure (R3)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.selectors import get_settings, get_user
from apps.accounts.services import update_settings
from apps.accounts.services.erasure import confirms_erasure, erase_user
from apps.accounts.services.export import answer_export
from apps.accounts.types import PREFIX, MemorySettings, ScoreWeights
from apps.core.db import in_database
from apps.core.errors import InvalidInput
from apps.core.fields import StrictCharField
from apps.core.http import AsyncAPIView
from apps.core.serializers import KnownFieldsSerializer


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


class ExportView(AsyncAPIView):
    """All data of the user as one JSON document."""

    @extend_schema(responses={(200, "application/json"): OpenApiTypes.OBJECT})
    async def get(self, request: Request) -> HttpResponseBase:
        return await in_database(answer_export, get_user(request))


class EraseRequest(KnownFieldsSerializer):
    """`confirm`: the username or, for an end user of a service, their external ID."""

    confirm = StrictCharField(trim_whitespace=False)


class ReceiptSerializer(serializers.Serializer[object]):
    """The deleted rows by table, and whether a check found nothing left."""

    deleted = serializers.DictField(child=serializers.IntegerField())
    verified = serializers.BooleanField()


class EraseView(APIView):
    """Permanently erase all data of the user. The account and its tokens are kept."""

    @extend_schema(request=EraseRequest, responses=ReceiptSerializer)
    def post(self, request: Request) -> Response:
        user = get_user(request)
        body = EraseRequest(data=request.data)
        body.is_valid(raise_exception=True)
        if not confirms_erasure(user, body.validated_data["confirm"]):
            reason = "Must be the end user's external ID." if user.service_id else "Must be your user name."
            raise InvalidInput(f"confirm: {reason}", fields={"confirm": [reason]})
        return Response(asdict(erase_user(user=user)))
