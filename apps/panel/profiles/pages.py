"""A person's profile document, what is done on it, and for staff the list of all profiles."""

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
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.accounts.selectors import get_settings
from apps.core.errors import JiyiError, NotFound, Outdated
from apps.core.http import read_uuid
from apps.core.text.clean import normalize_line_ends
from apps.core.words import word
from apps.memory.changes.records import collect_operations
from apps.panel.links import link_page
from apps.panel.owned import OwnedAdmin, sees_everybody
from apps.panel.pages import CardList, PanelPage, is_partial, with_toast
from apps.panel.profiles.document import list_decided, list_sections, list_timeline
from apps.panel.refusals import translate_reason
from apps.profile.document import MAX_NAME_CHARACTERS, MAX_SECTION_CHARACTERS, TEXT_SECTIONS
from apps.profile.models import ProfileProposal, UserProfile
from apps.profile.services import (
    accept_proposal,
    forget_profile,
    reject_proposal,
    reopen_proposal,
    restore_version,
    to_snapshot,
    update_profile,
)

VERSIONS = 10
MOST_VERSIONS = 200

_CHANGED = gettext_lazy("This section was changed in the meantime. Save again to overwrite it with your version.")


@dataclass(frozen=True, slots=True)
class Editing:
    """The section in its editor: what is typed, what stood there before, and what is wrong with it."""

    name: str
    text: str
    before: str
    is_new: bool = False
    problem: str = ""


class DocumentPage(PanelPage):
    """What answers with the document."""

    title = gettext_lazy("Profile")
    template_name = "panel/profiles/page.html"

    def show(
        self, request: HttpRequest, *, editing: Editing | None = None, proposal: str = "", versions: int = VERSIONS
    ) -> HttpResponse:
        """Answer with the page, or for htmx with the document alone. `proposal`: the ID of one in its editor."""
        owner = self.owner
        profile = UserProfile.objects.filter(user=owner).first()
        timeline, more = list_timeline(owner, limit=versions)
        return self.render(
            request,
            template="panel/profiles/document.html" if is_partial(request) else "",
            profile=profile if profile and profile.version else None,
            sections=list_sections(profile, owner),
            timeline=timeline,
            more=min(versions * 2, MOST_VERSIONS) if more and versions < MOST_VERSIONS else None,
            decided=list_decided(owner),
            editing=editing,
            deciding=proposal,
            switched_off=not get_settings(owner).enable_user_profile,
            max_text=MAX_SECTION_CHARACTERS,
            max_name=MAX_NAME_CHARACTERS,
        )

    def carry_out(self, request: HttpRequest, act: Callable[[], object], done: str) -> HttpResponse:
        """Do something, and answer with the document and how it went: `done`, with the way back, or the reason."""
        try:
            with collect_operations() as operations:
                act()
        except JiyiError as error:
            return self.answer(request, translate_reason(error.message), is_error=True)
        return self.answer(request, done, operations=operations)

    def answer(self, request: HttpRequest, text: str, **how: Any) -> HttpResponse:
        if is_partial(request):
            return with_toast(self.show(request), text, **how)
        messages.add_message(request, messages.ERROR if how.get("is_error") else messages.SUCCESS, text)
        return redirect(link_page("profile", user=self.owner if sees_everybody(request) else None))


class ProfilePage(DocumentPage):
    """GET: the document. ``edit``: a section in its editor; ``add``: a new one; ``proposal``: one in other words."""

    def get(self, request: HttpRequest) -> HttpResponse:
        given = request.GET
        asked = given.get("versions", "")
        versions = int(asked) if asked.isdecimal() and len(asked) < 5 else VERSIONS
        editing = None
        if "add" in given:
            editing = Editing(name="", text="", before="", is_new=True)
        elif name := given.get("edit", ""):
            text = _read_text(self.owner.pk, name)
            editing = Editing(name=name, text=text, before=text)
        return self.show(
            request,
            editing=editing,
            proposal=given.get("proposal", ""),
            versions=max(1, min(versions, MOST_VERSIONS)),
        )


class SectionPage(DocumentPage):
    """POST: write a section, as an edit by hand; without a text it goes."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        name = normalize_line_ends(request.POST.get("name", "")).strip()
        text = normalize_line_ends(request.POST.get("text", "")).strip()
        is_new = "new" in request.POST
        before = "" if is_new else normalize_line_ends(request.POST.get("before", ""))
        changes = {name: text} if name in TEXT_SECTIONS else {"sections": {name: text}}
        problem = _find_problem(name, text, is_new=is_new)
        try:
            with collect_operations() as operations:
                if not problem:
                    update_profile(user=self.owner, changes=changes, seen={name: before}, now=timezone.now())
        except Outdated:
            problem = _("A section with this name already exists.") if is_new else str(_CHANGED)
            before = _read_text(self.owner.pk, name)
        except JiyiError as error:
            reasons = [reason for found in error.fields.values() for reason in found] or [error.message]
            problem = " ".join(map(translate_reason, reasons))
        if problem:
            editing = Editing(name=name, text=text, before=before, is_new=is_new, problem=problem)
            return self.show(request, editing=editing)
        return self.answer(request, _("Saved.") if operations else _("Nothing changed."), operations=operations)


class ProposalPage(DocumentPage):
    """POST: accept a proposal, perhaps in other words (``text``), reject it, or reopen it (``reopen``)."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        decision = request.POST.get("decision", "")
        try:
            proposal = read_uuid(request.POST.get("proposal", ""))
        except NotFound as error:
            return self.answer(request, translate_reason(error.message), is_error=True)
        user, now = self.owner, timezone.now()
        if decision == "accept":
            text = request.POST.get("text")
            return self.carry_out(
                request,
                lambda: accept_proposal(user=user, proposal_id=proposal, now=now, text=text),
                _("Accepted and added to your profile."),
            )
        if decision == "reject":
            return self.carry_out(
                request,
                lambda: reject_proposal(user=user, proposal_id=proposal, now=now),
                _("Rejected. It will not be proposed again."),
            )
        if decision == "reopen":
            return self.carry_out(
                request,
                lambda: reopen_proposal(user=user, proposal_id=proposal, now=now),
                _("It is waiting for review again."),
            )
        return self.answer(request, _("Accept or reject?"), is_error=True)


class RestorePage(DocumentPage):
    """POST: make an earlier version the current one."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        asked = request.POST.get("version", "")
        version = int(asked) if asked.isdecimal() and len(asked) < 9 else 0
        user = self.owner
        return self.carry_out(
            request,
            lambda: restore_version(user=user, version=version, now=timezone.now()),
            _("Version %(version)s was restored.") % {"version": version},
        )


def _read_text(user_id: int, name: str) -> str:
    profile = UserProfile.objects.filter(user=user_id).first()
    return to_snapshot(profile).texts.get(name, "") if profile else ""


def _find_problem(name: str, text: str, *, is_new: bool) -> str:
    """Why a section cannot be written like this, where the page knows better words than the service."""
    if not name:
        return _("Enter a name for the section.")
    if len(text) > MAX_SECTION_CHARACTERS:
        return _("A section can have at most %(limit)s characters.") % {"limit": MAX_SECTION_CHARACTERS}
    if is_new and not text:
        return _("Enter some text.")
    return ""


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
        sections=[(word("section", name), Truncator(text).chars(CARD_CHARACTERS)) for name, text in document.items()][
            :3
        ],
        count=len(document),
        by_hand=sum(name in row.edited_at for name in document),
        waiting=waiting,
    )
