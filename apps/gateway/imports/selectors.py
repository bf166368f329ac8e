"""Reading imports and the outcomes of their items."""

from __future__ import annotations

from uuid import UUID

from django.db.models import QuerySet

from apps.accounts.models import User
from apps.core.errors import NotFound
from apps.gateway.models import ImportItem, PastImport

UNDER_WAY = (
    PastImport.State.QUEUED,
    PastImport.State.READING,
    PastImport.State.RUNNING,
    PastImport.State.UNDOING,
)
"""States in which a worker has something to do."""


def list_imports(user: User) -> QuerySet[PastImport]:
    """Return the person's imports, newest first."""
    return PastImport.objects.filter(user=user)


def get_import(user: User, import_id: UUID) -> PastImport:
    """Return one of the person's imports, or `NotFound`."""
    found = PastImport.objects.filter(user=user, id=import_id).first()
    if found is None:
        raise NotFound("This import does not exist.")
    return found


def list_items(user: User, import_id: UUID) -> QuerySet[ImportItem]:
    """Return the items of an import with their outcomes, in the order of the file; or raise `NotFound`."""
    items = ImportItem.objects.filter(user=user, past_import=get_import(user, import_id))
    return items.order_by("number").defer("payload")


def has_work() -> bool:
    """Whether any import waits for a worker."""
    return PastImport.objects.filter(state__in=UNDER_WAY).exists()
