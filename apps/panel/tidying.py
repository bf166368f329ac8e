"""What was tidied up (D2): a run as a letter, with before and after and the reason of each change, and undoing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast
from uuid import UUID

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from apps.core.errors import JiyiError, NotFound
from apps.core.llm.client import has_model
from apps.memory.changes.records import list_changes
from apps.memory.judge.types import PendingVerdict
from apps.memory.kinds import KINDS, get_kind
from apps.memory.models import AtomicMemory, Change, Status
from apps.panel.changes import read_entry
from apps.panel.jobs import explain_error
from apps.panel.links import link_page
from apps.panel.model_servers import may_connect
from apps.panel.owned import sees_everybody
from apps.panel.pages import PanelPage, with_toast
from apps.panel.refusals import translate_reason
from apps.panel.texts import read_id, read_number
from apps.profile.models import ProfileProposal
from apps.tidying.models import Tidying
from apps.tidying.services import get_tidying, list_tidyings, mark_seen, request_tidying, undo_tidying

# Runs in the list, and changes of one on a page.
LETTERS, PER_PAGE = 20, 50

What = Literal["merge", "replace", "over", "pattern", "proposal"]

_WORDS: Mapping[What, Any] = {
    "merge": gettext_lazy("said twice"),
    "replace": gettext_lazy("no longer true"),
    "over": gettext_lazy("over"),
    "pattern": gettext_lazy("pattern"),
    "proposal": gettext_lazy("proposal"),
}


@dataclass(frozen=True, slots=True)
class Told:
    """One operation of a run. `before`: what ended or would end; `after`: what holds, or would, "" for nothing.

    `state`: where what was proposed stands: a `Status`, "" for what was done at once. `quotes`: the memories that show
    a pattern, with their days.
    """

    operation: UUID
    what: What
    before: Sequence[str]
    after: str
    reason: str
    state: str
    link: str
    is_undone: bool
    is_deleted: bool
    quotes: Sequence[tuple[str, Any]] = ()

    @property
    def label(self) -> str:
        return str(_WORDS[self.what])

    @property
    def waits(self) -> bool:
        return self.state == Status.PENDING and not self.is_undone

    @property
    def can_be_undone(self) -> bool:
        """What was proposed is decided about in Review, and what that did is undone as the decision."""
        return not self.is_undone and not self.is_deleted and self.state in ("", Status.PENDING)


def list_told(owner: User, operations: Iterable[UUID]) -> list[Told]:
    """Return what these operations did, in their order. Five queries for any number."""
    changes: defaultdict[UUID, list[Change]] = defaultdict(list)
    for change in list_changes(owner.overseeing()).filter(operation__in=operations).order_by("id"):
        changes[change.operation].append(change)
    proposed = {change.object_id for group in changes.values() for change in group if change.before is None}
    pending = AtomicMemory.objects.filter(user=owner).in_bulk(list(proposed))
    named = {UUID(state["superseded_by"]) for state in _list_states(changes) if state.get("superseded_by")}
    verdicts = {row.id: PendingVerdict.from_json(row.proposal) for row in pending.values()}
    shown = {target.memory_id for verdict in verdicts.values() if verdict for target in verdict.targets}
    texts = _read_texts(owner, named | shown)
    return [_tell(changes[one], pending, verdicts, texts) for one in operations if one in changes]


def _list_states(changes: Mapping[UUID, Sequence[Change]]) -> list[Mapping[str, Any]]:
    return [change.after for group in changes.values() for change in group if change.after]


def _read_texts(owner: User, ids: set[UUID]) -> dict[UUID, tuple[str, Any]]:
    """Texts of memories of both kinds, and when each was said."""
    found = {}
    for kind in KINDS:
        for row in kind.model.objects.filter(user=owner, id__in=ids):
            found[row.id] = kind.say(vars(row)), getattr(row, kind.said_at)
    return found


def _tell(
    changes: Sequence[Change],
    pending: Mapping[UUID, AtomicMemory],
    verdicts: Mapping[UUID, PendingVerdict | None],
    texts: Mapping[UUID, tuple[str, Any]],
) -> Told:
    first = changes[0]
    ended = [change for change in changes if (change.after or {}).get("status") == Status.SUPERSEDED]
    row, verdict = pending.get(first.object_id), verdicts.get(first.object_id)
    what: What
    quotes: list[tuple[str, Any]] = []
    state, after = "", ""
    before = [_describe(change) for change in ended]
    if first.action == Change.Action.CREATE:
        is_pattern = verdict is not None and not any(target.text for target in verdict.targets)
        what, state = ("pattern" if is_pattern else "proposal"), row.status if row else ""
        after = row.content if row is not None and verdict is not None and verdict.is_memory else ""
        if verdict is not None and is_pattern:
            quotes = sorted(
                (texts[target.memory_id] for target in verdict.targets if target.memory_id in texts),
                key=lambda quote: quote[1],
            )
        elif verdict is not None:
            before = [target.text for target in verdict.targets]
    elif ended:
        what = "merge" if ended[0].action == Change.Action.MERGE else "replace"
        by = ended[0].after.get("superseded_by") if ended[0].after else None
        after = texts.get(UUID(by), ("", None))[0] if by else ""
    else:
        what, before = "over", [_describe(change) for change in changes if change.after]
    return Told(
        operation=first.operation,
        what=what,
        before=before,
        after=after,
        reason=first.reason,
        state=state,
        link=read_entry(first, {}).link,
        is_undone=first.undone_by is not None,
        is_deleted=any(change.after is None for change in changes),
        quotes=quotes,
    )


def _describe(change: Change) -> str:
    return get_kind(change.kind).say(change.before or change.after or {})


class TidyingPage(PanelPage):
    """GET: the newest letter, or that of ``run``; ``page`` of its changes."""

    title = gettext_lazy("Tidying up")
    template_name = "panel/tidying/page.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        there, problem = self.find_named("tidying")
        if there:
            return there
        runs = list(list_tidyings(self.owner)[: LETTERS * 5])
        letters = [run for run in runs if run.is_letter and run.state == Tidying.State.DONE][:LETTERS]
        asked = read_id(request.GET.get("run", ""))
        chosen = next((run for run in letters if run.id == asked), letters[0] if letters else None)
        last = runs[0] if runs else None
        pages = Paginator(chosen.operations if chosen else [], PER_PAGE)
        page = pages.get_page(read_number(request.GET.get("page")) or 1)
        told = list_told(self.owner, page.object_list)
        proposals = ProfileProposal.objects.filter(user=self.owner, id__in=chosen.proposals if chosen else [])
        return self.render(
            request,
            is_own=self.owner == request.user,
            owner_problem=problem,
            has_model=has_model(),
            may_connect=may_connect(request),
            hours=get_settings(self.owner).tidy_after_hours,
            waiting=last if last and last.state == Tidying.State.WAITING else None,
            failure=explain_error(last.error) if last and last.state == Tidying.State.FAILED else None,
            letters=[(run, describe_run(run), self._link(run)) for run in letters],
            chosen=chosen,
            summary=describe_run(chosen) if chosen else "",
            told=told,
            proposals=proposals.select_related("user"),
            page=page,
            previous=self._link(chosen, page=page.number - 1) if chosen and page.has_previous() else "",
            following=self._link(chosen, page=page.number + 1) if chosen and page.has_next() else "",
            can_undo=bool(chosen and (any(one.can_be_undone for one in told) or pages.num_pages > 1)),
            named=self.owner if sees_everybody(request) else None,
            now_shown=request.get_full_path(),
            review_link=link_page("review", user=self.owner if sees_everybody(request) else None),
        )

    def _link(self, run: Tidying, **parameters: Any) -> str:
        owner = self.owner if sees_everybody(self.request) else None
        return link_page("tidying", user=owner, run=run.id, **parameters)


def describe_run(run: Tidying) -> str:
    """Return what a run did, in a few words."""
    if not run.change_count:
        return _("Nothing to tidy up")
    return ngettext("%(count)s change", "%(count)s changes", run.change_count) % {"count": run.change_count}


class StartTidying(PanelPage):
    """POST: tidy up now."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        response = HttpResponse(status=204)
        try:
            request_tidying(self.owner, now=timezone.now())
        except JiyiError as error:
            return with_toast(response, translate_reason(error.message), is_error=True)
        return with_toast(response, _("Tidying up has begun. You can leave this page."), reload=True)


class SeeTidying(PanelPage):
    """POST: who asks has a letter of theirs before them. A page that is only looked at changes nothing (GET)."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest, run_id: UUID) -> HttpResponse:
        try:
            mark_seen(cast(User, request.user), run_id, now=timezone.now())
        except NotFound:
            raise Http404 from None
        return HttpResponse(status=204)


class UndoTidying(PanelPage):
    """POST: undo all that a run did and that stands."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest, run_id: UUID) -> HttpResponse:
        response = HttpResponse(status=204)
        try:
            run = get_tidying(self.owner, run_id)
            undone = undo_tidying(self.owner, run.id, now=timezone.now())
        except JiyiError as error:
            response.status_code = 404 if isinstance(error, NotFound) else 204
            return with_toast(response, translate_reason(error.message), is_error=True, reload=True)
        text = _("Everything is as it was before.")
        if undone.kept:
            text = ngettext(
                "%(count)s item was changed later and was left as is.",
                "%(count)s items were changed later and were left as is.",
                undone.kept,
            ) % {"count": undone.kept}
        operations = [undone.operation] if undone.operation else []
        return with_toast(response, text, operations=operations, reload=True)
