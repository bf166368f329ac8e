"""REST of an account: its settings (G1), the export of everything remembered about it (R2), and its erasure (R3)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.http.response import HttpResponseBase
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.selectors import get_settings, get_user
from apps.accounts.services.erasure import confirms_erasure, erase_user
from apps.accounts.services.export import answer_export
from apps.accounts.services.people import update_settings
from apps.accounts.types import PREFIX, MemorySettings
from apps.core.db import in_database
from apps.core.errors import InvalidInput
from apps.core.fields import StrictCharField
from apps.core.http import AsyncAPIView
from apps.core.serializers import KnownFieldsSerializer


class SettingsView(APIView):
    """Effective settings: the user's own settings override global ones, the environment and defaults."""

    def get(self, request: Request) -> Response:
        return Response(_to_wire(get_settings(get_user(request))))

    def patch(self, request: Request) -> Response:
        if not isinstance(request.data, dict):
            raise InvalidInput("Settings must be a JSON object.")
        return Response(_to_wire(update_settings(user=get_user(request), changes=request.data)))


def _to_wire(settings: MemorySettings) -> dict[str, Any]:
    return {f"{PREFIX}{name}": value for name, value in settings.model_dump(mode="json").items()}


class ExportView(AsyncAPIView):
    """All data of the user as one JSON document."""

    async def get(self, request: Request) -> HttpResponseBase:
        return await in_database(answer_export, get_user(request))


class EraseRequest(KnownFieldsSerializer):
    """A confirmation."""

    confirm = StrictCharField(
        trim_whitespace=False, help_text="The username or, for an end user of a service, the external ID."
    )


class ErasureReceiptSerializer(serializers.Serializer[object]):
    """What was erased."""

    deleted = serializers.DictField(child=serializers.IntegerField(), help_text="How many rows of each table.")
    verified = serializers.BooleanField(help_text="Whether a check found nothing left.")


class EraseView(APIView):
    """Permanently erase all data of the user. The account and its tokens are kept."""

    def post(self, request: Request) -> Response:
        user = get_user(request)
        body = EraseRequest(data=request.data)
        body.is_valid(raise_exception=True)
        if not confirms_erasure(user, body.validated_data["confirm"]):
            reason = "Must be the end user's external ID." if user.service_id else "Must be your user name."
            raise InvalidInput(f"confirm: {reason}", fields={"confirm": [reason]})
        return Response(asdict(erase_user(user=user)))
