"""REST of tidying (D1, D2): /memory/tidyings."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import generics, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.selectors import get_user
from apps.accounts.types import Scope
from apps.core.errors import Conflict
from apps.core.http import read_uuid
from apps.core.operations import Answer, Problem, describe
from apps.memory.api.changes import ChangeSerializer
from apps.memory.changes.records import list_changes
from apps.tidying.models import Tidying
from apps.tidying.services import get_tidying, list_tidyings, mark_seen, request_tidying, undo_tidying

operation = partial(describe, tag="Tidying")
RUN_ID = "1c9d4b7e-52f0-4a68-9e13-7b0c6d2f8a45"


class TidyingSerializer(serializers.ModelSerializer[Tidying]):
    """One run that tidied up a person's memories."""

    example = {
        "id": RUN_ID,
        "state": "done",
        "by_hand": True,
        "shown": 184,
        "operations": ["7a32a1e3-9e83-53e8-be5b-34045020eb4c"],
        "proposals": [],
        "error": "",
        "created_at": "2026-11-28T08:30:00Z",
        "finished_at": "2026-11-28T08:30:41Z",
        "seen_at": None,
    }

    class Meta:
        model = Tidying
        fields = read_only_fields = (
            "id",
            "state",
            "by_hand",
            "shown",
            "operations",
            "proposals",
            "error",
            "created_at",
            "finished_at",
            "seen_at",
        )
        extra_kwargs = {
            "by_hand": {"help_text": "Whether somebody asked for it; else it is `memory.tidy_after_hours`."},
            "shown": {"help_text": "How many memories the model was shown; 0 where nothing was new."},
            "operations": {"help_text": "What it changed or sent to review; each can be undone by itself."},
            "proposals": {"help_text": "IDs of what it proposed for the profile."},
            "error": {"help_text": "Why it failed, as a code."},
            "seen_at": {"help_text": "When its person saw what it did; until then the chat page tells of it."},
        }


class TidyingDetailSerializer(TidyingSerializer):
    """A run with its changes."""

    example = {**TidyingSerializer.example, "changes": [ChangeSerializer.example]}

    changes = serializers.SerializerMethodField(help_text="What it did, with the reason of each change, newest first.")

    class Meta:
        model = Tidying
        fields = read_only_fields = (*TidyingSerializer.Meta.fields, "changes")
        extra_kwargs = TidyingSerializer.Meta.extra_kwargs

    @extend_schema_field(ChangeSerializer(many=True))
    def get_changes(self, run: Tidying) -> Any:
        changes = list_changes(run.user.overseeing()).filter(operation__in=run.operations)
        return ChangeSerializer(changes, many=True).data


class UndoneTidyingSerializer(serializers.Serializer[Any]):
    """What undoing a run did."""

    example = {"operation": "0f4e8d5c-8a43-4f0e-9f52-9f2ab54be7c1", "undone": 17, "kept": 1}

    operation = serializers.UUIDField(allow_null=True, help_text="The operation that undid it, to be undone in turn.")
    undone = serializers.IntegerField(help_text="How many operations were undone.")
    kept = serializers.IntegerField(help_text="How many stay, as something has changed since.")


class TidyingsView(generics.ListAPIView[Tidying]):
    """Runs, and asking for one."""

    serializer_class = TidyingSerializer
    queryset = Tidying.objects.none()  # for the schema; requests see their user's own

    def get_queryset(self) -> Any:
        return list_tidyings(get_user(self.request))

    @operation("list_tidyings", scope=Scope.READ, unbound=True)
    def get(self, request: Request) -> Response:
        """List tidying runs. Newest first; also those that found nothing to do."""
        return self.list(request)

    @operation(
        "create_tidying",
        scope=Scope.WRITE,
        answers={202: Answer(TidyingSerializer)},
        problems=[Problem(Conflict, "No model is connected")],
        unbound=True,
    )
    def post(self, request: Request) -> Response:
        """Tidy up now. A worker has the connected model merge duplicates, end what is untrue or past, find patterns.

        What the model words itself and what would end a memory that its owner wrote waits for review. Answers with the
        run that waits already, if there is one.
        """
        run = request_tidying(get_user(request), now=timezone.now())
        return Response(TidyingSerializer(run).data, status=status.HTTP_202_ACCEPTED)


class TidyingView(APIView):
    """One run."""

    @operation("get_tidying", scope=Scope.READ, answers=TidyingDetailSerializer, unbound=True)
    def get(self, request: Request, run_id: str) -> Response:
        """Get a tidying run. With what it changed, before and after, and why."""
        run = get_tidying(get_user(request), read_uuid(run_id))
        return Response(TidyingDetailSerializer(run).data)


class TidyingSeenView(APIView):
    """Having seen a run."""

    @operation("mark_tidying_seen", scope=Scope.WRITE, answers=TidyingSerializer, unbound=True)
    def post(self, request: Request, run_id: str) -> Response:
        """Mark a tidying run as seen. And those before it: the chat page tells of them no longer."""
        run = mark_seen(get_user(request), read_uuid(run_id), now=timezone.now())
        return Response(TidyingSerializer(run).data)


class UndoTidyingView(APIView):
    """Undoing a run."""

    @operation(
        "undo_tidying",
        scope=Scope.WRITE,
        answers=UndoneTidyingSerializer,
        problems=[Problem(Conflict, "There is nothing to undo")],
        unbound=True,
    )
    def post(self, request: Request, run_id: str) -> Response:
        """Undo a tidying run. All that it did and that stands; single operations are undone as any other change."""
        undone = undo_tidying(get_user(request), read_uuid(run_id), now=timezone.now())
        return Response(UndoneTidyingSerializer(undone).data)
