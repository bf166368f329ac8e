"""The tables of a person's data in this app (R2, R3)."""

from __future__ import annotations

from apps.accounts.services.personal_data import PersonalTable, Restoration, register_tables
from apps.chat.models import Edit, Turn


def _prepare_turn(turn: Turn, restoration: Restoration) -> None:
    """Digests of layers are made with the installation's key: elsewhere they would say that every prompt differs."""
    if not restoration.digests_hold:
        turn.layers = [{name: value for name, value in layer.items() if name != "digest"} for layer in turn.layers]


register_tables(
    PersonalTable(Turn, prepare=_prepare_turn, identity=("assistant_message_id",)),
    PersonalTable(Edit, identity=("message_id",)),
)
