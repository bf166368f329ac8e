"""REST of everything remembered about the caller: take it along (R2), or have it all erased (R3)."""

from __future__ import annotations

from dataclasses import asdict

from django.http import FileResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.erasure import erase_user
from apps.accounts.export import write_export
from apps.accounts.models import User
from apps.accounts.selectors import get_user
from apps.core.db import in_database
from apps.core.errors import InvalidInput
from apps.core.fields import StrictCharField
from apps.core.http import AsyncAPIView
from apps.core.serializers import KnownFieldsSerializer
from apps.memory.transfer.files import answer_written


class ExportView(AsyncAPIView):
    """All data of the user as one JSON document."""

    @extend_schema(responses={(200, "application/json"): OpenApiTypes.OBJECT})
    async def get(self, request: Request) -> HttpResponseBase:
        return await in_database(answer_export, get_user(request))


def answer_export(user: User) -> FileResponse:
    """Answer with everything remembered about a person, as a file of JSON (R2); an error is a status, as none is sent
    before all is written."""
    return answer_written(lambda file: write_export(user=user, file=file, now=timezone.now()), name="everything")


class EraseRequest(KnownFieldsSerializer):
    """`confirm`: the username, to confirm."""

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
        if body.validated_data["confirm"] != user.get_username():
            reason = "Must be your user name."
            raise InvalidInput(f"confirm: {reason}", fields={"confirm": [reason]})
        return Response(asdict(erase_user(user=user)))
