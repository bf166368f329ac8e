from __future__ import annotations

from django.urls import path

from apps.profile import api

urlpatterns = [
    path("profile", api.ProfileView.as_view(), name="profile"),
    path(
        "profile/proposals/<str:proposal_id>/accept",
        api.AcceptProposalView.as_view(),
        name="profile-proposal-accept",
    ),
    path(
        "profile/proposals/<str:proposal_id>/reject",
        api.RejectProposalView.as_view(),
        name="profile-proposal-reject",
    ),
]
