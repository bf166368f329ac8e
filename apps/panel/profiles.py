"""The profile in the admin site. What can be written there is written by the services that the API calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from unfold.admin import TabularInline

from apps.core.errors import JiyiError
from apps.panel.owned import OwnedAdmin, PartAdmin, PartInline
from apps.profile.document import apply_changes
from apps.profile.models import ProfileProposal, ProfileVersion, UserProfile
from apps.profile.services import accept_proposal, forget_profile, reject_proposal, restore_version, update_profile
from apps.profile.types import TEXT_SECTIONS

EDITABLE = (*TEXT_SECTIONS, "sections")


class UserProfileForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable when it runs
    """Checks what the service checks, so that the form shows the reasons."""

    class Meta:
        model = UserProfile
        fields = EDITABLE

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        try:
            apply_changes({}, {name: cleaned[name] for name in EDITABLE if name in cleaned})
        except JiyiError as error:
            raise ValidationError(dict(error.fields)) from error
        return cleaned


class ProfileVersionInline(PartInline, TabularInline):
    """The versions of a document, newest first."""

    model = ProfileVersion
    fields = readonly_fields = ("version", "by_hand", "created_at", "document")
    per_page = 10


@admin.register(UserProfile)
class UserProfileAdmin(OwnedAdmin):
    """Every person's document. An edit here is one by hand: the machine only proposes from then on."""

    form = UserProfileForm
    inlines = (ProfileVersionInline,)
    list_display = ("user", "version", "reply_style", "language_habits", "updated_at")
    list_select_related = ("user",)
    list_filter = ("updated_at",)
    search_fields = ("user__username", *TEXT_SECTIONS)
    fields = ("user", *EDITABLE, "version", "edited_at", "updated_at")
    readonly_fields = ("user", "version", "edited_at", "updated_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[UserProfile]:
        queryset: QuerySet[UserProfile] = super().get_queryset(request).filter(version__gt=0)
        return queryset

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def save_model(
        self, request: HttpRequest, obj: UserProfile, form: forms.ModelForm[UserProfile], change: bool
    ) -> None:
        changes = {name: form.cleaned_data[name] for name in EDITABLE}
        update_profile(user=obj.user, changes=changes, now=timezone.now(), replace=True)

    def delete_model(self, request: HttpRequest, obj: UserProfile) -> None:
        forget_profile(user=obj.user, now=timezone.now())

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[UserProfile]) -> None:
        for profile in queryset.select_related("user"):
            forget_profile(user=profile.user, now=timezone.now())


@admin.register(ProfileVersion)
class ProfileVersionAdmin(PartAdmin):
    """The documents as they were; one can be made the current one again."""

    list_display = ("user", "version", "by_hand", "created_at")
    list_select_related = ("user",)
    list_filter = ("by_hand", "created_at")
    search_fields = ("user__username",)
    fields = ("user", "version", "by_hand", "created_at", "document")
    actions = ("restore",)

    @admin.action(description=_("Make this the current version"))
    def restore(self, request: HttpRequest, queryset: QuerySet[ProfileVersion]) -> None:
        if queryset.values("user").distinct().count() < queryset.count():
            self.message_user(request, _("Choose one version of a person."), messages.ERROR)
            return
        for row in queryset.select_related("user"):
            restore_version(user=row.user, version=row.version, now=timezone.now())


@admin.register(ProfileProposal)
class ProfileProposalAdmin(PartAdmin):
    """What the machine would write where only the person writes."""

    list_display = ("user", "section", "text", "status", "created_at")
    list_select_related = ("user",)
    list_filter = ("status", "created_at")
    search_fields = ("user__username", "section", "text")
    fields = ("user", "section", "text", "status", "message", "created_at")
    actions = ("accept", "reject")

    @admin.action(description=_("Accept"))
    def accept(self, request: HttpRequest, queryset: QuerySet[ProfileProposal]) -> None:
        self._decide(
            request,
            queryset,
            lambda row: accept_proposal(user=row.user, proposal_id=row.id, now=timezone.now()),
        )

    @admin.action(description=_("Reject"))
    def reject(self, request: HttpRequest, queryset: QuerySet[ProfileProposal]) -> None:
        self._decide(request, queryset, lambda row: reject_proposal(user=row.user, proposal_id=row.id))

    def _decide(
        self, request: HttpRequest, queryset: QuerySet[ProfileProposal], decide: Callable[[ProfileProposal], object]
    ) -> None:
        for row in queryset.select_related("user"):
            try:
                decide(row)
            except JiyiError as error:
                self.message_user(request, f"{row.id}: {error.message}", messages.ERROR)
