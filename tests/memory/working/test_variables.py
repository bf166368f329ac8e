"""Context variables: merging, order, the size limit and eviction."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from apps.memory.working import Variables, measure, merge_from_model, remove, write

pytestmark = pytest.mark.spec("H3", "W3", "W5")

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def written(**values: object) -> Variables:
    """Variables written one minute after the other, in the order given."""
    times = {key: (NOW + timedelta(minutes=index)).isoformat() for index, key in enumerate(values)}
    return Variables(values=values, written=times)


def test_variables_merge_key_by_key_and_null_removes():
    merged = merge_from_model(written(city="北京", days=3), {"days": None, "budget": 500}, now=NOW, max_bytes=1000)
    assert dict(merged.values) == {"city": "北京", "budget": 500}


@pytest.mark.spec("H1")
def test_the_model_cannot_touch_a_form():
    before = written(hitl_行程={"fields": {"目的地": "北京"}}, city="北京")
    merged = merge_from_model(before, {"hitl_行程": None, "hitl_新": 1, "city": "上海"}, now=NOW, max_bytes=1000)
    assert dict(merged.values) == {"hitl_行程": {"fields": {"目的地": "北京"}}, "city": "上海"}


def test_the_size_is_counted_in_bytes_of_utf8():
    assert measure({"城市": "北京"}) == len('{"城市":"北京"}'.encode())


def test_the_least_recently_written_entry_makes_way_and_rewriting_makes_recent():
    current = write(written(a="x" * 10, b="x" * 10, c="x" * 10), "a", "y" * 10, now=NOW, max_bytes=1000)
    limit = measure(current.values)
    grown = write(current, "d", "x" * 10, now=NOW, max_bytes=limit)
    assert list(grown.values) == ["c", "a", "d"]
    assert list(grown.written) == ["c", "a", "d"]


def test_forms_are_never_evicted():
    current = written(hitl_a={"fields": {"k": "x" * 20}}, b="x" * 20)
    grown = write(current, "c", "x" * 20, now=NOW, max_bytes=measure(current.values))
    assert list(grown.values) == ["hitl_a", "c"]


def test_what_cannot_fit_is_refused_whole():
    current = written(hitl_a={"fields": {"k": "x" * 50}}, b="x" * 20)
    assert write(current, "c", "y" * 60, now=NOW, max_bytes=measure(current.values)) is None


def test_a_value_of_the_model_that_cannot_fit_is_dropped_and_evicts_nothing():
    current = written(hitl_a={"fields": {"k": "x" * 50}}, b="x" * 20)
    merged = merge_from_model(current, {"c": "y" * 60, "d": 1}, now=NOW, max_bytes=measure(current.values) + 10)
    assert list(merged.values) == ["hitl_a", "b", "d"]


def test_forms_are_in_order_of_submission_and_the_same_title_moves_last():
    current = Variables()
    for title, value in (("偏好设置", 1), ("行程安排", 2), ("偏好设置", 3)):
        current = write(current, f"hitl_{title}", {"fields": {"v": value}}, now=NOW, max_bytes=1000)
    assert list(current.forms) == ["行程安排", "偏好设置"]
    assert current.forms["偏好设置"] == {"fields": {"v": 3}}


def test_the_order_survives_a_store_that_sorts_keys():
    current = written(zebra=1, apple=2, hitl_b={}, hitl_a={})
    stored = dict(sorted(current.values.items()))
    assert list(Variables.load(stored, current.dump_written()).values) == ["zebra", "apple", "hitl_b", "hitl_a"]


def test_so_does_the_order_of_a_forms_fields():
    form = {"fields": {"目的地": "北京", "date": "周末", "人数": 2}, "timestamp": NOW.isoformat()}
    current = written(hitl_行程=form)
    stored = {"hitl_行程": {**form, "fields": dict(sorted(form["fields"].items()))}}
    loaded = Variables.load(stored, current.dump_written()).values["hitl_行程"]
    assert list(loaded["fields"]) == ["目的地", "date", "人数"]
    assert loaded == form


def test_removing_an_unknown_variable_changes_nothing():
    assert remove(written(a=1), "b") == written(a=1)
