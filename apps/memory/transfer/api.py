"""REST of taking long-term memories along and bringing them in (M4)."""

from __future__ import annotations

from typing import Any

from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.selectors import get_user
from apps.core.errors import InvalidInput
from apps.core.files import answer_file
from apps.memory.long_term.serializers import LongTermMemorySerializer
from apps.memory.transfer.exporting import export_memories
from apps.memory.transfer.kinds import LONG_TERM
from apps.memory.transfer.reading import read_upload
from apps.memory.transfer.services import import_memories


class LongTermExportView(APIView):
    """The user's long-term memories of every status, newest first, as an attachment."""

    @extend_schema(
        operation_id="memory_long_term_export",
        parameters=[OpenApiParameter("format", str, enum=["json"], description="json (the default).")],
        responses={(200, "application/json"): LongTermMemorySerializer(many=True)},
        filters=False,
    )
    def get(self, request: Request) -> HttpResponseBase:
        if request.query_params.get("format", "json") != "json":
            raise InvalidInput("format must be json.", fields={"format": ["Must be json."]})
        return answer_file(export_memories(get_user(request), LONG_TERM), name=LONG_TERM.name)


class ImportRequest(serializers.Serializer[Any]):
    """`file`: a JSON array of memories, as the export gives them; at most 64 MiB and 100,000 of them."""

    file = serializers.FileField(allow_empty_file=True)


class ImportedRowErrorSerializer(serializers.Serializer[Any]):
    """Why a row cannot be imported, by field."""

    row = serializers.IntegerField()
    reasons = serializers.DictField(child=serializers.ListField(child=serializers.CharField()))


class ImportedSerializer(serializers.Serializer[Any]):
    """The numbers of created, changed and unchanged memories. `errors` is empty: with any, nothing is imported."""

    created = serializers.IntegerField()
    updated = serializers.IntegerField()
    skipped = serializers.IntegerField()
    errors = ImportedRowErrorSerializer(many=True)  # type: ignore[assignment]  # the name of a property there


class LongTermImportView(APIView):
    """Bring memories in: all of a file or, with any bad row, nothing."""

    parser_classes = (MultiPartParser,)

    @extend_schema(
        operation_id="memory_long_term_import",
        request={"multipart/form-data": ImportRequest},
        responses={200: ImportedSerializer},
        description="IDs that are free and all fields are kept; one's own ID updates that memory; one of somebody "
        "else's becomes a new one, and links follow. When any row cannot be imported, 422 with `fields.errors`: "
        "`[{row, reasons}]`, rows counted from 1.",
    )
    def post(self, request: Request) -> Response:
        body = ImportRequest(data=request.data)
        body.is_valid(raise_exception=True)
        items = read_upload(body.validated_data["file"])
        done = import_memories(user=get_user(request), kind=LONG_TERM, items=items, now=timezone.now())
        counts = {"created": done.created, "updated": done.updated, "skipped": done.skipped}
        return Response({**counts, "errors": []})
