"""REST of the audit record (L7): /memory/changes."""

from __future__ import annotations

from functools import partial

import django_filters  # type: ignore[import-untyped]
from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.selectors import get_user
from apps.accounts.spaces import NO_SPACE, SpaceFilter
from apps.accounts.types import Scope
from apps.core.errors import Conflict
from apps.core.http import ListView, read_uuid
from apps.core.operations import Problem, describe
from apps.memory.changes.records import list_changes
from apps.memory.changes.undo import undo_operation
from apps.memory.models import Change

operation = partial(describe, tag="History")
OBJECT_ID = "5e0c8a52-9d3b-4f6e-b1c7-2a4d6f8e0b13"


class ChangeFilter(django_filters.FilterSet):
    """Narrow the list of changes."""

    object_id = django_filters.UUIDFilter(label="Only changes of this memory.")
    operation = django_filters.UUIDFilter(
        label="Only changes of this operation: what belongs together and is undone together."
    )
    message_id = django_filters.UUIDFilter(label="Only changes that this message caused.")
    kind = django_filters.ChoiceFilter(choices=Change.Kind.choices, label="Only changes of this kind of memory.")
    action = django_filters.ChoiceFilter(choices=Change.Action.choices, label="Only this kind of change.")
    space = SpaceFilter()
    origin = django_filters.ChoiceFilter(choices=Change.Origin.choices, label="Only changes that came from there.")


@extend_schema_field({"type": ["object", "null"], "additionalProperties": True})
class SnapshotField(serializers.JSONField):
    """What an object was: fields by name, different from kind to kind."""


class ChangeSerializer(serializers.ModelSerializer[Change]):
    """One change of one memory, or of the profile, a summary or a shared context."""

    example = {
        "operation": "7a32a1e3-9e83-53e8-be5b-34045020eb4c",
        "object_id": OBJECT_ID,
        "kind": "long_term",
        "action": "supersede",
        "origin": "extraction",
        "actor": None,
        "space": None,
        "message_id": "2f6a1f0a-7c7e-4a35-8b8e-0d5f3a9e6b11",
        "before": {"key": "home", "value": "Leeds", "category": "fact", "status": "active"},
        "after": {"key": "home", "value": "Leeds", "category": "fact", "status": "superseded"},
        "reason": "",
        "undone_by": None,
        "can_be_undone": True,
        "created_at": "2026-10-03T08:30:06.402117Z",
    }

    message_id = serializers.UUIDField(
        allow_null=True, read_only=True, help_text="The message that caused it; null if none did or it was deleted."
    )
    actor = serializers.CharField(
        source="actor.username", default=None, allow_null=True, read_only=True, help_text="Null: the assistant."
    )
    before = SnapshotField(read_only=True, help_text="Null for a creation, and if the object has since been deleted.")
    after = SnapshotField(read_only=True, help_text="Null if the object has since been deleted.")
    can_be_undone = serializers.BooleanField(read_only=True)

    class Meta:
        model = Change
        fields = read_only_fields = (
            "operation",
            "object_id",
            "kind",
            "action",
            "origin",
            "actor",
            "space",
            "message_id",
            "before",
            "after",
            "reason",
            "undone_by",
            "can_be_undone",
            "created_at",
        )
        extra_kwargs = {
            "operation": {"help_text": "Changes with the same operation belong together and are undone together."},
            "reason": {"help_text": "Why tidying up changed it; empty for other changes."},
            "undone_by": {"help_text": "The operation that undid it."},
            "space": {"help_text": "ID of the space that it was in; null: everywhere."},
        }


class UndoneChangesSerializer(serializers.Serializer[dict[str, list[Change]]]):
    """The changes made by undoing."""

    results = ChangeSerializer(many=True, read_only=True)


class ChangesView(ListView):
    """All changes to the user's memories, newest first, with author, time, and the state before and after."""

    serializer_class = ChangeSerializer
    filterset_class = ChangeFilter
    rows = staticmethod(list_changes)

    @operation("list_changes", scope=Scope.READ, problems=[NO_SPACE])
    def get(self, request: Request) -> Response:
        """List changes. Newest first: who changed which memory, when and why, with the state before and after."""
        return self.list(request)


class UndoView(APIView):
    """Undo an operation: all that it changed. Undoing that does it again."""

    @operation(
        "undo_operation",
        scope=Scope.WRITE,
        answers=UndoneChangesSerializer,
        problems=[
            Problem(Conflict, "It is a deletion", {"object_id": OBJECT_ID}),
            Problem(Conflict, "It was undone already", {"object_id": OBJECT_ID}),
            Problem(Conflict, "Something was changed again since", {"object_id": OBJECT_ID}),
        ],
    )
    def post(self, request: Request, operation: str) -> Response:
        """Undo an operation.

        All that it changed: what has `operation` in common. Undoing can itself be undone. Deletions are final.
        """
        user = get_user(request)
        undoing = undo_operation(user=user, operation=read_uuid(operation), now=timezone.now())
        changes = list_changes(user).filter(operation=undoing)
        return Response({"results": ChangeSerializer(changes, many=True).data})
