"""What clients generated from the OpenAPI document meet: valid and hostile requests, answered as the document says.

The examples of every operation are sent with hostile headers. Schemathesis also makes up requests from the document,
the same ones in every run, and its engine finds more: sequences of requests that belong together, boundary values,
other methods, requests without a token.
"""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from django.test import override_settings
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi import checks

from tests.contracts.document import Described, get_document, list_described, list_examples
from tests.contracts.routes import list_routes
from tests.contracts.world import World, build_world
from tests.support.factories import UserFactory
from tests.support.http_server import ApiClient, HttpServer

pytestmark = pytest.mark.long

EXAMPLES = {GenerationMode.POSITIVE: 2, GenerationMode.NEGATIVE: 4}
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
HOSTILE_HEADERS: dict[str, str] = {
    "Accept": "text/html;q=zero, */*;;",
    "Accept-Language": "zh-Hans-CN;q=9, *;q=x",
    "Content-Encoding": "gzip",
    "Cookie": "sessionid=; csrftoken=x; =;;",
    "If-Match": "*",
    "Range": "bytes=5-1",
    "X-Forwarded-For": "' OR 1=1 --",
    "X-HTTP-Method-Override": "DELETE",
    "X-Request-ID": "x" * 1000,
}
ENGINE = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(Path(__file__).with_name("schemathesis.toml"))]
LONG_RUN = ["--phases", "examples,coverage,fuzzing,stateful", "--max-examples", "15", "--seed", "1"]

NEED_A_MODEL = {"create_tidying"}  # none is connected here: this is refused

OPERATIONS = [
    result.ok() for result in schemathesis.openapi.from_dict(copy.deepcopy(get_document())).get_all_operations()
]


def make_somebody(http_server: HttpServer) -> tuple[World, str]:
    """Somebody with one of everything, whom no request has changed, and the header that speaks for them."""
    with ApiClient(http_server, UserFactory.create()) as client:
        return build_world(client), str(client.headers["Authorization"])


@pytest.mark.timeout(1100)
def test_every_operation_answers_as_the_document_says(subtests: pytest.Subtests, http_server: HttpServer) -> None:
    somebody: tuple[World, str] | None = None

    def check(case: schemathesis.Case) -> None:
        nonlocal somebody
        if somebody is None:
            somebody = make_somebody(http_server)
        world, token = somebody
        case.path_parameters = {name: world.ids[name] for name in case.path_parameters or ()}
        response = case.call(base_url=http_server.url, headers={"Authorization": token})
        # IDs and the token were replaced by good ones, and unknown parameters of a query are ignored.
        body = case.meta.components.get(ParameterLocation.BODY)
        refused = [checks.negative_data_rejection] if body and body.mode is GenerationMode.NEGATIVE else []
        case.validate_response(response, checks=[*CHECKS, *refused])
        if case.method.lower() != "get" and response.status_code < 400:
            somebody = None

    for operation in OPERATIONS:
        for mode, examples in EXAMPLES.items():
            made_up = settings(
                max_examples=examples,
                derandomize=True,
                database=None,
                deadline=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            with subtests.test(operation.label, mode=mode):
                made_up(given(case=operation.as_strategy(generation_mode=mode))(check))()


@override_settings(WEBHOOKS="public")
def test_the_examples_of_requests_work_whatever_headers_come_with_them(
    subtests: pytest.Subtests, http_server: HttpServer
) -> None:
    routes = {route.template: route for route in list_routes()}
    for described in list_described():
        user = UserFactory.create()
        with subtests.test(described.name), ApiClient(http_server, user) as client:
            route = routes[described.path]
            path = route.path(**build_world(client).values(route))
            for body in list_bodies(described, client):
                parameters = {"q": "violet", "confirm": "all", "memories": "move", "to": "none"}
                answer = client.request(described.method, path, params=parameters, headers=HOSTILE_HEADERS, **body)
                served = (409,) if described.id in NEED_A_MODEL else (200, 201, 202)
                assert answer.status_code in served, answer.text
                assert str(answer.status_code) in described.operation["responses"]


def list_bodies(described: Described, client: ApiClient) -> Iterator[dict[str, Any]]:
    """Yield the examples of an operation's body, as `httpx2` takes them, with what is this person's own."""
    media_type, media = described.request or ("", {})
    for example in list_examples(media) or [None]:
        if media_type == "multipart/form-data":
            content = b'{"memory": "The user lives in York."}' if described.path == "/memory/imports" else b"[]"
            yield {"files": dict.fromkeys(example, ("memories.json", content))}
        elif media_type:
            session = {name: client.new_session() for name in ("session_id", "chat_id") if name in example}
            confirm = {"confirm": client.user.username} if "confirm" in example else {}
            yield {"json": {**example, **session, **confirm}}
        else:
            yield {}


@pytest.mark.timeout(1100)
def test_the_engine_finds_nothing_in_a_longer_run(alice: ApiClient, tmp_path: Path):
    document = tmp_path / "openapi.json"
    document.write_text(json.dumps(get_document()))
    build_world(alice)
    where = [str(document), "--url", str(alice.base_url)]
    header = f"Authorization: {alice.headers['Authorization']}"
    command = [*ENGINE, "run", *where, *LONG_RUN, "--header", header]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=1000)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
