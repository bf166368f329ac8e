"""The lists of profiles, their versions and their proposals; for staff, of everybody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy as _

from apps.core.errors import JiyiError
from apps.panel.cards import CardList, ReadingPage
from apps.panel.links import link_page
from apps.panel.owned import OwnedAdmin, PartAdmin, sees_everybody
from apps.panel.profiles.document import compare, title_section
from apps.panel.reasons import translate_reason
from apps.panel.templatetags.ages import age
from apps.profile.document import TEXT_SECTIONS
from apps.profile.models import ProfileProposal, ProfileVersion, UserProfile
from apps.profile.services import accept_proposal, forget_profile, reject_proposal, restore_version, to_snapshot

CARD_CHARACTERS = 160


@dataclass(frozen=True, slots=True)
class ProfileCard:
    """A profile in the list: how its sections begin, and how much waits for a decision."""

    row: UserProfile
    link: str
    sections: Sequence[tuple[str, str]]
    count: int
    by_hand: int
    waiting: int


@admin.register(UserProfile)
class UserProfileAdmin(CardList, OwnedAdmin):
    """Every person's document. A row leads to the page of its person's document (`apps.panel.profiles.pages`)."""

    card_template = "panel/profiles/card.html"
    empty_template = "panel/profiles/empty.html"
    list_display = ("user", "version", "updated_at")
    list_select_related = ("user",)
    list_filter = ("updated_at",)
    search_fields = ("user__username", *TEXT_SECTIONS)
    fields = readonly_fields = ("user", *TEXT_SECTIONS, "sections", "version", "edited_at", "updated_at")

    class Media:
        css = {"all": ["panel/remembered.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[UserProfile]:
        queryset: QuerySet[UserProfile] = super().get_queryset(request).filter(version__gt=0)
        return queryset

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def describe_cards(self, request: HttpRequest, rows: Sequence[UserProfile]) -> list[ProfileCard]:
        pending = ProfileProposal.objects.filter(user__in=[row.user_id for row in rows], status="pending")
        waiting = Counter(pending.values_list("user", flat=True))
        return [_describe_card(row, waiting=waiting[row.user_id], staff=sees_everybody(request)) for row in rows]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        profile = self.get_object(request, object_id)
        if profile is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)  # type: ignore[no-any-return]
        return redirect(link_page("profile", user=profile.user if sees_everybody(request) else None))

    def delete_model(self, request: HttpRequest, obj: UserProfile) -> None:
        forget_profile(user=obj.user, now=timezone.now())

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[UserProfile]) -> None:
        for profile in queryset.select_related("user"):
            forget_profile(user=profile.user, now=timezone.now())


def _describe_card(row: UserProfile, *, waiting: int, staff: bool) -> ProfileCard:
    document = to_snapshot(row).texts
    return ProfileCard(
        row=row,
        link=link_page("profile", user=row.user if staff else None),
        sections=[(title_section(name), Truncator(text).chars(CARD_CHARACTERS)) for name, text in document.items()][:3],
        count=len(document),
        by_hand=sum(name in row.edited_at for name in document),
        waiting=waiting,
    )


@admin.register(ProfileVersion)
class ProfileVersionAdmin(ReadingPage, PartAdmin):
    """The documents as they were; one can be made the current one again."""

    change_form_template = "panel/profiles/version.html"
    list_display = ("user", "version", "by_hand", "made")
    list_select_related = ("user",)
    list_filter = ("by_hand", "created_at")
    search_fields = ("user__username",)
    fields = readonly_fields = ("user", "version", "by_hand", "created_at")
    actions = ("restore",)

    class Media:
        css = {"all": ["panel/remembered.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[ProfileVersion]:
        queryset: QuerySet[ProfileVersion] = super().get_queryset(request)
        shows_one = "object_id" in (request.resolver_match.kwargs if request.resolver_match else {})
        return queryset if shows_one else queryset.defer("document")

    @admin.display(description=_("created at"), ordering="created_at")
    def made(self, row: ProfileVersion) -> SafeString | str:
        return age(row.created_at)

    def describe(self, request: HttpRequest, row: ProfileVersion) -> dict[str, Any]:
        versions = ProfileVersion.objects.filter(profile=row.profile_id)
        before = versions.filter(version=row.version - 1).values_list("document", flat=True).first()
        return {
            "version": row,
            "changes": compare(before or {}, row.document),
            "whole": compare({}, row.document),
            "current": not versions.filter(version__gt=row.version).exists(),
            "link": link_page("profile", user=row.user if sees_everybody(request) else None),
        }

    @admin.action(description=_("Restore this version"))
    def restore(self, request: HttpRequest, queryset: QuerySet[ProfileVersion]) -> None:
        if queryset.values("user").distinct().count() < queryset.count():
            self.message_user(request, _("Select only one version per user."), messages.ERROR)
            return
        for row in queryset.select_related("user"):
            restore_version(user=row.user, version=row.version, now=timezone.now())


@admin.register(ProfileProposal)
class ProfileProposalAdmin(ReadingPage, PartAdmin):
    """Changes that the assistant proposes for sections edited by the user."""

    change_form_template = "panel/profiles/proposal.html"
    list_display = ("user", "section_title", "text", "shown_status", "made")
    list_display_links = ("text",)
    list_select_related = ("user",)
    list_filter = ("status", "created_at")
    search_fields = ("user__username", "section", "text")
    fields = readonly_fields = ("user", "section", "text", "status", "message", "created_at")
    actions = ("accept", "reject")

    class Media:
        css = {"all": ["panel/remembered.css"]}

    @admin.display(description=_("section"), ordering="section")
    def section_title(self, row: ProfileProposal) -> str:
        return title_section(row.section)

    @admin.display(description=_("status"), ordering="status")
    def shown_status(self, row: ProfileProposal) -> SafeString:
        return format_html('<span class="chip chip--{}">{}</span>', row.status, row.get_status_display())

    @admin.display(description=_("created at"), ordering="created_at")
    def made(self, row: ProfileProposal) -> SafeString | str:
        return age(row.created_at)

    def describe(self, request: HttpRequest, row: ProfileProposal) -> dict[str, Any]:
        return {
            "proposal": row,
            "section": title_section(row.section),
            "link": link_page("profile", user=row.user if sees_everybody(request) else None),
        }

    @admin.action(description=_("Accept"))
    def accept(self, request: HttpRequest, queryset: QuerySet[ProfileProposal]) -> None:
        self._decide(
            request,
            queryset,
            lambda row: accept_proposal(user=row.user, proposal_id=row.id, now=timezone.now()),
        )

    @admin.action(description=_("Reject"))
    def reject(self, request: HttpRequest, queryset: QuerySet[ProfileProposal]) -> None:
        self._decide(
            request,
            queryset,
            lambda row: reject_proposal(user=row.user, proposal_id=row.id, now=timezone.now()),
        )

    def _decide(
        self, request: HttpRequest, queryset: QuerySet[ProfileProposal], decide: Callable[[ProfileProposal], object]
    ) -> None:
        for row in queryset.select_related("user"):
            try:
                decide(row)
            except JiyiError as error:
                self.message_user(request, f"{row.id}: {translate_reason(error.message)}", messages.ERROR)
