"""What clients generated from ``/api/schema`` meet: valid and hostile requests to every operation, answered as it says.

The requests are made up by schemathesis from the document itself, the same ones in every run.
"""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks

from tests.contracts.routes import list_api_calls, name_call
from tests.contracts.world import World, build_world
from tests.support.factories import UserFactory
from tests.support.http_server import ApiClient, HttpServer

EXAMPLES = {GenerationMode.POSITIVE: 2, GenerationMode.NEGATIVE: 4}
STATUSES = {200, 201, 202, 400, 404, 405, 409, 413, 415, 422}
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]

DOCUMENT: dict[str, Any] = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
OPERATIONS = [result.ok() for result in schemathesis.openapi.from_dict(DOCUMENT).get_all_operations()]


def name_operation(value: Any) -> str:
    """The ID of a test's parameter."""
    return value.label if hasattr(value, "label") else value.value


def make_somebody(http_server: HttpServer) -> tuple[World, str]:
    """Somebody with one of everything, whom no request has changed, and the header that speaks for them."""
    with ApiClient(http_server, UserFactory.create()) as client:
        return build_world(client), str(client.headers["Authorization"])


@pytest.mark.parametrize("mode", list(EXAMPLES), ids=name_operation)
@pytest.mark.parametrize("operation", OPERATIONS, ids=name_operation)
def test_every_operation_answers_as_the_schema_says(operation: Any, mode: GenerationMode, http_server: HttpServer):
    @settings(
        max_examples=EXAMPLES[mode],
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case: schemathesis.Case) -> None:
        nonlocal somebody
        if somebody is None:
            somebody = make_somebody(http_server)
        world, token = somebody
        case.path_parameters = {name: world.ids[name] for name in case.path_parameters or ()}
        response = case.call(base_url=http_server.url, headers={"Authorization": token})
        assert response.status_code in STATUSES, response.text
        case.validate_response(response, checks=CHECKS)
        if operation.method != "get" and response.status_code < 400:
            somebody = None

    somebody: tuple[World, str] | None = None
    check()


@pytest.mark.parametrize(("route", "method"), list_api_calls(), ids=name_call)
def test_the_document_describes_every_endpoint(route: Any, method: str):
    operation = DOCUMENT["paths"][route.template][method]
    codes = set(operation["responses"])
    assert codes & {"200", "201", "202"}
    assert operation["responses"]["default"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/Error"
    }


def test_the_document_describes_nothing_else():
    described = {(path, method) for path, operations in DOCUMENT["paths"].items() for method in operations}
    assert described == {(route.template, method) for route, method in list_api_calls()}
