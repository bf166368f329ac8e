"""What clients generated from the OpenAPI document meet: valid and hostile requests, answered as the document says.

The examples of every operation are sent with hostile headers. Schemathesis also makes up requests from the document,
the same ones in every run: sequences of requests that belong together, boundary values, other methods.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contracts.document import Described, check_example, get_document, list_described, list_examples
from tests.contracts.routes import list_routes
from tests.contracts.world import build_world
from tests.support.factories import UserFactory
from tests.support.http_server import ApiClient, HttpServer

pytestmark = pytest.mark.long

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
                parameters = {"q": "violet", "confirm": "all"}
                answer = client.request(described.method, path, params=parameters, headers=HOSTILE_HEADERS, **body)
                assert answer.status_code in (200, 201, 202), answer.text
                media = described.operation["responses"][str(answer.status_code)]["content"]
                schema = media[answer.headers["content-type"].partition(";")[0]].get("schema")
                if answer.headers["content-type"].startswith("application/json"):
                    check_example(answer.json(), schema)


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
