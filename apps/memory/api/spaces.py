"""REST of spaces (P1, P4, P5): /memory/spaces, and moving memories between them."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any, ClassVar

from django.utils import timezone
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.models import Space, User
from apps.accounts.selectors import get_user
from apps.accounts.spaces import NO_SPACE, NONE, create_space, get_space, list_spaces, update_space
from apps.accounts.types import Scope
from apps.core.errors import Conflict, InvalidInput
from apps.core.fields import (
    KnownFieldsSerializer,
    ShortListField,
    StrictBooleanField,
    StrictCharField,
    StrictUUIDField,
    read_body,
)
from apps.core.http import ListView, read_uuid
from apps.core.operations import Problem, describe, query
from apps.memory.spaces import delete_space, move_memories, with_counts

operation = partial(describe, tag="Spaces")
MAX_INSTRUCTIONS_CHARACTERS = 8_000
MOST_MOVED = 1_000
MOVE, ERASE = "move", "erase"
SPACE_ID = "4d2b7c10-6f1e-4a93-8c57-0e9a3b5d7f21"
NAME_TAKEN = Problem(Conflict, "Another space has this name", {"name": ["Another space already has this name."]})


class SpaceSerializer(serializers.ModelSerializer[Space]):
    """A project, an assistant or a character, with memories of its own."""

    example: ClassVar[Any] = {
        "id": SPACE_ID,
        "name": "The novel",
        "kind": "project",
        "instructions": "Answer as an editor of crime fiction.",
        "learns_to": "space",
        "archived": False,
        "paused": False,
        "created_at": "2026-11-20T18:02:11.402913Z",
        "sessions": 3,
        "memories": 41,
    }

    sessions = serializers.IntegerField(source="session_count", read_only=True, help_text="How many it has.")
    memories = serializers.IntegerField(source="memory_count", read_only=True, help_text="How many active ones it has.")

    class Meta:
        model = Space
        fields = read_only_fields = (
            "id",
            "name",
            "kind",
            "instructions",
            "learns_to",
            "archived",
            "paused",
            "created_at",
            "sessions",
            "memories",
        )


class SpaceRequest(KnownFieldsSerializer):
    """A new space."""

    example = SpaceSerializer.example

    name = StrictCharField(max_length=100, help_text="No two spaces of a person have the same one, whatever its case.")
    kind = serializers.ChoiceField(choices=Space.Kind.choices, required=False)
    instructions = StrictCharField(
        required=False,
        allow_blank=True,
        max_length=MAX_INSTRUCTIONS_CHARACTERS,
        help_text="What the assistant is told in its conversations.",
    )
    learns_to = serializers.ChoiceField(
        choices=Space.LearnsTo.choices, required=False, help_text="Where what is learned in its conversations goes."
    )
    paused = StrictBooleanField(
        required=False, help_text="Nothing new is remembered from what is said in its conversations."
    )


class SpaceChangeRequest(SpaceRequest):
    """What to change of a space."""

    archived = StrictBooleanField(required=False, help_text="Whether it is put away; what is in it is still recalled.")


class DeletedSpaceSerializer(serializers.Serializer[Any]):
    """What became of a space and of what was in it, by kind."""

    example: ClassVar[Any] = {
        "deleted": 1,
        "moved": {"long_term": 12, "atomic": 29, "context": 0, "session": 3},
        "erased": {},
        "verified": True,
    }

    deleted = serializers.IntegerField(help_text="How many spaces were deleted.")
    moved = serializers.DictField(child=serializers.IntegerField())
    erased = serializers.DictField(child=serializers.IntegerField())
    verified = serializers.BooleanField(help_text="The space was read back, and nothing was left in it.")


class MoveRequest(KnownFieldsSerializer):
    """Memories to move, of either kind, and where to."""

    example: ClassVar[Any] = {"ids": ["5e0c8a52-9d3b-4f6e-b1c7-2a4d6f8e0b13"], "space": None}

    ids = ShortListField(child=StrictUUIDField(), allow_empty=False, max_length=MOST_MOVED)
    space = StrictUUIDField(allow_null=True, help_text="ID of the space; null: they are everywhere from now on.")


class MovedSerializer(serializers.Serializer[Any]):
    """What was moved."""

    moved = serializers.IntegerField(help_text="How many memories.")
    taken = serializers.ListField(
        child=serializers.UUIDField(),
        help_text="IDs of those that stay where they are: one with the same key or content is active there already.",
    )
    operation = serializers.UUIDField(
        allow_null=True, help_text="By which `POST /memory/changes/{operation}/undo` undoes it; null: nothing moved."
    )


class SpacesView(ListView):
    serializer_class = SpaceSerializer
    rows = staticmethod(lambda user: with_counts(list_spaces(user)))

    @operation("list_spaces", scope=Scope.READ)
    def get(self, request: Request) -> Response:
        """List spaces. In the order in which they were made. A token that is bound to one sees that one."""
        return self.list(request)

    @operation("create_space", scope=Scope.WRITE, body=SpaceRequest, status=201, problems=[NAME_TAKEN])
    def post(self, request: Request) -> Response:
        """Make a space."""
        user = get_user(request)
        space = create_space(user=user, **read_body(SpaceRequest, request))
        return Response(_show(user, space), status=status.HTTP_201_CREATED)


class SpaceView(APIView):
    serializer_class = SpaceSerializer

    @operation("get_space", scope=Scope.READ)
    def get(self, request: Request, space_id: str) -> Response:
        """Get a space."""
        user = get_user(request)
        return Response(_show(user, get_space(user, read_uuid(space_id))))

    @operation("update_space", scope=Scope.WRITE, body=SpaceChangeRequest(partial=True), problems=[NAME_TAKEN])
    def patch(self, request: Request, space_id: str) -> Response:
        """Change a space. What is not named stays. What it has learned stays where it is."""
        user, key = get_user(request), read_uuid(space_id)
        get_space(user, key)
        changes = read_body(SpaceChangeRequest, request, partial=True)
        return Response(_show(user, update_space(user=user, space_id=key, changes=changes)))

    @operation(
        "delete_space",
        scope=Scope.ADMIN,
        parameters=[
            query(
                "memories",
                "What to do with all that is in it: `move` it to another place, or `erase` it with its conversations.",
                {"type": "string", "enum": [MOVE, ERASE]},
                required=True,
            ),
            query(
                "to",
                "Where to move it: the ID of another space, or `none` for everywhere.",
                {"type": "string", "minLength": 1},
            ),
            query("confirm", "The name of the space, to confirm that its memories are erased.", {"type": "string"}),
        ],
        answers=DeletedSpaceSerializer,
    )
    def delete(self, request: Request, space_id: str) -> Response:
        """Delete a space.

        For good, and tokens that are bound to it end. What is in it is moved first, or erased with its history. A
        memory whose key or content is taken where it goes is superseded by the one there.
        """
        user, asked = get_user(request), request.query_params
        space = get_space(user, read_uuid(space_id))
        erase, to = asked.get("memories") == ERASE, asked.get("to", "")
        if not erase and asked.get("memories") != MOVE:
            raise _invalid("memories", f"Must be {MOVE} or {ERASE}.")
        if not erase and not to:
            raise _invalid("to", f"Must be the ID of a space, or {NONE}.")
        if erase and asked.get("confirm") != space.name:
            raise _invalid("confirm", "Must be the name of the space.")
        target = None if erase or to == NONE else read_uuid(to)
        done = delete_space(user=user, space_id=space.id, erase=erase, to=target, now=timezone.now())
        return Response(DeletedSpaceSerializer({"deleted": 1, **asdict(done)}).data)


class MoveView(APIView):
    @operation("move_memories", scope=Scope.WRITE, body=MoveRequest, answers=MovedSerializer, problems=[NO_SPACE])
    def post(self, request: Request) -> Response:
        """Move memories to a space.

        With their history, or with `space` null to everywhere. One operation, which can be undone. IDs of none, and
        of what is there already, are passed over.
        """
        body = read_body(MoveRequest, request)
        done = move_memories(user=get_user(request), ids=body["ids"], space_id=body["space"], now=timezone.now())
        return Response(MovedSerializer(done).data)


def _show(user: User, space: Space) -> Any:
    return SpaceSerializer(with_counts(list_spaces(user)).get(id=space.id)).data


def _invalid(name: str, reason: str) -> InvalidInput:
    return InvalidInput(f"{name}: {reason}", fields={name: [reason]})
