"""The alert rules and the dashboard name only metrics that ``/metrics`` has (docs/observability.md)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.test import Client
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from tests.support.http_server import ApiClient
from tests.support.scripted_model import Json, ScriptedModel

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "deploy/prometheus/rules.yml"
DASHBOARD = ROOT / "deploy/grafana/jiyi.json"

_METRIC = re.compile(r"\b(?:jiyi|django|process)_\w+|\bup\b")
_SERIES = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum")}
_OF_PROMETHEUS = {"up"}


def list_rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def list_expressions() -> Iterator[str]:
    yield from (rule["expr"] for rule in list_rules())
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        yield from (target["expr"] for target in panel["targets"])


@pytest.mark.django_db
def test_every_metric_that_is_named_is_exported(client: Client) -> None:
    answer = client.get("/metrics", headers={"host": "localhost"})
    assert answer.status_code == 200  # those of requests are made with the first one
    exported = {family.name + ending for family in REGISTRY.collect() for ending in _SERIES.get(family.type, ("",))}
    named = {name for expression in list_expressions() for name in _METRIC.findall(expression)}
    assert len(named) > 8
    assert named - exported - _OF_PROMETHEUS == set()


@pytest.mark.long
def test_turns_are_measured(alice: ApiClient, model: ScriptedModel) -> None:
    def read() -> dict[tuple[str, str], float]:
        text = Client().get("/metrics", headers={"host": "localhost"}).content.decode()
        samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
        return {
            (sample.name, sample.labels.get("outcome") or sample.labels.get("reason") or ""): sample.value
            for sample in samples
            if sample.name.startswith("jiyi_turn") and "le" not in sample.labels
        }

    session, before = alice.new_session(), read()
    alice.say(session, "你好").raise_for_status()
    model.script(Json({"error": {"message": "no"}}, status=400))
    assert alice.say(session, "再来").status_code >= 500
    after = read()
    grown = {name for name, value in after.items() if value > before.get(name, 0)}
    assert {
        ("jiyi_turn_seconds_count", "done"),
        ("jiyi_turn_seconds_count", "failed"),
        ("jiyi_turn_first_token_seconds_count", ""),
    } <= grown
    assert any(name == "jiyi_turn_failures_total" for name, _reason in grown)
