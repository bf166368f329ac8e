"""REST of imports from elsewhere: preview a file, import it, follow, cancel and undo."""

from __future__ import annotations

from functools import partial
from typing import IO, Any

import django_filters  # type: ignore[import-untyped]
from django.core.files.base import ContentFile
from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers, status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.selectors import get_user
from apps.accounts.spaces import NO_SPACE, enter_space
from apps.accounts.types import Scope
from apps.core.db import release_connections
from apps.core.errors import Conflict, TooLarge
from apps.core.fields import KnownFieldsSerializer, read_body
from apps.core.http import ListView, read_uuid
from apps.core.operations import Answer, Problem, describe
from apps.doors.imports import services
from apps.doors.imports.formats import registry
from apps.doors.imports.formats.base import LeftOut
from apps.doors.imports.formats.pasted import MAX_CHARACTERS, Pasted
from apps.doors.imports.formats.uploads import UnreadableFile
from apps.doors.imports.previews import Preview, preview_file
from apps.doors.imports.services import can_be_undone, get_import, list_imports, list_items
from apps.doors.models import ImportItem, PastImport
from apps.memory.import_plan import ImportRefused

operation = partial(describe, tag="Import and export")
FORMATS = list(registry.FORMATS)
LEFT_OUT = [str(reason) for reason in LeftOut]


class ImportItemFilter(django_filters.FilterSet):
    """Narrow the items of an import."""

    state = django_filters.ChoiceFilter(choices=ImportItem.State.choices, label="Only items in this state.")


