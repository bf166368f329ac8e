"""`jiyi spaces` and `jiyi move`, and `--space` of other commands."""

from __future__ import annotations

import pytest

from apps.accounts.models import Space
from apps.memory.models import AtomicMemory
from jiyi import Jiyi as Client
from tests.client.cli.conftest import Jiyi

pytestmark = pytest.mark.spec("P5")


@pytest.fixture
def novel(client: Client) -> str:
    """The ID of a space."""
    return client.spaces.create(name="The novel", instructions="Answer as an editor.").id


def test_a_space_is_made_listed_and_deleted(jiyi: Jiyi, client: Client):
    made = jiyi("spaces", "--create", "The novel", "--kind", "character")
    space = Space.objects.get()
    row = ["The novel", "character", "0", "0", str(space.id)]
    assert (made.code, made.rows) == (0, [row])
    assert jiyi("spaces").rows == [row]
    assert jiyi("spaces", "--create", "the novel").code == 1
    client.atomic.create(content="The heroine sings.", space=str(space.id))
    assert jiyi("search", "heroine").rows == []
    assert len(jiyi("search", "heroine", "--space", "all").rows) == 1
    assert jiyi("spaces", "--delete", "the novel", "--to", "none", typed="n\n").code == 130
    assert jiyi("spaces", "--delete", "the novel", "--erase", "--yes", "--json").json["erased"]["atomic"] == 1
    assert not Space.objects.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["spaces", "--delete", "The novel"],
        ["spaces", "--delete", "The novel", "--to", "none", "--erase"],
        ["spaces", "--delete", "The novel", "--erase"],
        ["spaces", "--delete", "garden", "--erase", "--yes"],
        ["spaces", "--create", "x", "--delete", "The novel"],
        ["spaces", "--erase"],
        ["spaces", "--kind", "character"],
        ["add", "x", "--space", "garden"],
        ["move", "1", "--to", "garden"],
        ["ask", "x", "--space", "The novel", "--session", "1"],
    ],
)
def test_what_cannot_be_meant_changes_nothing(arguments: list[str], jiyi: Jiyi, novel: str):
    done = jiyi(*arguments)
    assert (done.code, done.out) == (2, "")
    assert Space.objects.filter(id=novel).exists()
    assert not AtomicMemory.objects.exists()
