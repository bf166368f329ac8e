"""The tables of a person's data in this app (R2, R3). What was paid elsewhere is not restored here."""

from __future__ import annotations

from apps.accounts.services.personal_data import PersonalTable, keep_tables, register_tables
from apps.costs.ledger import sum_up_calls
from apps.costs.models import Budget, ModelCall

register_tables(PersonalTable(ModelCall, not_exported=("service",), restored=False, before_erasure=sum_up_calls))

keep_tables({Budget: "how much the account may cost a month"})