class PastImportRequest(KnownFieldsSerializer):
    """A file from elsewhere, or a text."""

    example = {"file": "@chatgpt-export.zip"}

    file = serializers.FileField(
        required=False,
        allow_empty_file=True,
        help_text="An export as the service gave it, packed or not; at most 200 MiB by default.",
    )
    text = serializers.CharField(
        required=False,
        trim_whitespace=False,
        max_length=MAX_CHARACTERS,
        help_text="Instead of a file: what an assistant prints when it is asked for its memories, one on each line.",
    )
    format = serializers.ChoiceField(
        choices=FORMATS, required=False, help_text="If absent, it is detected by the content of the file."
    )
    dry_run = serializers.BooleanField(
        required=False, default=False, help_text="Write nothing and answer with a preview."
    )
    space = serializers.UUIDField(
        required=False, help_text="ID of the space that it goes to. If absent, it is everywhere."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("file" in attrs) == ("text" in attrs):
            raise serializers.ValidationError({"file": "Send either a file or a text."})
        return attrs


class ImportAmountsSerializer(serializers.Serializer[Any]):
    """Numbers of conversations, messages and memories."""

    conversations = serializers.IntegerField()
    messages = serializers.IntegerField()
    memories = serializers.IntegerField()


class ConversationSampleSerializer(serializers.Serializer[Any]):
    """A conversation in the file."""

    title = serializers.CharField()
    said = serializers.CharField(help_text="The first thing that the user said.")
    messages = serializers.IntegerField()
    started_at = serializers.DateTimeField(allow_null=True)


class OmissionSerializer(serializers.Serializer[Any]):
    """Something in the file that is not imported."""

    reason = serializers.ChoiceField(choices=LEFT_OUT)
    label = serializers.CharField(help_text="Such as a title.")  # type: ignore[assignment]  # the name of a property there
    detail = serializers.CharField()
    count = serializers.IntegerField()


class ImportPreviewSerializer(serializers.Serializer[Any]):
    """What a file holds."""

    format = serializers.ChoiceField(choices=FORMATS)
    found = ImportAmountsSerializer()
    ended = serializers.IntegerField(help_text="Memories that no longer hold. They are kept as history.")
    unlearned = serializers.IntegerField(
        help_text="Conversations that the source remembers nothing from. They are kept for reading only."
    )
    proposals = serializers.IntegerField(help_text="Texts about the user that are proposed for the profile.")
    rows = serializers.DictField(
        child=serializers.IntegerField(), help_text="Of an export of everything: the number of rows by table."
    )
    left_out = serializers.DictField(
        child=serializers.IntegerField(), help_text="What is not imported, by reason: messages, memories and parts."
    )
    first = serializers.DateTimeField(allow_null=True, help_text="When the oldest of it was said.")
    last = serializers.DateTimeField(allow_null=True, help_text="When the newest of it was said.")
    problem = serializers.CharField(
        help_text="Why the file cannot be read to its end, or that it is not all there is; else empty."
    )
    conversations = ConversationSampleSerializer(many=True, help_text="Some of them.")
    memories = serializers.ListField(child=serializers.CharField(), help_text="Some of them.")
    examples = OmissionSerializer(many=True, help_text="Some of what is left out.")


class RestoredTableSerializer(serializers.Serializer[Any]):
    """The outcome for the rows of a table."""

    restored = serializers.IntegerField()
    left_out = serializers.IntegerField(help_text="They are there already, or cannot be restored.")


class ImportUndoneSerializer(serializers.Serializer[Any]):
    """What undoing an import has removed so far."""

    sessions = serializers.IntegerField()
    operations = serializers.IntegerField(help_text="Changes to memories that were taken back.")
    kept = serializers.IntegerField(help_text="Changes that something was built on since. They stay.")


class ImportProgressSerializer(serializers.Serializer[Any]):
    """What the file holds and what has become of it so far. Empty until the file is read."""

    found = ImportAmountsSerializer(required=False)
    left_out = serializers.DictField(
        child=serializers.IntegerField(), required=False, help_text="What is not imported, by reason."
    )
    unlearned = serializers.IntegerField(required=False, help_text="Conversations that are kept for reading only.")
    proposals = serializers.IntegerField(required=False, help_text="Texts that are proposed for the profile.")
    first = serializers.DateTimeField(allow_null=True, required=False)
    last = serializers.DateTimeField(allow_null=True, required=False)
    imported = ImportAmountsSerializer(required=False)
    skipped = serializers.DictField(
        child=serializers.IntegerField(),
        required=False,
        help_text="What was not imported because of what is here already, by reason.",
    )
    failed = serializers.IntegerField(required=False, help_text="Items that are not valid.")
    tables = serializers.DictField(
        child=RestoredTableSerializer(), required=False, help_text="Of an export of everything."
    )
    undone = ImportUndoneSerializer(required=False)


class PastImportSerializer(serializers.ModelSerializer[PastImport]):
    """An import."""

    example = {
        "id": "0b9c7f52-3c1e-4d8a-9f27-6a5e4d3c2b10",
        "format": "chatgpt",
        "file_name": "chatgpt-export.zip",
        "size": 48120331,
        "state": "running",
        "problem": "",
        "total": 214,
        "done": 80,
        "report": {
            "found": {"conversations": 214, "messages": 6120, "memories": 0},
            "left_out": {"tool": 310, "hidden": 214, "attachment": 57},
            "imported": {"conversations": 80, "messages": 2207, "memories": 0},
        },
        "can_undo": False,
        "created_at": "2026-10-03T08:30:00Z",
        "updated_at": "2026-10-03T08:30:09Z",
        "finished_at": None,
    }

    id = serializers.UUIDField(read_only=True)
    format = serializers.ChoiceField(choices=FORMATS, read_only=True)
    total = serializers.IntegerField(read_only=True, help_text="Items in the file; 0 until it is read.")
    done = serializers.IntegerField(read_only=True, help_text="Items that were dealt with.")
    problem = serializers.CharField(read_only=True, help_text="What went wrong; empty if nothing did.")
    report = serializers.SerializerMethodField()
    can_undo = serializers.SerializerMethodField()

    class Meta:
        model = PastImport
        fields = (
            "id",
            "format",
            "file_name",
            "size",
            "state",
            "problem",
            "total",
            "done",
            "report",
            "can_undo",
            "created_at",
            "updated_at",
            "finished_at",
        )
        read_only_fields = fields

    @extend_schema_field(ImportProgressSerializer)
    def get_report(self, past_import: PastImport) -> dict[str, Any]:
        report = {name: value for name, value in past_import.counts.items() if name != "undone"}
        if undone := past_import.counts.get("undone"):
            report["undone"] = {name: undone[name] for name in ("sessions", "operations", "kept")}
        return report

    def get_can_undo(self, past_import: PastImport) -> bool:
        return can_be_undone(past_import)


class ImportItemSerializer(serializers.ModelSerializer[ImportItem]):
    """A conversation, a memory, or something that is left out, and its outcome."""

    number = serializers.IntegerField(read_only=True, help_text="Its place in the file; the first is 0.")
    count = serializers.IntegerField(read_only=True, help_text="Of a conversation: the messages that were stored.")
    reason = serializers.CharField(read_only=True, help_text="Why it was skipped.")
    detail = serializers.CharField(read_only=True, help_text="What is wrong with it.")
    session_id = serializers.UUIDField(allow_null=True, read_only=True)
    memory_id = serializers.UUIDField(allow_null=True, read_only=True)

    class Meta:
        model = ImportItem
        fields = ("number", "kind", "state", "label", "reason", "detail", "count", "session_id", "memory_id")
        read_only_fields = fields


class ImportsView(ListView):
    """Imports of conversations and memories from elsewhere."""

    parser_classes = (MultiPartParser,)
    serializer_class = PastImportSerializer
    filter_backends = ()
    rows = staticmethod(list_imports)

    @operation("list_imports", scope=Scope.READ, unbound=True)
    def get(self, request: Request) -> Response:
        """List imports. Newest first."""
        return self.list(request)

    @operation(
        "create_import",
        scope=Scope.WRITE,
        unbound=True,
        body=PastImportRequest,
        answers={
            200: Answer(ImportPreviewSerializer, "With `dry_run`: what the file holds."),
            202: PastImportSerializer,
        },
        problems=[
            Problem(Conflict, "Too many of your imports are under way, or another file is being previewed"),
            Problem(TooLarge, "The file is too large"),
            NO_SPACE,
            Problem(ImportRefused, "The file has none of the formats", {"errors": []}),
            Problem(ImportRefused, "The file is damaged", {"errors": []}),
        ],
    )
    def post(self, request: Request) -> Response:
        """Import conversations and memories from elsewhere.

        An export of one of the formats, a file of JSON lines, an export of everything from Jiyi, or a `text` with a
        memory on each line. Conversations become sessions, and what was said in them is learned in the background.
        Memories become memories. Importing a file again imports only what is new. With `dry_run`, nothing is written.
        """
        body = read_body(PastImportRequest, request)
        user = enter_space(get_user(request), body.get("space"))
        upload = body["file"] if "file" in body else ContentFile(body["text"].encode(), name="")
        services.check_size(upload.size)
        named = body.get("format") if "file" in body else Pasted.name
        file: IO[bytes] = upload.file
        try:
            if body["dry_run"]:
                release_connections()  # reading a large file takes a while
                with services.hold_preview(user):
                    preview = preview_file(file, named=named)
                return Response(ImportPreviewSerializer(describe_preview(preview)).data)
            name = upload.name or ""
            created = services.create_import(user=user, file=file, name=name, named=named, now=timezone.now())
        except UnreadableFile as error:
            raise ImportRefused(str(error)) from error
        return Response(PastImportSerializer(created).data, status=status.HTTP_202_ACCEPTED)


class ImportView(APIView):
    """One import."""

    @operation("get_import", scope=Scope.READ, unbound=True, answers=PastImportSerializer)
    def get(self, request: Request, import_id: str) -> Response:
        """Get an import. Its progress and its report."""
        return Response(PastImportSerializer(get_import(get_user(request), read_uuid(import_id))).data)

    @operation("delete_import", scope=Scope.WRITE, unbound=True, problems=[Problem(Conflict, "It is being undone")])
    def delete(self, request: Request, import_id: str) -> Response:
        """Cancel an import, or delete its report.

        An import in progress is cancelled: what was imported so far stays and can be undone. Of one that has
        ended, the report is deleted.
        """
        services.remove_import(user=get_user(request), import_id=read_uuid(import_id), now=timezone.now())
        return Response({"deleted": 1})


class ImportItemsView(ListView):
    """The items of an import."""

    serializer_class = ImportItemSerializer
    filterset_class = ImportItemFilter
    rows = staticmethod(list_items)

    @operation("list_import_items", scope=Scope.READ, unbound=True)
    def get(self, request: Request, import_id: str) -> Response:
        """List the items of an import. The outcome for each conversation and memory, in the order of the file."""
        return self.list(request)


class ImportUndoView(APIView):
    """Undoing an import."""

    @operation(
        "undo_import",
        scope=Scope.WRITE,
        unbound=True,
        status=202,
        answers=PastImportSerializer,
        problems=[Problem(Conflict, "It has not ended, was undone already, or restored an export of everything")],
    )
    def post(self, request: Request, import_id: str) -> Response:
        """Undo an import.

        Deletes the sessions and memories that it created, and what was learned from its messages. What
        something was built on since stays. The file can then be imported again.
        """
        undoing = services.undo_import(user=get_user(request), import_id=read_uuid(import_id), now=timezone.now())
        return Response(PastImportSerializer(undoing).data, status=status.HTTP_202_ACCEPTED)


def describe_preview(preview: Preview) -> dict[str, Any]:
    """Return a preview in the form of `ImportPreviewSerializer`."""
    return preview.describe() | {
        "format": preview.format,
        "ended": preview.ended,
        "rows": dict(preview.rows),
        "problem": preview.problem,
        "conversations": preview.conversation_samples,
        "memories": preview.memory_samples,
        "examples": preview.examples,
    }
