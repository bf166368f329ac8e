"""docs/scale.md has the sums and the map that its programs make of the code as it is."""

from __future__ import annotations

from dataclasses import replace

from benchmarks import citus_map, sums


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
