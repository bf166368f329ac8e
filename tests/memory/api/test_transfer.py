"""REST of export and import (M4), as a client sees it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.memory.models import LongTermMemory
from tests.support.factories import LongTermMemoryFactory

pytestmark = pytest.mark.spec("M4")

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
EXPORT, IMPORT = "/memory/long-term/export?format=json", "/memory/long-term/import"


def upload(client: APIClient, content: Any) -> Any:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return client.post(IMPORT, {"file": SimpleUploadedFile("memories.json", data)}, format="multipart")


def read(response: Any) -> Any:
    return json.loads(b"".join(response.streaming_content))


def test_the_export_is_what_the_api_says_of_every_status(client: APIClient, user: User) -> None:
    for number, value in enumerate(["上海", "北京"]):
        LongTermMemoryFactory(user=user, key="城市", value=value, now=NOW + timedelta(microseconds=number))
    LongTermMemoryFactory(key="somebody else's")
    response = client.get(EXPORT)
    assert response["Content-Type"] == "application/json"
    assert response["Content-Disposition"].startswith('attachment; filename="jiyi-long-term-')
    exported = read(response)
    assert [row["value"] for row in exported] == ["北京", "上海"]
    assert exported == client.get("/memory/long-term?status=all").json()["results"]


def test_another_format_is_refused(client: APIClient) -> None:
    response = client.get("/memory/long-term/export?format=csv")
    assert (response.status_code, response.json()["error"]["fields"]) == (400, {"format": ["Must be json."]})


def test_an_import_says_what_it_did(client: APIClient, user: User) -> None:
    mine = LongTermMemoryFactory(user=user, key="城市", value="上海")
    same = LongTermMemoryFactory(user=user, key="same")
    rows = [row for row in read(client.get(EXPORT)) if row["id"] in (str(mine.id), str(same.id))]
    rows = [{**row, "value": "北京"} if row["id"] == str(mine.id) else row for row in rows]
    response = upload(client, [*rows, {"category": "fact", "key": "new", "value": 1}])
    assert response.status_code == 200
    assert response.json() == {"created": 1, "updated": 1, "skipped": 1, "refused": [], "errors": []}


def test_bad_rows_are_told_and_nothing_is_written(client: APIClient) -> None:
    response = upload(client, [{"category": "fact", "key": "k", "value": 1}, {"category": "x", "key": "", "value": 1}])
    assert response.status_code == 422
    error = response.json()["error"]
    assert error["code"] == "import_refused"
    assert error["fields"] == {
        "errors": [
            {
                "row": 2,
                "reasons": {"category": ["Must be one of: preference, fact, pattern."], "key": ["Must not be blank."]},
            }
        ]
    }
    assert not LongTermMemory.objects.exists()
