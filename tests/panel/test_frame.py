"""What stands around every page: where one is, and the menu."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.services.people import update_settings
from apps.memory.contexts import create_context
from apps.memory.lifecycle import create_atomic_memory
from tests.support.factories import UserFactory

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.spec("M5"),
    pytest.mark.long_except("test_the_menu_has_nine_items_for_everybody"),
]


def read_trail(client: Client, address: str, **headers: Any) -> str:
    """Where the page says one is."""
    page = client.get(address, **headers).content.decode()
    heading = re.search(r"<h1.*?</h1>", page, re.DOTALL)
    assert heading is not None
    words = re.sub(r"<span class=\"material-symbols-outlined.*?</span>", "›", heading[0], flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", "", words).split())


def test_a_row_is_named_by_its_name_and_never_by_its_id(client: Client, root: User) -> None:
    now = timezone.now()
    context = create_context(user=root, title="Deposit", content="1,800 euros", now=now)
    assert read_trail(client, reverse("admin:accounts_user_change", args=[root.pk])) == "Accounts › Users › root"
    trail = read_trail(client, reverse("admin:memory_sharedcontext_change", args=[context.pk]))
    assert trail == "Memory › Shared contexts"


def test_an_empty_list_says_whether_something_is_left_out(client: Client, root: User) -> None:
    address = reverse("admin:accounts_apitoken_changelist")
    nothing = client.get(address).content.decode()
    assert "Nothing here yet" in nothing
    assert "No results" not in nothing
    for found in (client.get(address, {"q": "sun"}), client.get(address, {"user__id__exact": root.pk})):
        assert "No results" in found.content.decode()
        assert '<a href="?">Show all</a>' in found.content.decode()


ENTRIES = {
    "index", "memories_changelist", "review", "conversations_session_changelist", "profile", "playground",
    "memory_change_changelist", "cost", "settings",
}  # fmt: skip
# Pages that the menu has no item for, and the item whose page leads to them.
BELONGING = {
    "accounts_space_changelist": "conversations_session_changelist",
    "conversations_message_changelist": "conversations_session_changelist",
    "chat_turn_changelist": "conversations_session_changelist",
    "summaries_sessionsummary_changelist": "conversations_session_changelist",
    "memory_workingmemory_changelist": "conversations_session_changelist",
    "memory_sharedcontext_changelist": "conversations_session_changelist",
    "embeddings": "conversations_session_changelist",
    "transfer": "settings",
    "accounts_apitoken_changelist": "settings",
    "doors_connectedapp_changelist": "settings",
    "conversations_work_changelist": "settings",
    "erasure": "settings",
}


def list_items(client: Client, address: str) -> list[dict[str, Any]]:
    """The items of the menu that the page shows."""
    groups = client.get(address).context["sidebar_navigation"]
    return [item for group in groups for item in group["items"] if item["has_permission"]]


def find_links(client: Client, address: str) -> set[str]:
    """The addresses that a page itself leads to, apart from its menu."""
    page = client.get(address).content.decode()
    content = page[page.index('<div id="main"') :]
    return set(re.findall(r'<a (?:[^>]* )?href="(/admin/[^"#?]*)', content))


def test_the_menu_has_nine_items_for_everybody(client: Client) -> None:
    client.force_login(UserFactory.create())
    items = list_items(client, reverse("admin:index"))
    assert {item["link"] for item in items} == {reverse(f"admin:{name}") for name in ENTRIES}
    assert len(items) == 9


def test_the_page_of_an_item_leads_to_what_belongs_to_it(client: Client) -> None:
    client.force_login(UserFactory.create())
    for name, entry in BELONGING.items():
        assert reverse(f"admin:{name}") in find_links(client, reverse(f"admin:{entry}")), name
        assert reverse(f"admin:{entry}") in find_links(client, reverse(f"admin:{name}")), f"back from {name}"


def test_every_list_is_in_the_menu_or_belongs_to_an_item(client: Client, root: User) -> None:
    lists = {
        f"{model._meta.app_label}_{model._meta.model_name}_changelist"
        for model, page in admin.site._registry.items()
        if page.has_view_permission(client.get(reverse("admin:index")).wsgi_request)
    }
    kinds = {"memory_longtermmemory_changelist", "memory_atomicmemory_changelist"}  # filters of the list of memories
    for_staff = {"accounts_user_changelist", "accounts_enduser_changelist", "accounts_loginattempt_changelist",
                 "chat_strategy_changelist", "profile_userprofile_changelist"}  # fmt: skip
    assert lists - ENTRIES - set(BELONGING) - kinds <= for_staff
    items = {item["link"] for item in list_items(client, reverse("admin:index"))}
    people = for_staff - {"chat_strategy_changelist", "profile_userprofile_changelist"}
    assert {reverse(f"admin:{name}") for name in people} <= items


def test_one_item_of_the_menu_is_the_current_one(client: Client, root: User) -> None:
    pages = {reverse(f"admin:{name}"): reverse(f"admin:{name}") for name in ENTRIES}
    pages |= {reverse(f"admin:{name}"): reverse(f"admin:{entry}") for name, entry in BELONGING.items()}
    client.force_login(UserFactory.create())
    for address, current in pages.items():
        assert [item["link"] for item in list_items(client, address) if item["active"]] == [current]
    client.force_login(root)
    for name in ("accounts_user_changelist", "accounts_apitoken_changelist"):
        address = reverse(f"admin:{name}")
        assert [item["link"] for item in list_items(client, address) if item["active"]] == [address]


@pytest.mark.parametrize(
    ("cookie", "day"),
    [
        ("Asia%2FShanghai", "Nov. 9, 2026, 4:30 a.m."),
        ("America/New_York", "Nov. 8, 2026, 3:30 p.m."),
        ("Asia/Nowhere", "Nov. 8, 2026, 9:30 p.m."),  # no zone: that of the settings
        ("../../etc/passwd", "Nov. 8, 2026, 9:30 p.m."),
        ("%ff", "Nov. 8, 2026, 9:30 p.m."),
    ],
)
def test_times_are_the_browsers_once_it_has_told_its_zone(client: Client, cookie: str, day: str) -> None:
    late = datetime(2026, 11, 8, 20, 30, tzinfo=UTC)
    user = UserFactory.create()
    update_settings(user=user, changes={"memory.timezone": "Europe/Berlin"})
    create_atomic_memory(user=user, content="The user came home.", timestamp=late, now=late)
    client.force_login(user)
    client.cookies["zone"] = cookie
    assert day in client.get(reverse("admin:memory_change_changelist")).content.decode()
    assert timezone.get_current_timezone_name() == "UTC"


def test_filters_by_day_and_charts_count_days_as_the_browser_does(client: Client) -> None:
    user = UserFactory.create()
    client.force_login(user)
    client.cookies["zone"] = "Pacific/Kiritimati"  # 14 hours ahead of UTC
    today = timezone.now().astimezone(ZoneInfo("Pacific/Kiritimati")).replace(hour=0, minute=30)
    for number, when in enumerate((today, today - timedelta(hours=1))):
        create_atomic_memory(user=user, content=f"Statement {number}.", timestamp=when, now=when)
    page = client.get(reverse("admin:memory_change_changelist"))
    filters = next(spec for spec in page.context["cl"].filter_specs if getattr(spec, "field_path", "") == "created_at")
    (today_only,) = (link["query_string"] for link in filters.choices(page.context["cl"]) if link["display"] == "Today")
    shown = client.get(reverse("admin:memory_change_changelist") + today_only)
    assert [change.after["content"] for change in shown.context["cl"].result_list] == ["Statement 0."]
    growth = client.get(reverse("admin:index")).context["charts"][0]
    assert (growth.days[-1], growth.series[1][2][-2:]) == (today.date(), [1, 1])


def test_the_texts_of_scripts_are_fetched_once_for_a_language(client: Client, root: User) -> None:
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
