"""REST of taking long-term memories along and bringing them in (M4)."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.http.response import HttpResponseBase
from django.utils import timezone
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.selectors import get_user
from apps.accounts.types import Scope
from apps.core.errors import Conflict, InvalidInput
from apps.core.fields import read_body
from apps.core.operations import Problem, describe, query
from apps.core.responses import answer_file
from apps.memory.import_plan import ImportRefused, describe_rows, read_upload
from apps.memory.kinds import LONG_TERM
from apps.memory.serializers import LongTermMemorySerializer
from apps.memory.transfer import export_memories, import_memories

operation = partial(describe, tag="Import and export")


class ImportRequest(serializers.Serializer[Any]):
    """A file to import."""

    example = {"file": "@memories.json"}

    file = serializers.FileField(
        allow_empty_file=True,
        help_text="A JSON array of memories, as the export gives them; at most 64 MiB and 100,000 of them.",
    )


class ImportRowErrorSerializer(serializers.Serializer[Any]):
    """Why a row cannot be imported, by field."""

    row = serializers.IntegerField(help_text="The first row is 1.")
    reasons = serializers.DictField(child=serializers.ListField(child=serializers.CharField()))


class ImportReportSerializer(serializers.Serializer[Any]):
    """How many memories were created, changed and left as they are."""

    created = serializers.IntegerField()
    updated = serializers.IntegerField()
    skipped = serializers.IntegerField(help_text="They were there already, just like that.")
    refused = ImportRowErrorSerializer(many=True, help_text="Rows that hold a secret and were left out, with reasons.")
    errors = ImportRowErrorSerializer(many=True, help_text="Empty: with any error, nothing is imported.")  # type: ignore[assignment]  # the name of a property there


class LongTermExportView(APIView):
    """The user's long-term memories of every status, newest first, as an attachment."""

    @operation(
        "export_memories",
        scope=Scope.READ,
        parameters=[
            query("format", "The format of the file.", {"type": "string", "enum": ["json"], "default": "json"})
        ],
        answers=LongTermMemorySerializer(many=True),
    )
    def get(self, request: Request) -> HttpResponseBase:
        """Export long-term memories.

        Of every status, newest first, as an attachment. The file can be imported again without loss. A memory in a
        space has its `space_name`, too, by which the space is found in another account.
        """
        if request.query_params.get("format", "json") != "json":
            raise InvalidInput("format must be json.", fields={"format": ["Must be json."]})
        return answer_file(export_memories(get_user(request), LONG_TERM), name=LONG_TERM.slug)


class LongTermImportView(APIView):
    """Bring memories in: all of a file or, with any bad row, nothing."""

    parser_classes = (MultiPartParser,)

    @operation(
        "import_memories",
        scope=Scope.WRITE,
        body=ImportRequest,
        answers=ImportReportSerializer,
        problems=[
            Problem(Conflict, "Some of the memories were created at the same time"),
            Problem(
                ImportRefused,
                "Some rows are not valid (the first is 1)",
                {"errors": [{"row": 1, "reasons": {"category": ["This field is missing."]}}]},
            ),
            Problem(ImportRefused, "The file is not a JSON array", {"errors": []}),
        ],
    )
    def post(self, request: Request) -> Response:
        """Import long-term memories.

        All of a file or, with any bad row, nothing. All fields are kept. An ID of your own updates that memory;
        one that somebody else has is replaced, and links follow. A space is found by its ID, else by its name; where
        there is none the memory is everywhere. A row that holds a password, key or card number is left out and
        reported. A token that is bound to a space imports into that one.
        """
        items = read_upload(read_body(ImportRequest, request)["file"])
        done = import_memories(user=get_user(request), kind=LONG_TERM, items=items, now=timezone.now())
        counts = {"created": done.created, "updated": done.updated, "skipped": done.skipped}
        return Response({**counts, "refused": describe_rows(done.refused), "errors": []})
