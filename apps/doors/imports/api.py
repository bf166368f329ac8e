"""REST of imports: preview a file, import it, follow, cancel and undo."""

from __future__ import annotations

from typing import IO, Any

from django.db.models import QuerySet
from django.utils import timezone
from rest_framework import generics, status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.selectors import get_user
from apps.core.db import release_connections
from apps.core.http import read_uuid
from apps.doors.imports import services
from apps.doors.imports.filters import ImportItemFilter
from apps.doors.imports.previews import Preview, preview_file
from apps.doors.imports.serializers import (
    ImportItemSerializer,
    ImportPreviewSerializer,
    PastImportRequest,
    PastImportSerializer,
)
from apps.doors.imports.services import get_import, list_imports, list_items
from apps.doors.imports.types import UnreadableFile
from apps.doors.models import ImportItem, PastImport
from apps.memory.services import ImportRefused


class ImportsView(generics.ListAPIView[PastImport]):
    """Imports of conversations and memories from elsewhere."""

    parser_classes = (MultiPartParser,)
    serializer_class = PastImportSerializer
    queryset = PastImport.objects.none()  # for the schema; requests see their user's own
    filter_backends = ()

    def get_queryset(self) -> QuerySet[PastImport]:
        return list_imports(get_user(self.request))

    def post(self, request: Request) -> Response:
        user = get_user(request)
        body = PastImportRequest(data=request.data)
        body.is_valid(raise_exception=True)
        upload = body.validated_data["file"]
        services.check_size(upload.size)
        named = body.validated_data.get("format")
        file: IO[bytes] = upload.file
        try:
            if body.validated_data["dry_run"]:
                release_connections()  # reading a large file takes a while
                with services.hold_preview(user):
                    preview = preview_file(file, named=named)
                return Response(ImportPreviewSerializer(describe_preview(preview)).data)
            created = services.create_import(user=user, file=file, name=upload.name, named=named, now=timezone.now())
        except UnreadableFile as error:
            raise ImportRefused(str(error)) from error
        return Response(PastImportSerializer(created).data, status=status.HTTP_202_ACCEPTED)


class ImportView(APIView):
    """One import."""

    def get(self, request: Request, import_id: str) -> Response:
        return Response(PastImportSerializer(get_import(get_user(request), read_uuid(import_id))).data)

    def delete(self, request: Request, import_id: str) -> Response:
        services.remove_import(user=get_user(request), import_id=read_uuid(import_id), now=timezone.now())
        return Response({"deleted": 1})


class ImportItemsView(generics.ListAPIView[ImportItem]):
    """The items of an import."""

    serializer_class = ImportItemSerializer
    filterset_class = ImportItemFilter
    queryset = ImportItem.objects.none()  # for the schema; requests see their user's own

    def get_queryset(self) -> QuerySet[ImportItem]:
        if getattr(self, "swagger_fake_view", False):
            return self.queryset
        return list_items(get_user(self.request), read_uuid(self.kwargs["import_id"]))


class ImportUndoView(APIView):
    """Undoing an import."""

    def post(self, request: Request, import_id: str) -> Response:
        undoing = services.undo_import(user=get_user(request), import_id=read_uuid(import_id), now=timezone.now())
        return Response(PastImportSerializer(undoing).data, status=status.HTTP_202_ACCEPTED)


def describe_preview(preview: Preview) -> dict[str, Any]:
    """Return a preview in the form of `ImportPreviewSerializer`."""
    return {
        "format": preview.format,
        "found": {
            "conversations": preview.conversations,
            "messages": preview.messages,
            "memories": preview.memories,
        },
        "ended": preview.ended,
        "unlearned": preview.unlearned,
        "proposals": preview.proposals,
        "rows": dict(preview.rows),
        "left_out": {str(reason): count for reason, count in preview.left_out.items() if count},
        "first": preview.first,
        "last": preview.last,
        "problem": preview.problem,
        "conversations": preview.conversation_samples,
        "memories": preview.memory_samples,
        "examples": preview.examples,
    }
