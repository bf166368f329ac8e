"""The profile document on the wire (U1)."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from apps.core.fields import StrictCharField
from apps.core.serializers import KnownFieldsSerializer
from apps.profile.models import ProfileProposal


class ProfileProposalSerializer(serializers.ModelSerializer[ProfileProposal]):
    """A change that the assistant proposes for a section that the user has edited."""

    class Meta:
        model = ProfileProposal
        fields = read_only_fields = ("id", "section", "text")


class ProfileSerializer(serializers.Serializer[Any]):
    """What every reply takes into account about a person."""

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

    ignored = frozenset({"version", "updated_at", "proposals"})

    reply_style = StrictCharField(required=False, allow_blank=True)
    language_habits = StrictCharField(required=False, allow_blank=True)
    background = StrictCharField(required=False, allow_blank=True)
    sections = serializers.DictField(child=StrictCharField(allow_blank=True, allow_null=True), required=False)


class ProfileReplaceRequest(ProfileChangeRequest):
    """The complete document; sections left out are removed."""
