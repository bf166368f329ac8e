"""However many rows there are, a list or an overview takes the same number of queries, and at most twenty."""

from __future__ import annotations

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.accounts.models import User
from tests.contracts.world import build_world
from tests.support.http_server import ApiClient, HttpServer

MOST_QUERIES = 20
GATHERING = ("index", "review", "memories_changelist", "timeline", "embeddings", "cost")

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spec("M1", "M5"), pytest.mark.long]


def count_queries(browser: Client) -> dict[str, int]:
    """Ask for the list of every table, and for pages that gather; return how many queries each takes."""
    found = {}
    lists = [f"{model._meta.app_label}_{model._meta.model_name}_changelist" for model in admin.site._registry]
    for address in (reverse(f"admin:{name}") for name in [*lists, *GATHERING]):
        with CaptureQueriesContext(connection) as captured:
            response = browser.get(address)
        if response.status_code == 200:
            found[address] = sum("SAVEPOINT" not in query["sql"] for query in captured.captured_queries)
    return found


def test_the_number_of_queries_does_not_grow_with_the_rows(http_server: HttpServer) -> None:
    browser = Client()
    browser.force_login(User.objects.create_superuser("staff"))

    def make_people(*names: str) -> None:
        for name in names:
            with ApiClient(http_server, User.objects.create_user(name)) as client:
                build_world(client, secret=f"紫罗兰 {name}")

    make_people("alice", "bob")
    few = count_queries(browser)
    make_people("carol", "dave", "eve", "frank")
    many = count_queries(browser)
    assert len(many) > 5
    assert few == many
    assert max(many.values()) <= MOST_QUERIES
