"""REST of the profile (SPEC, API: /profile)."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.models import User
from apps.accounts.selectors import get_user
from apps.core.http import read_uuid
from apps.core.serializers import KnownFieldsSerializer
from apps.profile import services
from apps.profile.serializers import ProfileChangeRequest, ProfileReplaceRequest, ProfileSerializer
from apps.profile.services import get_user_profile, list_pending_proposals


def _answer(user: User) -> Response:
    proposals = list(list_pending_proposals(user))
    snapshot = get_user_profile(user=user)
    fields: dict[str, Any] = {} if snapshot is None else {name: getattr(snapshot, name) for name in snapshot.__slots__}
    return Response(ProfileSerializer({**fields, "proposals": proposals}).data)


class ProfileView(APIView):
    """The user's profile document; if there is none, GET returns an empty one with version 0."""

    def get(self, request: Request) -> Response:
        return _answer(get_user(request))

    def put(self, request: Request) -> Response:
        return self._update(request, ProfileReplaceRequest(data=request.data), replace=True)

    def patch(self, request: Request) -> Response:
        return self._update(request, ProfileChangeRequest(data=request.data), replace=False)

    def _update(self, request: Request, body: KnownFieldsSerializer, *, replace: bool) -> Response:
        user = get_user(request)
        body.is_valid(raise_exception=True)
        services.update_profile(user=user, changes=body.validated_data, now=timezone.now(), replace=replace)
        return _answer(user)

    def delete(self, request: Request) -> Response:
        return Response({"deleted": services.forget_profile(user=get_user(request), now=timezone.now())})


class AcceptProposalView(APIView):
    """Accept a proposal and write it into its section; 409 unless it is pending. Returns the profile."""

    def post(self, request: Request, proposal_id: str) -> Response:
        user = get_user(request)
        services.accept_proposal(user=user, proposal_id=read_uuid(proposal_id), now=timezone.now())
        return _answer(user)


class RejectProposalView(APIView):
    """Reject a proposal; it is not proposed again. 409 unless it is pending. Returns the profile."""

    def post(self, request: Request, proposal_id: str) -> Response:
        user = get_user(request)
        services.reject_proposal(user=user, proposal_id=read_uuid(proposal_id), now=timezone.now())
        return _answer(user)
