"""Metrics that alerts and the dashboard name; a turn and its job as one trace, without a word of anybody."""

from __future__ import annotations

import ast
import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.test import Client
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

import apps
from apps.accounts.models import User
from apps.conversations.models import Work
from apps.conversations.worker import claim_batch, drain
from apps.core import tracing
from apps.core.apps import check_tracing
from apps.core.logs import add_trace
from apps.core.tracing import ENDPOINTS, get_ids, get_traceparent, is_configured, span, use_tracer
from apps.core.tracing_export import ALLOWED, AllowedOnly, _Tracer
from tests.chat.turn.test_killed import connect, web_process
from tests.observability.receiver import Receiver, run_receiver
from tests.support.answers import answer
from tests.support.http_server import ApiClient
from tests.support.processes import wait_until
from tests.support.scripted_model import Json, ScriptedModel
from tests.support.workers import PROJECT, run_worker

pytestmark = pytest.mark.long_except(
    "test_a_turn_is_one_trace_of_ids_and_numbers",
    "test_a_job_belongs_to_the_trace_of_the_turn_that_left_it",
    "test_an_error_is_told_by_its_name",
    "test_a_log_line_names_its_span",
    "test_while_it_is_off_a_span_is_nothing_and_opentelemetry_is_imported_in_one_place",
    "test_a_collector_without_the_extra_is_a_warning",
    "test_while_it_is_off_a_process_has_nothing_that_traces",
    "test_one_trace_goes_from_the_web_process_to_the_worker",
)

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


# A word of the person's that must not be in any trace.
SECRET = "zebrafish"


@pytest.fixture
def traced() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(AllowedOnly(exporter)))
    use_tracer(_Tracer(provider))
    yield exporter
    use_tracer(None)
    provider.shutdown()


def by_name(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {one.name: one for one in exporter.get_finished_spans()}


TURN = {"turn", "open turn", "retrieve", "build context", "store turn"}


@pytest.mark.spec("R3")
def test_a_turn_is_one_trace_of_ids_and_numbers(
    alice: ApiClient, model: ScriptedModel, traced: InMemorySpanExporter
) -> None:
    model.script(answer(f"I see, {SECRET}."))
    session = alice.new_session()
    traced.clear()
    said = alice.say(session, f"I have a {SECRET} called Nemo").raise_for_status().json()
    wait_until(lambda: "turn" in by_name(traced))
    spans = by_name(traced)
    call = next(one for name, one in spans.items() if name.startswith("chat "))
    turn = spans["turn"]
    assert set(spans) >= TURN
    assert turn.context is not None
    assert {spans[name].context.trace_id for name in TURN} == {turn.context.trace_id}  # type: ignore[union-attr]
    asked = spans["POST chat/sessions/<str:session_id>/messages"]
    assert asked.context is not None
    assert turn.parent is not None
    assert turn.parent.span_id == asked.context.span_id
    assert dict(turn.attributes or {}) == {
        "jiyi.user.id": str(alice.user.pk),
        "gen_ai.conversation.id": session,
        "jiyi.message.id": said["user_message"]["id"],
    }
    assert (call.attributes or {})["gen_ai.operation.name"] == "chat"
    assert SECRET not in "".join(one.to_json() for one in traced.get_finished_spans())
    traces = set(Work.objects.values_list("trace", flat=True))
    assert {value.split("-")[1] for value in traces} == {f"{turn.context.trace_id:032x}"}


@pytest.mark.django_db(transaction=True)
def test_a_job_belongs_to_the_trace_of_the_turn_that_left_it(alice: ApiClient, traced: InMemorySpanExporter) -> None:
    alice.say(alice.new_session(), "I have a cat").raise_for_status()
    alice.say(alice.new_session(), "I have a dog").raise_for_status()
    Work.objects.exclude(kind="embed").delete()
    wait_until(lambda: sum(one.name == "turn" for one in traced.get_finished_spans()) == 2)
    turns = [one.context for one in traced.get_finished_spans() if one.name == "turn"]
    drain(kind="embed", token="t", claim=claim_batch, job=lambda claim: Work.objects.all().delete() and None)
    job = by_name(traced)["job embed"]
    linked = [link.context.trace_id for link in job.links]
    assert [job.context.trace_id, *linked] == [one.trace_id for one in turns if one]  # type: ignore[union-attr]
    assert dict(job.attributes or {}) == {"jiyi.work.kind": "embed", "jiyi.work.count": 4}  # messages and replies


def test_an_error_is_told_by_its_name(traced: InMemorySpanExporter) -> None:
    with pytest.raises(ValueError, match=SECRET), span("turn", jiyi__user__id="1", something__else=SECRET):
        raise ValueError(SECRET)
    (found,) = traced.get_finished_spans()
    assert dict(found.attributes or {}) == {"jiyi.user.id": "1", "error.type": "ValueError"}
    assert SECRET not in found.to_json()
    assert set(found.attributes or {}) <= ALLOWED


def test_a_log_line_names_its_span(traced: InMemorySpanExporter) -> None:
    with span("turn"):
        assert get_ids() is not None
        trace_id, span_id = get_ids() or ("", "")
        line = add_trace(logging, "info", {"event": "x"})
        assert line == {"event": "x", "trace_id": trace_id, "span_id": span_id}
        assert get_traceparent().startswith(f"00-{trace_id}-{span_id}-")
    assert add_trace(logging, "info", {"event": "x"}) == {"event": "x"}


@pytest.mark.long
def test_while_it_is_off_a_span_is_nothing_and_opentelemetry_is_imported_in_one_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ENDPOINTS:
        monkeypatch.delenv(name, raising=False)
    assert not is_configured()
    with span("turn", parent="", jiyi__user__id="1") as current:
        current.set(error__type="x")
        current.fail("y")
        assert (get_traceparent(), get_ids()) == ("", None)
    importing = [path for path in Path(apps.__path__[0]).rglob("*.py") if _imports_opentelemetry(path)]
    assert [path.name for path in importing] == ["tracing_export.py"]
    monkeypatch.setenv(ENDPOINTS[0], "http://127.0.0.1:1")
    assert is_configured()
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert not is_configured()


def test_a_collector_without_the_extra_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENDPOINTS[0], "http://127.0.0.1:1")
    monkeypatch.delenv("OTEL_SDK_DISABLED", raising=False)
    assert check_tracing() == []
    monkeypatch.setattr(tracing, "is_installed", lambda: False)
    assert [message.id for message in check_tracing()] == ["core.W003"]
    tracing.start_tracing("web")
    assert not tracing.is_on()


