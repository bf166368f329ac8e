"""The tables of a person's data in this app (R2, R3)."""

from __future__ import annotations

from apps.accounts.services.personal_data import PersonalTable, register_tables
from apps.gateway.models import StoredResponse

register_tables(PersonalTable(StoredResponse))
