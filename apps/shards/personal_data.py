"""Where a person's data is belongs to the account: an erasure leaves it (R3)."""

from __future__ import annotations

from apps.accounts.services.personal_data import keep_tables
from apps.shards.models import PersonMove

keep_tables({PersonMove: "between which servers the account's data was moved"})