def _imports_opentelemetry(path: Path) -> bool:
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    modules = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    modules += [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return any(module.partition(".")[0] == "opentelemetry" for module in modules)


@pytest.mark.long
@pytest.mark.usefixtures("servers")
def test_while_it_is_off_a_process_has_nothing_that_traces() -> None:
    # redis-py and the MCP SDK import OpenTelemetry's interface by themselves wherever it is installed.
    program = (
        "import sys, project.celery, project.asgi\n"
        "from celery.signals import worker_process_init\n"
        "from project.celery import trace; trace()\n"
        "parts = ('exporter', 'instrumentation', 'proto', 'sdk.trace', 'distro')\n"
        "names = ('apps.core.tracing_export', *(f'opentelemetry.{part}' for part in parts))\n"
        "print([name for name in sys.modules if name.startswith(names)])"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=PROJECT, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with run_receiver() as found:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", found.url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
        yield found


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_one_trace_goes_from_the_web_process_to_the_worker(
    scripted_model: ScriptedModel, receiver: Receiver, tmp_path: Path
) -> None:
    user = User.objects.create_user("alice")
    with (
        run_worker(model=scripted_model, lease_seconds=60, log=tmp_path / "worker.log"),
        web_process(model=scripted_model, lease_seconds=60) as (_process, url),
        connect(url, user) as client,
    ):
        session = client.post("/chat/sessions", json={}).raise_for_status().json()["id"]
        body = {"content": f"I have a {SECRET}"}
        client.post(f"/chat/sessions/{session}/messages?q={SECRET}", json=body).raise_for_status()
        wait_until(lambda: receiver.find("job embed") and receiver.find("turn"))
    turn, job = receiver.find("turn"), receiver.find("job embed")
    assert turn is not None
    assert job is not None
    assert (turn.service, job.service) == ("jiyi-web", "jiyi-worker")
    assert turn.trace_id == job.trace_id
    trace = [one for one in receiver.spans if one.trace_id == turn.trace_id]
    assert {one.name for one in trace} >= TURN
    assert any(one.attributes.get("db.system") == "postgresql" for one in trace)
    assert all(set(one.attributes) <= ALLOWED for one in receiver.spans)
    assert SECRET.encode() not in receiver.raw
