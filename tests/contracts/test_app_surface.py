"""What the contract about other apps' insides lets through and what it refuses."""

from __future__ import annotations

import pytest

from tests.contracts.app_surface import AppSurfaceContract

contract = AppSurfaceContract(
    name="surface", session_options={}, contract_options={"root": "apps", "libraries": ["core"]}
)


@pytest.mark.parametrize(
    "imported",
    ["apps.memory.services", "apps.memory.long_term.types", "apps.memory.models.atomic", "apps.core.text.fold",
     "apps.chat.turn.run", "django.db", "apps"],
)  # fmt: skip
def test_the_surface_the_library_and_the_own_inside_are_open(imported: str) -> None:
    assert not contract.reaches_inside("apps.chat.turn.open", imported)


@pytest.mark.parametrize("imported", ["apps.memory.long_term.ledger", "apps.memory.retrieval", "apps.memory"])
def test_another_apps_inside_is_closed(imported: str) -> None:
    assert contract.reaches_inside("apps.chat.turn.open", imported)
