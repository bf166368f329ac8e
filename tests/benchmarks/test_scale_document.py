"""docs/scale.md has the sums and the map that its programs make of the code as it is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.db import IntegrityError, connection, transaction

from apps.conversations.models import Attachment, Session
from benchmarks import citus_map, sums
from tests.accounts.everything import fill_everything
from tests.support.http_server import ApiClient


def test_the_map_is_that_of_the_models() -> None:
    assert citus_map.read_document() == citus_map.render(citus_map.make_map()), (
        "run: python -m benchmarks.citus_map --write"
    )


def test_every_table_of_people_is_spread_by_them() -> None:
    """What is left over either tells who somebody is, or is nobody's."""
    places = {place.table: place for place in citus_map.make_map()}
    assert places["conversation"].kind == places["atomic_memory"].kind == places["turn"].kind == "spread"
    assert places["conversation"].unique == ("reply_to_id", "session_id, idempotency_key", "session_id, position")
    assert {place.table for place in places.values() if place.foreign} == set()
    assert places["forgotten_key"].unique == ()  # has the person in it
    assert places["accounts_apitoken"].kind == places["django_session"].kind == "directory"
    assert places["embedding_model"].kind == "reference"


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_the_keys_of_the_map_hold_for_everything_that_is_remembered(alice: ApiClient, bob: ApiClient) -> None:
    """Tables with rows of two people get these keys, and rows still cannot refer to somebody else's."""
    fill_everything(alice)
    bob.say(bob.new_session(), "Hello").raise_for_status()
    places = citus_map.make_map()
    spread = [place.table for place in places if place.kind == "spread" and not place.nullable]
    with transaction.atomic(), connection.cursor() as cursor:
        statements = citus_map.list_statements(places)
        assert len(statements) > 2 * len(spread)
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for statement in statements:
            cursor.execute(statement)
        assert citus_map.list_statements(places) == []
        cursor.execute(
            "SELECT conrelid::regclass::text FROM pg_constraint WHERE contype = 'p' AND conrelid = ANY(%s::regclass[])"
            " AND (SELECT attnum FROM pg_attribute WHERE attrelid = conrelid AND attname = 'user_id') = conkey[1]",
            [spread],
        )
        assert {table for (table,) in cursor.fetchall()} == set(spread)
        theirs = Session.objects.filter(user=bob.user).values_list("id", flat=True)[0]
        with pytest.raises(IntegrityError, match="same_owner"), transaction.atomic():
            Attachment.objects.filter(user=alice.user).update(session_id=theirs)
        transaction.set_rollback(True)


def test_the_sums_are_those_of_the_units() -> None:
    assert sums.read_document() == sums.render_all(), "run: python -m benchmarks.sums --write"


def test_sums_grow_with_people_and_vectors_with_their_days() -> None:
    units, habits = sums.Units(), sums.Habits()
    one, ten = (sums.calculate(people, units=units, habits=habits) for people in (1_000_000, 10_000_000))
    assert ten.storage == 10 * one.storage
    assert one.turns_per_second == 1_000_000 * 1_000 / (365 * 86_400) * 4
    shorter = sums.calculate(1_000_000, units=units, habits=replace(habits, vector_days=30))
    assert round(one.message_vectors / shorter.message_vectors, 6) == 3
    assert shorter.growth == one.growth  # the vectors of messages come and go
