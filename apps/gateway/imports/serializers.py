"""Bodies and answers of the REST of imports."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from apps.core.serializers import KnownFieldsSerializer
from apps.gateway.imports.services import can_be_undone
from apps.gateway.imports.types import Format, LeftOut
from apps.gateway.models import ImportItem, PastImport

FORMATS = [str(name) for name in Format]


class PastImportRequest(KnownFieldsSerializer):
    """A file from elsewhere. `format`: detected by content if absent. `dry_run`: answer with a preview only."""

    file = serializers.FileField(allow_empty_file=True)
    format = serializers.ChoiceField(choices=FORMATS, required=False)
    dry_run = serializers.BooleanField(required=False, default=False)


class AmountsSerializer(serializers.Serializer[Any]):
    """Numbers of conversations, messages and memories."""

    conversations = serializers.IntegerField()
    messages = serializers.IntegerField()
    memories = serializers.IntegerField()


class ConversationSampleSerializer(serializers.Serializer[Any]):
    """A conversation in the file, and the first thing that was said in it by the user."""

    title = serializers.CharField()
    said = serializers.CharField()
    messages = serializers.IntegerField()
    started_at = serializers.DateTimeField(allow_null=True)


class OmissionSerializer(serializers.Serializer[Any]):
    """Something in the file that is not imported."""

    reason = serializers.ChoiceField(choices=[str(reason) for reason in LeftOut])
    label = serializers.CharField()  # type: ignore[assignment]  # the name of a property there
    detail = serializers.CharField()
    count = serializers.IntegerField()


class PreviewSerializer(serializers.Serializer[Any]):
    """What a file holds.

    `rows`: of an export of everything, by table. `ended`: memories that no longer hold and are kept as history.
    `left_out`: how much is not imported, by reason. `first` and `last`: the dates of the first and last message or
    memory. `problem`: why the file cannot be read to its end.
    """

    format = serializers.ChoiceField(choices=FORMATS)
    found = AmountsSerializer()
    ended = serializers.IntegerField()
    rows = serializers.DictField(child=serializers.IntegerField())
    left_out = serializers.DictField(child=serializers.IntegerField())
    first = serializers.DateTimeField(allow_null=True)
    last = serializers.DateTimeField(allow_null=True)
    problem = serializers.CharField()
    conversations = ConversationSampleSerializer(many=True)
    memories = serializers.ListField(child=serializers.CharField())
    examples = OmissionSerializer(many=True)


class RestoredTableSerializer(serializers.Serializer[Any]):
    """Rows of a table that were restored or left out."""

    restored = serializers.IntegerField()
    left_out = serializers.IntegerField()


class UndoneSerializer(serializers.Serializer[Any]):
    """What undoing an import has removed so far. `kept`: changes that were built on since, and stay."""

    sessions = serializers.IntegerField()
    operations = serializers.IntegerField()
    kept = serializers.IntegerField()


class ReportSerializer(serializers.Serializer[Any]):
    """What the file holds and what has become of it so far.

    `skipped`: items that were not imported because of what is here already, by reason; `failed`: invalid items;
    `tables`: of a restored export of everything.
    """

    found = AmountsSerializer(required=False)
    left_out = serializers.DictField(child=serializers.IntegerField(), required=False)
    first = serializers.DateTimeField(allow_null=True, required=False)
    last = serializers.DateTimeField(allow_null=True, required=False)
    imported = AmountsSerializer(required=False)
    skipped = serializers.DictField(child=serializers.IntegerField(), required=False)
    failed = serializers.IntegerField(required=False)
    tables = serializers.DictField(child=RestoredTableSerializer(), required=False)
    undone = UndoneSerializer(required=False)


class PastImportSerializer(serializers.ModelSerializer[PastImport]):
    """An import. `done` of `total` items are dealt with; `total` is 0 until the file is read."""

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

    def get_report(self, past_import: PastImport) -> ReportSerializer:
        report: Any = {name: value for name, value in past_import.counts.items() if name != "undone"}
        if undone := past_import.counts.get("undone"):
            report["undone"] = {name: undone[name] for name in ("sessions", "operations", "kept")}
        return report  # type: ignore[no-any-return]

    def get_can_undo(self, past_import: PastImport) -> bool:
        return can_be_undone(past_import)


class ImportItemSerializer(serializers.ModelSerializer[ImportItem]):
    """A conversation, a memory, or something that is left out, and what became of it.

    `count`: of a conversation, how many of its messages were stored. `reason`: why it was skipped; `detail`: why it is
    invalid.
    """

    session_id = serializers.UUIDField(allow_null=True, read_only=True)
    memory_id = serializers.UUIDField(allow_null=True, read_only=True)

    class Meta:
        model = ImportItem
        fields = ("number", "kind", "state", "label", "reason", "detail", "count", "session_id", "memory_id")
        read_only_fields = fields
