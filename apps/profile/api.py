"""REST of the profile document (U1): /profile."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.models import User
from apps.accounts.selectors import get_user
from apps.accounts.types import Scope
from apps.core.errors import Conflict, TooLarge
from apps.core.fields import KnownFieldsSerializer, StrictCharField, read_body
from apps.core.http import read_uuid
from apps.core.operations import Problem, describe
from apps.profile.document import MAX_SECTION_CHARACTERS
from apps.profile.models import ProfileProposal
from apps.profile.services import (
    accept_proposal,
    forget_profile,
    get_user_profile,
    list_pending_proposals,
    reject_proposal,
    update_profile,
)

operation = partial(describe, tag="Profile")


class ProfileProposalSerializer(serializers.ModelSerializer[ProfileProposal]):
    """A change that the assistant proposes for a section that the user has edited."""

    class Meta:
        model = ProfileProposal
        fields = read_only_fields = ("id", "section", "text")


class ProfileSerializer(serializers.Serializer[Any]):
    """What every reply takes into account about a person."""

    example = {
        "reply_style": "Short answers, with examples.",
        "language_habits": "中英文夹杂。",
        "background": "Lives in York; works as a nurse.",
        "sections": {"Diet": "Allergic to peanuts."},
        "version": 7,
        "updated_at": "2026-11-20T18:05:52.017345Z",
        "proposals": [
            {
                "id": "4a8e2d6c-7f15-4b93-a0c8-5d9e1f3b7a26",
                "section": "background",
                "text": "Lives in York; works as a nurse; has a cat.",
            }
        ],
    }

    reply_style = serializers.CharField(default="")
    language_habits = serializers.CharField(default="")
    background = serializers.CharField(default="")
    sections = serializers.DictField(child=serializers.CharField(), default=dict, help_text="More texts, by name.")
    version = serializers.IntegerField(default=0, help_text="0 if there is no profile yet.")
    updated_at = serializers.DateTimeField(allow_null=True, default=None)
    proposals = ProfileProposalSerializer(many=True, help_text="Changes that wait to be accepted or rejected.")


class ProfileChangeRequest(KnownFieldsSerializer):
    """Sections to write. Those under `sections` are merged by name; null or a blank text removes a section.

    Read-only fields are ignored, so a GET response can be sent back.
    """

    example = ProfileSerializer.example
    ignored = frozenset({"version", "updated_at", "proposals"})

    reply_style = StrictCharField(required=False, allow_blank=True)
    language_habits = StrictCharField(required=False, allow_blank=True)
    background = StrictCharField(required=False, allow_blank=True)
    sections = serializers.DictField(child=StrictCharField(allow_blank=True, allow_null=True), required=False)


class ProfileReplaceRequest(ProfileChangeRequest):
    """The complete document; sections left out are removed."""


TOO_LARGE = Problem(
    TooLarge, "A text is too long", {"background": [f"background has over {MAX_SECTION_CHARACTERS:,} characters."]}
)
NOT_PENDING = Problem(Conflict, "It is not pending")


def _answer(user: User) -> Response:
    proposals = list(list_pending_proposals(user))
    snapshot = get_user_profile(user=user)
    fields: dict[str, Any] = {} if snapshot is None else {name: getattr(snapshot, name) for name in snapshot.__slots__}
    return Response(ProfileSerializer({**fields, "proposals": proposals}).data)


class ProfileView(APIView):
    """The user's profile document; if there is none, GET returns an empty one with version 0."""

    serializer_class = ProfileSerializer

    @operation("get_profile", scope=Scope.READ)
    def get(self, request: Request) -> Response:
        """Get the profile. Where there is none yet, the texts are empty and `version` is 0."""
        return _answer(get_user(request))

    @operation("replace_profile", scope=Scope.WRITE, unbound=True, body=ProfileReplaceRequest, problems=[TOO_LARGE])
    def put(self, request: Request) -> Response:
        """Replace the profile.

        Sections that are left out are removed. Fields that cannot be changed are ignored, so what GET answered
        can be edited and sent back.
        """
        return self._update(request, ProfileReplaceRequest, replace=True)

    @operation("update_profile", scope=Scope.WRITE, unbound=True, body=ProfileChangeRequest, problems=[TOO_LARGE])
    def patch(self, request: Request) -> Response:
        """Change the profile.

        `sections` are merged by name; null or a blank text removes one. A section that a person has written is
        not overwritten by the assistant, which makes proposals instead.
        """
        return self._update(request, ProfileChangeRequest, replace=False)

    def _update(self, request: Request, serializer: type[ProfileChangeRequest], *, replace: bool) -> Response:
        user, changes = get_user(request), read_body(serializer, request)
        update_profile(user=user, changes=changes, now=timezone.now(), replace=replace)
        return _answer(user)

    @operation("delete_profile", scope=Scope.ADMIN, unbound=True)
    def delete(self, request: Request) -> Response:
        """Delete the profile.

        For good: with its versions and proposals, and it is not learned again from earlier messages.
        """
        return Response({"deleted": forget_profile(user=get_user(request), now=timezone.now())})


class AcceptProposalView(APIView):
    """Accept a proposal and write it into its section; 409 unless it is pending. Returns the profile."""

    @operation("accept_proposal", scope=Scope.WRITE, unbound=True, answers=ProfileSerializer, problems=[NOT_PENDING])
    def post(self, request: Request, proposal_id: str) -> Response:
        """Accept a proposal. Its text becomes that of the section. Answers with the profile."""
        user = get_user(request)
        accept_proposal(user=user, proposal_id=read_uuid(proposal_id), now=timezone.now())
        return _answer(user)


class RejectProposalView(APIView):
    """Reject a proposal; it is not proposed again. 409 unless it is pending. Returns the profile."""

    @operation("reject_proposal", scope=Scope.WRITE, unbound=True, answers=ProfileSerializer, problems=[NOT_PENDING])
    def post(self, request: Request, proposal_id: str) -> Response:
        """Reject a proposal. It is not proposed again. Answers with the profile."""
        user = get_user(request)
        reject_proposal(user=user, proposal_id=read_uuid(proposal_id), now=timezone.now())
        return _answer(user)
