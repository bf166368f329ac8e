"""Who was moved from one server to another, in the directory's database."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone


class PersonMove(models.Model):
    """A move that has happened: written in the transaction that made the target the person's server.

    So it decides how the transactions end that the other two servers have prepared (`apps.shards.two_phase`).
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="moves")
    source = models.CharField(max_length=30, blank=True)
    target = models.CharField(max_length=30, blank=True)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "person_move"

    def __str__(self) -> str:
        return f"{self.user_id}: {self.source or 'directory'} → {self.target or 'directory'}"
