"""The way back that a toast offers after a change (L7)."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db.models import Exists, ExpressionWrapper, F, Max, OuterRef, Q, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.core.errors import JiyiError
from apps.memory.models import Change
from apps.memory.services import undo_operation
from apps.panel.answers import tell
from apps.panel.owned import sees_everybody
from apps.panel.pages import PanelPage
from apps.panel.reasons import translate_reason


class UndoOperations(PanelPage):
    """POST ``operations``: IDs with commas between them; ``together``: with each, all that was done in its request.

    The newest is undone first, as others may rest on it.
    """

    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        """Undo them all, up to the first that cannot be undone; the toast says why. 404 for none and another's."""
        everything = Change.objects.all() if sees_everybody(request) else Change.objects.filter(user=request.user.pk)
        wanted = _read_operations(request.POST.get("operations", ""))
        is_together = bool(request.POST.get("together"))
        changes = _list_made_with(everything, wanted) if is_together else everything.filter(operation__in=wanted)
        newest_first = changes.values("operation", "user").annotate(newest=Max("id")).order_by("-newest")
        operations = [(row["operation"], row["user"]) for row in newest_first]
        if not operations:
            raise Http404(_("This change does not exist."))
        users = User.objects.in_bulk({user_id for _operation, user_id in operations})
        response = HttpResponse(status=204)
        try:
            for operation, user_id in operations:
                undo_operation(user=users[user_id], operation=operation, now=timezone.now())
        except JiyiError as error:
            return tell(response, translate_reason(error.message), is_error=True, reload=True)
        return tell(response, _("Undone."), reload=True)


def _list_made_with(everything: QuerySet[Change], operations: Sequence[UUID]) -> QuerySet[Change]:
    """What the same people made at the same moments, in the same way: a request has one time for all it changes."""
    first = everything.filter(operation__in=operations).order_by("pk")
    beside = first.alias(by=ExpressionWrapper(OuterRef("actor"), Change._meta.get_field("actor").target_field)).filter(
        Q(actor=F("by")) | Q(actor=None, by=None),  # nobody is the same as nobody
        pk__lte=OuterRef("pk"),
        created_at=OuterRef("created_at"),
        origin=OuterRef("origin"),
    )
    # No index leads to a moment: what was made before the first of these is not even read.
    return everything.filter(Exists(beside), pk__gte=Subquery(first.values("pk")[:1]))


def _read_operations(text: str) -> list[UUID]:
    try:
        return [UUID(operation) for operation in text.split(",")]
    except ValueError:
        return []
