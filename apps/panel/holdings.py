"""How much is held of a person, by table, and the receipt of its erasure, as templates show them (R3)."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict
from typing import Any

from django.utils import timezone

from apps.accounts.services.erasure import Receipt
from apps.accounts.services.personal_data import list_tables


def show_held(counts: dict[str, int]) -> dict[str, Any]:
    """What the templates need to say how much there is, by table."""
    most = max(counts.values(), default=0) or 1
    tables = [
        {"title": title, "count": counts[name], "share": round(counts[name] / most, 3)}
        for name, title in _title_tables().items()
    ]
    return {
        "tables": sorted((table for table in tables if table["count"]), key=lambda table: -table["count"]),
        "total": sum(counts.values()),
    }


def show_receipt(receipt: Receipt, user_id: int) -> dict[str, Any]:
    """What the template of a receipt needs."""
    tables = [{"title": title, "count": receipt.deleted[name]} for name, title in _title_tables().items()]
    return {
        "receipt": receipt,
        "tables": [table for table in tables if table["count"]],
        "total": sum(receipt.deleted.values()),
        "now": timezone.now(),
        "document": _write_receipt(receipt, user_id),
    }


def _title_tables() -> dict[str, str]:
    return {table.name: str(table.model._meta.verbose_name_plural) for table in list_tables()}


def _write_receipt(receipt: Receipt, user_id: int) -> str:
    """The receipt as a link to a file that holds it: it is kept nowhere else."""
    said = {"user": user_id, "erased_at": timezone.now().isoformat(timespec="seconds"), **asdict(receipt)}
    return "data:application/json;base64," + base64.b64encode(json.dumps(said, indent=2).encode()).decode()
