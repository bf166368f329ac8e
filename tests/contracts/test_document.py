"""The OpenAPI document is complete: what a route added later lacks, it says (see ``apps/core/operations.py``)."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from project.openapi import ENUM_NAMES, TAGS
from tests.contracts.document import (
    check_example,
    get_document,
    list_described,
    list_examples,
    list_fields,
    list_texts,
    resolve,
)
from tests.contracts.routes import list_api_calls

CONTRACT = Path(__file__).with_name("api_contract.txt")
VERBS = {
    "accept", "add", "attach", "create", "delete", "edit", "erase", "export", "forget", "get", "import", "list", "mark",
    "move", "preview", "record", "regenerate", "reject", "replace", "retry", "rotate", "search", "send", "stop",
    "submit", "undo", "update",
}  # fmt: skip
WITHOUT_BODY = {"accept", "forget", "reject", "rotate-secret", "seen", "stop", "test", "tidyings", "undo"}


def split_events(stream: str) -> list[dict[str, str]]:
    """The events of a stream with the fields that they have."""
    return [dict(line.split(": ", 1) for line in event.splitlines()) for event in stream.split("\n\n") if event]


def test_the_document_describes_every_endpoint_and_nothing_else() -> None:
    assert {(described.path, described.method) for described in list_described()} == {
        (route.template, method) for route, method in list_api_calls()
    }


def test_what_clients_build_on_is_there(subtests: pytest.Subtests) -> None:
    text = CONTRACT.read_text().replace(" | |", " |  |")
    lines = [line.split(" | ") for line in text.splitlines() if " | " in line]
    objects = {line[0]: line[1].split() for line in lines if len(line) == 2}
    by_name = {described.name: described for described in list_described()}
    for name, taken, answered in (line for line in lines if len(line) == 3):
        with subtests.test(name):
            described = by_name[name]
            body = described.request[1]["schema"] if described.request else {}
            takes = {one["name"] for one in described.operation.get("parameters", [])} | list_fields(body)
            assert set(taken.split()) <= takes
            answers = set[str]()
            for status, response in described.operation["responses"].items():
                if status < "300":
                    for media in response["content"].values():
                        answers |= list_fields(media["schema"])
            assert set(objects.get(answered, answered.split())) <= answers


def test_ids_are_given_once_and_every_tag_is_used() -> None:
    assert [name for name, times in Counter(described.id for described in list_described()).items() if times > 1] == []
    assert {tag for described in list_described() for tag in described.operation["tags"]} == set(TAGS)


def test_an_operation_is_described_with_its_parameters_body_and_errors(subtests: pytest.Subtests) -> None:
    for described in list_described():
        with subtests.test(described.name):
            operation = described.operation
            assert re.fullmatch(r"[a-z]+(_[a-z]+)+", described.id)
            assert described.id.split("_")[0] in VERBS
            assert re.fullmatch(r"[A-Z][^.]{3,60}", operation["summary"])
            assert len(operation["tags"]) == 1
            for parameter in operation.get("parameters", []):
                assert parameter["description"].endswith("."), parameter["name"]
                assert "type" in parameter["schema"], parameter["name"]
            if described.request:
                assert list_examples(described.request[1])
            else:
                assert described.method in ("get", "delete") or described.path.split("/")[-1] in WITHOUT_BODY
            errors = {status: resolve(one) for status, one in operation["responses"].items() if status >= "400"}
            assert set(operation["responses"]) - set(errors) <= {"200", "201", "202"}
            assert {"401", "403", "429", "503"} <= set(errors)
            shape = "OpenAIError" if described.path.startswith("/v1/") else "Error"
            for error in errors.values():
                assert error["content"]["application/json"]["schema"] == {"$ref": f"#/components/schemas/{shape}"}


@pytest.mark.long
def test_every_example_is_valid(subtests: pytest.Subtests) -> None:
    for name, schema in get_document()["components"]["schemas"].items():
        for example in schema.get("examples", []):
            with subtests.test(name):
                check_example(example, schema)
    for described in list_described():
        with subtests.test(described.name):
            for response in map(resolve, described.operation["responses"].values()):
                assert response["description"]
                for media_type, media in response["content"].items():
                    examples = list_examples(media)
                    if media_type == "text/event-stream":  # before OpenAPI 3.2, the schema is that of an event
                        examples = [event for example in examples for event in split_events(example)]
                    for example in examples:
                        check_example(example, media["schema"])


def test_every_enumeration_has_a_name() -> None:
    """Of those that fields share; an unnamed one is called after its field, and changes its name with the next one."""
    schemas = get_document()["components"]["schemas"]
    assert {name for name, schema in schemas.items() if "enum" in schema} == set(ENUM_NAMES)


def test_an_object_has_a_description(subtests: pytest.Subtests) -> None:
    for name, schema in get_document()["components"]["schemas"].items():
        with subtests.test(name):
            assert "enum" in schema or name.endswith("Page") or schema["description"].endswith(".")
            assert not re.search(r"Enum$|Serializer|Patched|RequestRequest", name)


def test_texts_are_for_people_who_do_not_know_the_specification() -> None:
    texts = list(list_texts(get_document()))
    assert len(texts) > 300
    assert [text for text in texts if re.search(r"\b[A-Z]\d{1,2}\b", text)] == []
