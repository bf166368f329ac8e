"""What is done with many memories at once, of one kind or of both (M3): in portions, so that a hundred thousand are no
different from ten."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from apps.accounts.models import User
from apps.core.errors import JiyiError
from apps.memory.long_term.services import set_category
from apps.memory.models import Category, Status
from apps.memory.selectors import list_copies
from apps.memory.services import collect_operations
from apps.panel.answers import UNPROCESSABLE, tell
from apps.panel.memories.kinds import CHANGEABLE, LONG_TERM, MemoryKind
from apps.panel.memories.lists import ListPages, list_owned
from apps.panel.memories.selection import Selection, read_selection
from apps.panel.owned import sees_everybody
from apps.panel.reasons import translate_reason
from apps.panel.transfer.downloads import download_memories

PORTION = 200
SECONDS = 2.0
"""How long a request processes portions before it reports progress."""

MAX_UNDOABLE = 2_000
"""Memories for which a toast offers to undo it all; the list of changes has every one."""

COPIES_OF = 50
"""For how many memories copies are looked for: each value is compared with every text there is."""

ACTIONS = ("category", "accept", "reject", "mute", "unmute", "delete", "export")


@dataclass(slots=True)
class Progress:
    """How far an action is. ``after``: the last ID that was dealt with, of the kind numbered ``stage`` in the list.

    ``operations``: the first of each request.
    """

    done: int = 0
    failed: int = 0
    stage: int = 0
    after: str = ""
    operations: list[UUID] = field(default_factory=list)
    reason: str = ""


class BulkPages(ListPages):
    """Actions on a selection, and clearing everything of a person."""

    def list_parts(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            *super().list_parts(),
            path("bulk/", view(require_POST(self.bulk_view)), name=f"{self.list_name}_bulk"),
            path("clear/", view(self.clear_view), name=f"{self.list_name}_clear"),
        ]

    def bulk_view(self, request: HttpRequest) -> HttpResponseBase:
        """Do ``action`` with the selection; a deletion asks first. Long ones answer with how far they are and go on."""
        action = request.POST.get("action", "")
        value = request.POST.get("value", "")
        if action not in ACTIONS or (action == "category" and (LONG_TERM not in self.kinds or value not in Category)):
            return HttpResponseBadRequest(_("Choose an action."))
        now = timezone.now()
        there = [(kind, list_owned(request, kind)) for kind in self.kinds]
        selection = read_selection(request, now=now).settle(there, self.read_query(request), now=now)
        if action == "export":
            return download_memories([self._pick(request, selection, kind) for kind in self.kinds])
        if action == "delete" and request.POST.get("confirmed") != "yes":
            return self._ask(request, selection)
        progress = _read_progress(request, stages=len(self.kinds))
        is_finished = self._go_on(request, selection, action, value, progress)
        if is_finished:
            return self._tell_end(action, progress)
        context = {
            **self._dialog_context(request, selection),
            "action": action,
            "value": value,
            "copies_too": request.POST.get("copies") == "yes",
            "progress": progress,
            "operations": ",".join(map(str, progress.operations)),
            "total": max(_read_number(request, "total"), progress.done),
        }
        return TemplateResponse(request, "panel/memories/progress.html", context)

    def _ask(self, request: HttpRequest, selection: Selection) -> HttpResponse:
        context = self._dialog_context(request, selection)
        total = sum(self._pick(request, selection, kind).order_by().count() for kind in self.kinds)
        if not total:
            return tell(HttpResponse(status=204), _("Select at least one item."), is_error=True)
        copies: list[Any] | None = None
        if LONG_TERM in self.kinds and total <= COPIES_OF:
            by_user = defaultdict(list)
            for memory in self._pick(request, selection, LONG_TERM).select_related("user"):
                by_user[memory.user].append(memory)
            doomed = {memory.pk for found in by_user.values() for memory in found}
            found_copies = [copy for user, found in by_user.items() for copy in list_copies(user, found)]
            copies = [copy for copy in found_copies if copy.id not in doomed]
        context |= {"total": total, "copies": copies, "copies_of": COPIES_OF}
        return TemplateResponse(request, "panel/memories/delete_dialog.html", context)

    def _dialog_context(self, request: HttpRequest, selection: Selection) -> dict[str, Any]:
        context = self._row_context(request, self.read_query(request))
        return {**context, "selection": selection.fields}

    def _pick(self, request: HttpRequest, selection: Selection, kind: MemoryKind) -> QuerySet[Any]:
        query = self.read_query(request)
        return selection.pick(list_owned(request, kind), query, kind, now=timezone.now())

    def _pick_for(self, request: HttpRequest, selection: Selection, action: str, value: str, kind: MemoryKind) -> Any:
        """Those selected with which something is to be done."""
        memories = self._pick(request, selection, kind)
        if action in ("accept", "reject"):
            return memories.filter(status=Status.PENDING)
        if action == "category":
            changeable = memories.filter(status__in=CHANGEABLE)
            return changeable.exclude(category=value) if kind is LONG_TERM else memories.none()
        if action in ("mute", "unmute"):
            return memories.filter(status__in=CHANGEABLE, muted=action == "unmute")
        return memories

    def _go_on(self, request: HttpRequest, selection: Selection, action: str, value: str, progress: Progress) -> bool:
        """Deal with portions, in the order of their IDs, until all are done or the time is up; returns whether all."""
        kind = self.kinds[progress.stage]
        memories = self._pick_for(request, selection, action, value, kind)
        deadline = time.monotonic() + SECONDS
        now = timezone.now()  # one for all: by it they are found again when they are to be undone together
        first: list[UUID] = []
        while True:
            rest = memories.filter(pk__gt=progress.after) if progress.after else memories
            portion = list(rest.order_by("pk").values_list("pk", "user")[:PORTION])
            by_user: defaultdict[int, list[UUID]] = defaultdict(list)
            for memory_id, user_id in portion:
                by_user[user_id].append(memory_id)
            users = User.objects.in_bulk(by_user.keys())
            with collect_operations() as operations:
                for user_id, ids in by_user.items():
                    copies = request.POST.get("copies") == "yes"
                    self._deal_with(users[user_id], ids, kind, action, value, progress, copies=copies, now=now)
            if not first:
                first = operations[:1]
                progress.operations += first
            if len(portion) == PORTION:
                progress.after = str(portion[-1][0])
            elif kind is self.kinds[-1]:
                return True
            else:
                progress.stage, progress.after = progress.stage + 1, ""
                kind = self.kinds[progress.stage]
                memories = self._pick_for(request, selection, action, value, kind)
            if time.monotonic() > deadline:
                return False

    def _deal_with(
        self,
        user: User,
        ids: list[UUID],
        kind: MemoryKind,
        action: str,
        value: str,
        progress: Progress,
        *,
        copies: bool,
        now: datetime,
    ) -> None:
        if action == "delete":
            progress.done += kind.forget(user=user, ids=ids, copies=copies, now=now)
        elif action == "category":
            progress.done += set_category(user=user, ids=ids, category=value, now=now)
        elif action in ("mute", "unmute"):
            progress.done += kind.mute(user=user, ids=ids, muted=action == "mute", now=now)
        else:
            decide = kind.accept if action == "accept" else kind.reject
            for memory_id in ids:
                try:
                    decide(user=user, memory_id=memory_id, now=now)
                    progress.done += 1
                except JiyiError as error:  # decided by somebody else meanwhile, or gone
                    progress.failed += 1
                    progress.reason = error.message

    def _tell_end(self, action: str, progress: Progress) -> HttpResponse:
        texts = {
            "delete": ngettext("%(count)s memory was deleted.", "%(count)s memories were deleted.", progress.done),
            "category": ngettext(
                "Category changed for %(count)s memory.", "Category changed for %(count)s memories.", progress.done
            ),
            "mute": ngettext("%(count)s memory was muted.", "%(count)s memories were muted.", progress.done),
            "unmute": ngettext("%(count)s memory was unmuted.", "%(count)s memories were unmuted.", progress.done),
            "accept": ngettext("%(count)s memory was accepted.", "%(count)s memories were accepted.", progress.done),
            "reject": ngettext("%(count)s memory was rejected.", "%(count)s memories were rejected.", progress.done),
        }
        text = texts[action] % {"count": progress.done}
        if not progress.done and action in ("accept", "reject"):
            text = _("None of these memories is waiting for review.")
        if progress.failed:
            text += " " + _("Failed: %(count)s (%(reason)s)") % {
                "count": progress.failed,
                "reason": translate_reason(progress.reason),
            }
        is_undoable = action != "delete" and progress.done <= MAX_UNDOABLE
        return tell(
            HttpResponse(status=204),
            text,
            operations=progress.operations if is_undoable else [],
            together=is_undoable,
            is_error=bool(progress.failed),
            reload=True,
            close=True,
        )

    def clear_view(self, request: HttpRequest) -> HttpResponse:
        """Delete everything in the list of one person, who asks or whom staff look at, once their name is typed."""
        query = self.read_query(request)
        owner: Any = self._find_owner(query) if sees_everybody(request) and query.user else request.user
        if owner is None:
            return HttpResponseBadRequest(_("Choose a user first."))
        typed = request.POST.get("name", "").strip()
        if request.method == "POST" and typed == owner.get_username():
            now = timezone.now()
            count = sum(kind.forget_all(user=owner, now=now) for kind in self.kinds)
            text = ngettext("%(count)s memory was deleted.", "%(count)s memories were deleted.", count)
            return tell(HttpResponse(status=204), text % {"count": count}, reload=True, close=True)
        context = {
            **self._row_context(request, query),
            "owner": owner,
            "total": sum(kind.model.objects.filter(user=owner).count() for kind in self.kinds),
            "typed": typed,
            "is_wrong": request.method == "POST",
        }
        status = UNPROCESSABLE if request.method == "POST" else 200
        return TemplateResponse(request, "panel/memories/clear_dialog.html", context, status=status)


def _read_progress(request: HttpRequest, *, stages: int) -> Progress:
    operations = [part for part in request.POST.get("operations", "").split(",") if part]
    try:
        after = str(UUID(request.POST["after"])) if request.POST.get("after") else ""
        return Progress(
            done=_read_number(request, "done"),
            failed=_read_number(request, "failed"),
            stage=min(_read_number(request, "stage"), stages - 1),
            after=after,
            operations=[UUID(operation) for operation in operations],
            reason=request.POST.get("reason", ""),
        )
    except ValueError:
        return Progress()


def _read_number(request: HttpRequest, name: str) -> int:
    text = request.POST.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else 0
