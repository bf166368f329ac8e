"""The tables of a person's data in this app (R2, R3): their webhooks, and events about them for anybody's."""

from __future__ import annotations

from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.services.personal_data import PersonalTable, register_tables
from apps.webhooks.models import Delivery, Webhook
from apps.webhooks.services import announce_erasure


def _announce(user: User) -> None:
    announce_erasure(user, now=timezone.now())


register_tables(
    # Without its secret a hook is of no use elsewhere.
    PersonalTable(Webhook, restored=False, not_exported=("encrypted_secret",), before_erasure=_announce),
    PersonalTable(Delivery, owner="person", restored=False),
)
