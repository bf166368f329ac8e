"""Bodies and answers of the REST of imports."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.core.serializers import KnownFieldsSerializer
from apps.doors.imports.formats import registry
from apps.doors.imports.services import can_be_undone
from apps.doors.imports.types import LeftOut
from apps.doors.models import ImportItem, PastImport

FORMATS = list(registry.FORMATS)
LEFT_OUT = [str(reason) for reason in LeftOut]


class PastImportRequest(KnownFieldsSerializer):
    """A file from elsewhere."""

    file = serializers.FileField(
        allow_empty_file=True, help_text="An export as the service gave it, packed or not; at most 200 MiB by default."
    )
    format = serializers.ChoiceField(
        choices=FORMATS, required=False, help_text="If absent, it is detected by the content of the file."
    )
    dry_run = serializers.BooleanField(
        required=False, default=False, help_text="Write nothing and answer with a preview."
    )


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
