"""However many rows there are, a page of the panel takes the same number of queries, and at most twenty (issue 4).

The pages are those of the panel's benchmark, whose lists, filters and orders are found in the site; which addresses are
no lists stands here, so that a list added later is counted or fails. The pages are asked for in the long tests only.
"""

from __future__ import annotations

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.test import Client

from apps.accounts.models import User
from benchmarks.panel.copying import drop_vector_indexes
from benchmarks.panel.measuring import count_queries
from benchmarks.panel.pages import list_pages
from benchmarks.panel.rows import Sizes, fill
from tests.panel.test_access import list_addresses

FEW, MANY, MOST_QUERIES = 50, 250, 20
MOST_IN_PLAYGROUND = 32  # it recalls as a turn does, and once more for the second settings

pytestmark = [pytest.mark.django_db, pytest.mark.spec("M1", "M5")]

NO_LISTS = {
    # Parts of other pages, and what forms are sent to
    "undo", "models", "session_export", "transfer_download", "transfer_preview", "transfer_confirm", "profile_section",
    "profile_proposal", "profile_restore", "playground_save", "review_consequence", "review_editor", "review_decide",
    "review_undo", "erasure_export", "work_replay", "memory_sharedcontext_entries", "memory_workingmemory_variables",
    "memories_bulk", "memories_clear", "models_server", "models_test", "models_try", "models_default", "models_remove",
    "security_password", "security_session", "security_two_factor", "security_codes", "security_two_factor_off",
    "security_connect", "security_disconnect", "accounts_user_two_factor",
    # One row of what the list shows
    "accounts_loginattempt_change",
    # Leads to the page of the profile
    "profile_userprofile_change",
    # One's own account, and somebody's password
    "password_change", "password_change_done", "auth_user_password_change",
}  # fmt: skip

NO_LISTS_OF_TABLES = {
    "add", "history", "delete", "row", "edit", "bulk", "clear", "decide", "restore", "undo", "supersede", "merge",
    "mute", "remove", "active",
}  # fmt: skip
"""How the names of such addresses end that are about a table's rows."""

Counts = dict[str, tuple[int, int]]
"""Status and number of queries of every page, by who asks and its name."""


@pytest.fixture
def staff(db: None) -> User:
    drop_vector_indexes()  # for this test: none of the pages takes another number of queries without
    return User.objects.create_superuser("staff")


def count_pages(owner: User, /, **roles: User) -> Counts:
    """Ask for every page about `owner` in each of these roles."""
    ContentType.objects.get_for_models(*apps.get_models(), for_concrete_models=False)  # which are kept from then on
    found: Counts = {}
    for role, who in roles.items():
        browser = Client(raise_request_exception=False)
        browser.force_login(who)
        pages = list_pages(owner=owner, who=who, brief=True)
        found |= {f"{role}: {page.name}": count_queries(browser, page) for page in pages}
    return found


def give(name: str, rows: int) -> User:
    owner = User.objects.create_user(name)
    fill(owner, Sizes.with_each(rows))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return owner


def find_slow(counts: Counts) -> Counts:
    """The pages that fail, or take too many queries."""
    return {
        name: (status, queries)
        for name, (status, queries) in counts.items()
        if status != 200 or queries > (MOST_IN_PLAYGROUND if "playground" in name else MOST_QUERIES)
    }


@pytest.mark.long
def test_no_page_takes_a_query_for_each_row(staff: User) -> None:
    owner = give("owner", FEW)
    counts = count_pages(owner, owner=owner)
    assert find_slow(counts) == {}
    assert len(counts) > 100


@pytest.mark.long
def test_the_number_of_queries_does_not_grow_with_the_rows(staff: User) -> None:
    owners = [give("owner of few", FEW), give("owner of many", MANY)]
    few, many = (count_pages(owner, owner=owner, staff=staff) for owner in owners)
    assert find_slow(many) == {}
    assert few == many
    assert len(many) > 200


@pytest.mark.long
def test_every_list_and_search_is_counted(staff: User) -> None:
    counted = {page.view for page in list_pages(owner=give("owner", 20), who=staff)}
    tables = {f"{model._meta.app_label}_{model._meta.model_name}" for model in admin.site._registry}
    uncounted = set()
    for address in list_addresses():
        table, _, end = address.name.rpartition("_")
        is_no_list = address.name in NO_LISTS or (table in tables and end in NO_LISTS_OF_TABLES)
        if address.name not in counted and not is_no_list:
            uncounted.add(address.name)
    assert uncounted == set()
