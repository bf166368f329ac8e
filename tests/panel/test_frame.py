"""What stands around every page: where one is, and the menu."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.services import update_settings
from apps.memory.models import Change
from apps.memory.services import create_atomic_memory, create_context
from tests.support.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("M5")]


@pytest.fixture
def tang(client: Client) -> User:
    user = UserFactory.create(username="tang", is_staff=True, is_superuser=True)
    client.force_login(user)
    return user


def read_trail(client: Client, address: str) -> str:
    """Where the page says one is."""
    page = client.get(address).content.decode()
    heading = re.search(r"<h1.*?</h1>", page, re.DOTALL)
    assert heading is not None
    words = re.sub(r"<span class=\"material-symbols-outlined.*?</span>", "›", heading[0], flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", "", words).split())


def test_a_row_is_named_by_its_name_and_never_by_its_id(client: Client, tang: User) -> None:
    now = timezone.now()
    context = create_context(user=tang, title="Deposit", content="1,800 euros", now=now)
    assert read_trail(client, reverse("admin:accounts_user_change", args=[tang.pk])) == "Accounts › Users › tang"
    trail = read_trail(client, reverse("admin:memory_sharedcontext_change", args=[context.pk]))
    assert trail == "Memory › Shared contexts"


def test_one_page_of_the_menu_is_the_current_one(client: Client) -> None:
    client.force_login(UserFactory.create())
    for name in ("profile", "profile_profileproposal_changelist", "memory_longtermmemory_changelist", "index"):
        address = reverse(f"admin:{name}")
        groups = client.get(address).context["sidebar_navigation"]
        assert [item["link"] for group in groups for item in group["items"] if item["active"]] == [address]


def test_times_are_those_of_who_asks(client: Client) -> None:
    late = datetime(2026, 11, 8, 20, 30, tzinfo=UTC)
    for zone, day in (("Asia/Shanghai", "Nov. 9, 2026, 4:30 a.m."), (None, "Nov. 8, 2026, 8:30 p.m.")):
        user = UserFactory.create()
        if zone:
            update_settings(user=user, changes={"memory.timezone": zone})
        create_atomic_memory(user=user, content="The user came home.", timestamp=late, now=late)
        client.force_login(user)
        assert day in client.get(reverse("admin:memory_change_changelist")).content.decode()
        assert timezone.get_current_timezone_name() == "UTC"


def test_a_list_says_how_many_rows_it_has(client: Client, tang: User) -> None:
    for number, language, words in ((0, "en", "0 total"), (1, "en", "1 total"), (2, "zh-hans", "共 2 条")):
        Change.objects.all().delete()
        for euros in range(number):
            content = f"{number} times {euros} euros"
            create_atomic_memory(user=tang, content=content, timestamp=timezone.now(), now=timezone.now())
        client.cookies["django_language"] = language
        page = client.get(reverse("admin:memory_change_changelist")).content.decode()
        assert len(re.findall(rf"\s{re.escape(words)}\s", page)) == 1


def test_the_texts_of_scripts_are_fetched_once_for_a_language(client: Client, tang: User) -> None:
    address = reverse("admin:jsi18n")
    texts, tags = {}, {}
    for language in ("en", "zh-hans"):
        client.cookies["django_language"] = language
        answer = client.get(address)
        assert answer["Cache-Control"] == "private, max-age=3600"
        assert {name.strip() for name in answer["Vary"].split(",")} >= {"Accept-Language", "Cookie"}
        texts[language], tags[language] = answer.text, answer["ETag"]
        assert client.get(address, headers={"If-None-Match": tags[language]}).status_code == 304
    assert "\\u9009\\u62e9" in texts["zh-hans"]
    assert "\\u9009\\u62e9" not in texts["en"]
    assert client.get(address, headers={"If-None-Match": tags["en"]}).status_code == 200
