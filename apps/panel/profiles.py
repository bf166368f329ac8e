"""Profiles: a person's document with its proposals and versions, what is done on it, and for staff the list of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from apps.core.errors import JiyiError, NotFound, Outdated
from apps.core.http import read_uuid
from apps.core.text.clean import normalize_line_ends
from apps.core.words import WORDS, word
from apps.memory.changes.records import collect_operations
from apps.panel.links import link_page
from apps.panel.owned import OwnedAdmin, sees_everybody
from apps.panel.pages import CardList, PanelPage, is_partial, with_toast
from apps.panel.refusals import list_reasons, translate_reason
from apps.panel.texts import read_number
from apps.profile.document import MAX_NAME_CHARACTERS, MAX_SECTION_CHARACTERS, TEXT_SECTIONS
from apps.profile.models import ProfileProposal, UserProfile
from apps.profile.services import (
    accept_proposal,
    forget_profile,
    list_pending_proposals,
    list_versions,
    preview_proposals,
    reject_proposal,
    reopen_proposal,
    restore_version,
    to_snapshot,
    update_profile,
)

# Proposals shown at once, the oldest: each is compared with its section word by word.
WAITING = 10

# Proposals decided last that can be opened again.
DECIDED = 10

VERSIONS = 10
MOST_VERSIONS = 200

CARD_CHARACTERS = 160

_ICONS = {"reply_style": "forum", "language_habits": "translate", "background": "badge"}
_CHANGED = gettext_lazy("This section was changed in the meantime. Save again to overwrite it with your version.")


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the document. Those that every document has are there without a text too.

    ``proposals``: each with its row, the text before and that after accepting it; ``more``: those beside the shown.
    """

    name: str
    title: str
    icon: str
    hint: str
    text: str
    edited_at: datetime | None
    learned_at: datetime | None
    proposals: Sequence[tuple[ProfileProposal, str, str]]
    more: int


def list_sections(profile: UserProfile | None, user: User) -> list[Section]:
    """The sections of a person's document, with what waits for a decision beside each; two queries."""
    document = to_snapshot(profile).texts if profile else {}
    rows = list(list_pending_proposals(user).select_related("message"))
    waiting: dict[str, list[tuple[ProfileProposal, str, str]]] = {row.section: [] for row in rows}
    changes = preview_proposals(rows[:WAITING])
    for row in rows[:WAITING]:
        waiting[row.section].append((row, changes[row.id].before, changes[row.id].after))
    more = Counter(row.section for row in rows[WAITING:])
    edited, learned = (profile.edited_at, profile.learned_at) if profile else ({}, {})
    return [
        Section(
            name=name,
            title=word("section", name),
            icon=_ICONS.get(name, "label"),
            hint=str(WORDS["section_hint"].get(name, "")),
            text=document.get(name, ""),
            edited_at=datetime.fromisoformat(edited[name]) if name in edited else None,
            learned_at=datetime.fromisoformat(learned[name]) if name in learned else None,
            proposals=waiting.get(name, []),
            more=more[name],
        )
        for name in dict.fromkeys((*TEXT_SECTIONS, *document, *waiting))
    ]


def list_timeline(user: User, *, limit: int) -> tuple[list[dict[str, Any]], bool]:
    """The newest versions, each with what it changed and its whole text by title, and whether there are more."""
    rows = list(list_versions(user)[: limit + 1])
    timeline = [
        {
            "row": row,
            "changes": compare(rows[index + 1].document if index + 1 < len(rows) else {}, row.document),
            "sections": [(word("section", name), text) for name, text in flatten(row.document).items()],
            "current": index == 0,
        }
        for index, row in enumerate(rows[:limit])
    ]
    return timeline, len(rows) > limit


