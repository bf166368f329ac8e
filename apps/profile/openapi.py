"""What the API document says about the profile."""

from __future__ import annotations

from typing import Any

from apps.core.openapi.types import Answer, Body, Examples, Operation, Problem, path_id
from apps.core.serializers import DeletedSerializer
from apps.profile.document import MAX_SECTION_CHARACTERS
from apps.profile.serializers import ProfileChangeRequest, ProfileReplaceRequest, ProfileSerializer

TAG = "Profile"
PROPOSAL = path_id("proposal_id", "ID of the proposal.")
PROFILE: dict[str, Any] = {
    "reply_style": "Short answers, with examples.",
    "language_habits": "Mixes English and Chinese.",
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
PROFILE_ZH = {
    **PROFILE,
    "reply_style": "回答简短，附例子。",
    "language_habits": "中英文夹杂。",
    "background": "住在成都，是护士。",
    "sections": {"饮食": "对花生过敏。"},
    "proposals": [],
}
PROFILES = Examples(English=PROFILE, 中文=PROFILE_ZH)
NEW = Examples(
    English={"reply_style": "Short answers, with examples.", "sections": {"Diet": "Allergic to peanuts."}},
    中文={"reply_style": "回答简短，附例子。", "sections": {"饮食": "对花生过敏。"}},
)
TOO_LARGE = Problem(
    "A text is too long",
    "too_large",
    f"background has over {MAX_SECTION_CHARACTERS:,} characters.",
    {"background": [f"background has over {MAX_SECTION_CHARACTERS:,} characters."]},
)
NOT_PENDING = Problem(
    "It is not pending",
    "conflict",
    "Only a pending proposal can be accepted or rejected; this one is accepted.",
)

OPERATIONS = {
    "GET /profile": Operation(
        id="get_profile",
        summary="Get the profile",
        tag=TAG,
        description="Where there is none yet, the texts are empty and `version` is 0.",
        answers={200: Answer(ProfileSerializer, PROFILES)},
    ),
    "PUT /profile": Operation(
        id="replace_profile",
        summary="Replace the profile",
        tag=TAG,
        description="Sections that are left out are removed. Fields that cannot be changed are ignored, so what GET "
        "answered can be edited and sent back.",
        body=Body(ProfileReplaceRequest, NEW),
        answers={200: Answer(ProfileSerializer, PROFILES)},
        problems={413: TOO_LARGE},
    ),
    "PATCH /profile": Operation(
        id="update_profile",
        summary="Change the profile",
        tag=TAG,
        description="`sections` are merged by name; null or a blank text removes one. A section that a person has "
        "written is not overwritten by the assistant, which makes proposals instead.",
        body=Body(ProfileChangeRequest, NEW),
        answers={200: Answer(ProfileSerializer, PROFILES)},
        problems={413: TOO_LARGE},
    ),
    "DELETE /profile": Operation(
        id="delete_profile",
        summary="Delete the profile",
        tag=TAG,
        description="For good: with its versions and proposals, and it is not learned again from earlier messages.",
        answers={200: Answer(DeletedSerializer, {"deleted": 1})},
    ),
    "POST /profile/proposals/{proposal_id}/accept": Operation(
        id="accept_proposal",
        summary="Accept a proposal",
        tag=TAG,
        description="Its text becomes that of the section. Answers with the profile.",
        parameters=[PROPOSAL],
        answers={200: Answer(ProfileSerializer, {**PROFILE, "proposals": []})},
        problems={409: NOT_PENDING},
    ),
    "POST /profile/proposals/{proposal_id}/reject": Operation(
        id="reject_proposal",
        summary="Reject a proposal",
        tag=TAG,
        description="It is not proposed again. Answers with the profile.",
        parameters=[PROPOSAL],
        answers={200: Answer(ProfileSerializer, {**PROFILE, "proposals": []})},
        problems={409: NOT_PENDING},
    ),
}