def compare(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """What is different between two documents as versions keep them: title, text before and after of each section."""
    old, new = flatten(before), flatten(after)
    return [
        (word("section", name), old.get(name, ""), new.get(name, ""))
        for name in dict.fromkeys((*TEXT_SECTIONS, *old, *new))
        if old.get(name, "") != new.get(name, "")
    ]


def flatten(document: Mapping[str, Any]) -> dict[str, str]:
    fixed = {name: document.get(name, "") for name in TEXT_SECTIONS}
    return {name: text for name, text in (fixed | dict(document.get("sections", {}))).items() if text}


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
        decided = ProfileProposal.objects.filter(user=owner, status__in=("accepted", "rejected"))
        return self.render(
            request,
            template="panel/profiles/document.html" if is_partial(request) else "",
            profile=profile if profile and profile.version else None,
            sections=list_sections(profile, owner),
            timeline=timeline,
            more=min(versions * 2, MOST_VERSIONS) if more and versions < MOST_VERSIONS else None,
            decided=list(decided.order_by("-created_at", "-id")[:DECIDED]),
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

    def read_text(self, name: str) -> str:
        profile = UserProfile.objects.filter(user=self.owner).first()
        return to_snapshot(profile).texts.get(name, "") if profile else ""


class ProfilePage(DocumentPage):
    """GET: the document. ``edit``: a section in its editor; ``add``: a new one; ``proposal``: one in other words."""

    def get(self, request: HttpRequest) -> HttpResponse:
        given = request.GET
        editing = None
        if "add" in given:
            editing = Editing(name="", text="", before="", is_new=True)
        elif name := given.get("edit", ""):
            text = self.read_text(name)
            editing = Editing(name=name, text=text, before=text)
        versions = read_number(given.get("versions")) or VERSIONS
        proposal = given.get("proposal", "")
        return self.show(request, editing=editing, proposal=proposal, versions=min(versions, MOST_VERSIONS))


class SectionPage(DocumentPage):
    """POST: write a section, as an edit by hand; without a text it goes."""

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
            before = self.read_text(name)
        except JiyiError as error:
            problem = list_reasons(error)
        if problem:
            editing = Editing(name=name, text=text, before=before, is_new=is_new, problem=problem)
            return self.show(request, editing=editing)
        return self.answer(request, _("Saved.") if operations else _("Nothing changed."), operations=operations)


class ProposalPage(DocumentPage):
    """POST: accept a proposal, perhaps in other words (``text``), reject it, or reopen it (``reopen``)."""

    def post(self, request: HttpRequest) -> HttpResponse:
        given: dict[str, Any] = {"user": self.owner, "now": timezone.now()}
        acts: dict[str, tuple[Callable[..., object], str]] = {
            "accept": (accept_proposal, _("Accepted and added to your profile.")),
            "reject": (reject_proposal, _("Rejected. It will not be proposed again.")),
            "reopen": (reopen_proposal, _("It is waiting for review again.")),
        }
        decision = request.POST.get("decision", "")
        if decision not in acts:
            return self.answer(request, _("Accept or reject?"), is_error=True)
        if decision == "accept":
            given["text"] = request.POST.get("text")
        act, done = acts[decision]
        try:
            proposal = read_uuid(request.POST.get("proposal", ""))
        except NotFound as error:
            return self.answer(request, translate_reason(error.message), is_error=True)
        return self.carry_out(request, lambda: act(proposal_id=proposal, **given), done)


class RestorePage(DocumentPage):
    """POST: make an earlier version the current one."""

    def post(self, request: HttpRequest) -> HttpResponse:
        version = min(read_number(request.POST.get("version")) or 0, 2**31 - 1)
        return self.carry_out(
            request,
            lambda: restore_version(user=self.owner, version=version, now=timezone.now()),
            _("Version %(version)s was restored.") % {"version": version},
        )


def _find_problem(name: str, text: str, *, is_new: bool) -> str:
    """Why a section cannot be written like this, where the page knows better words than the service."""
    if not name:
        return _("Enter a name for the section.")
    if len(text) > MAX_SECTION_CHARACTERS:
        return _("A section can have at most %(limit)s characters.") % {"limit": MAX_SECTION_CHARACTERS}
    if is_new and not text:
        return _("Enter some text.")
    return ""


@admin.register(UserProfile)
class UserProfileAdmin(CardList, OwnedAdmin):
    """Every person's document. A row leads to the page of its person's document."""

    never = ("add",)
    card_template = "panel/profiles/card.html"
    empty = (
        "account_box",
        gettext_lazy("No profile yet"),
        gettext_lazy("It grows as you chat, or you can write it yourself."),
        "admin:profile",
        gettext_lazy("Write my profile"),
    )
    list_display = ("user", "version", "updated_at")
    list_select_related = ("user",)
    list_filter = ("updated_at",)
    search_fields = ("user__username", *TEXT_SECTIONS)
    fields = readonly_fields = ("user", *TEXT_SECTIONS, "sections", "version", "edited_at", "updated_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[UserProfile]:
        queryset: QuerySet[UserProfile] = super().get_queryset(request).filter(version__gt=0)
        return queryset

    def describe_cards(self, request: HttpRequest, rows: Sequence[UserProfile]) -> list[dict[str, Any]]:
        """How the sections of each begin, and how much waits for a decision."""
        pending = ProfileProposal.objects.filter(user__in=[row.user_id for row in rows], status="pending")
        waiting, staff = Counter(pending.values_list("user", flat=True)), sees_everybody(request)
        cards = []
        for row in rows:
            document = to_snapshot(row).texts
            shown = [(word("section", name), Truncator(text).chars(CARD_CHARACTERS)) for name, text in document.items()]
            cards.append(
                {
                    "row": row,
                    "link": link_page("profile", user=row.user if staff else None),
                    "sections": shown[:3],
                    "count": len(document),
                    "by_hand": sum(name in row.edited_at for name in document),
                    "waiting": waiting[row.user_id],
                }
            )
        return cards

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        profile = self.get_object(request, object_id)
        if profile is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)  # type: ignore[no-any-return]
        return redirect(link_page("profile", user=profile.user if sees_everybody(request) else None))

    def delete_model(self, request: HttpRequest, obj: UserProfile) -> None:
        forget_profile(user=obj.user, now=timezone.now())
