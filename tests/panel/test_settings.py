"""The settings in the panel (G1): told with where they come from, changed by who may, nothing changed by mistake."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import Setting, User
from apps.accounts.selectors import get_settings, list_setting_values
from apps.accounts.services.people import update_settings
from apps.accounts.types import MemorySettings
from apps.memory.entries import create_memory
from apps.memory.lifecycle import create_atomic_memory
from apps.panel.editors import AtomicEditor
from apps.panel.settings import GROUPS, WORDS, list_controls
from tests.support.factories import UserFactory

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.spec("G1", "M5", "M7"),
    pytest.mark.long_except(
        "test_every_setting_is_on_the_page_once_with_words_and_a_range",
        "test_what_is_changed_is_stored_and_nothing_else",
        "test_staff_change_somebodys_and_nobody_else_does",
        "test_what_is_sensitive_is_chosen_and_leads_to_what_was_learned",
        "test_a_mark_is_given_and_taken_in_the_editor",
    ),
]


def make_staff(*, may_change_global: bool) -> User:
    staff = UserFactory.create(username="tang", is_staff=True)
    if may_change_global:
        staff.user_permissions.add(Permission.objects.get(codename="change_setting"))
    return staff


def rows(client: Client, **asked: Any) -> dict[str, Any]:
    response = client.get(reverse("admin:settings"), asked)
    assert response.status_code == 200
    return {row.control.name: row for _name, _title, group in response.context["groups"] for row in group}


def fill(user: User | None, **changes: str) -> dict[str, str]:
    """The form as a browser sends it, with some controls changed."""
    form: dict[str, str] = {}
    for name, setting in list_setting_values(user).items():
        match setting.value:
            case bool():
                form |= {f"memory.{name}": "on"} if setting.value else {}
            case dict():
                form |= {f"memory.{name}.{part}": str(weight) for part, weight in setting.value.items()}
            case None:
                form[f"memory.{name}"] = ""
            case _:
                form[f"memory.{name}"] = str(setting.value)
    return form | {f"memory.{name.replace('__', '.')}": value for name, value in changes.items()}


def save(client: Client, form: dict[str, str], **asked: Any) -> Any:
    return client.post(reverse("admin:settings", query=asked), form)


def test_every_setting_is_on_the_page_once_with_words_and_a_range() -> None:
    assert sorted(name for _group, _title, names in GROUPS for name in names) == sorted(MemorySettings.model_fields)
    controls = list_controls()
    assert all(control.label for control in controls.values())
    assert all(bool(words.empty) == controls[name].optional for name, words in WORDS.items())
    assert all(control.help for control in controls.values())
    ranges = {name: (control.kind, control.minimum, control.maximum) for name, control in controls.items()}
    assert ranges["rag_top_n"] == ("number", 1, 50)
    assert ranges["recency_half_life_days"] == ("number", 0.01, 3650)
    assert ranges["auto_accept_confidence"] == ("share", 0, 1)
    assert ranges["confidence_floor"] == ("number", 0, 1)
    assert ranges["eviction_threshold"] == ("number", 1, 10_000_000)
    assert ranges["working_archive"][0] == "switch"
    assert ranges["score_weights"][0] == "weights"
    assert ranges["timezone"][0] == "zone"


def test_each_setting_says_where_it_comes_from(client: Client, mei: User, settings: Any) -> None:
    settings.MEMORY_ENVIRONMENT = {"MEMORY_MAX_KEYWORDS": "12"}
    update_settings(user=None, changes={"memory.retrieval_limit": 7, "memory.rag_top_n": 6})
    update_settings(user=mei, changes={"memory.rag_top_n": 9})
    shown = {name: (row.text, row.origin, row.own) for name, row in rows(client).items()}
    assert shown["rag_top_n"] == ("9", "custom", True)
    assert shown["retrieval_limit"] == ("7", "set for all users", False)
    assert shown["max_keywords"] == ("12", "from the environment", False)
    assert shown["token_budget"] == ("6000", "default", False)
    assert shown["recency_half_life_days"] == ("7", "default", False)
    assert rows(client)["rag_top_n"].inherited == "6"


def test_what_is_changed_is_stored_and_nothing_else(client: Client, mei: User) -> None:
    form = fill(
        mei, rag_top_n="8", auto_accept_confidence="0.55", score_weights__keyword="0.6", timezone="Asia/Shanghai"
    )
    del form["memory.semantic_candidates"]
    assert save(client, form | {"memory.working_archive": "on"}).status_code == 302
    stored = dict(Setting.objects.filter(user=mei).values_list("key", "value"))
    assert stored == {
        "memory.rag_top_n": 8,
        "memory.auto_accept_confidence": 0.55,
        "memory.score_weights": {
            "keyword": 0.6, "category": 0.2, "recency": 0.15, "frequency": 0.1, "confidence": 0.15,
        },
        "memory.timezone": "Asia/Shanghai",
        "memory.semantic_candidates": False,
        "memory.working_archive": True,
    }  # fmt: skip
    assert save(client, fill(mei)).status_code == 302
    assert dict(Setting.objects.filter(user=mei).values_list("key", "value")) == stored


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("rag_top_n", "51", "Enter a whole number from 1 to 50."),
        ("rag_top_n", "2.5", "Enter a whole number from 1 to 50."),
        ("recency_half_life_days", "nan", "Enter a number from 0.01 to 3650."),
        ("timezone", "Mars/Olympus", "Must be a time zone name, such as Asia/Shanghai."),
    ],
)
def test_what_is_out_of_range_is_told_beside_its_control_and_changes_nothing(
    client: Client, mei: User, name: str, value: str, rule: str
) -> None:
    response = save(client, fill(mei, retrieval_limit="9", **{name: value}))
    assert response.status_code == 400
    problems = {
        row.control.name: row.problem
        for _name, _title, group in response.context["groups"]
        for row in group
        if row.problem
    }
    assert problems == {name: rule}
    assert 'value="9"' in response.content.decode()
    assert not Setting.objects.exists()


def test_a_setting_goes_back_to_its_default_alone(client: Client, mei: User) -> None:
    update_settings(user=mei, changes={"memory.rag_top_n": 9, "memory.max_keywords": 3})
    response = save(client, fill(mei, token_budget="900") | {"restore": "memory.rag_top_n"})
    assert response.status_code == 302
    assert dict(Setting.objects.values_list("key", "value")) == {"memory.max_keywords": 3}


def test_global_settings_take_a_permission(client: Client, mei: User) -> None:
    form = fill(None, rag_top_n="8")
    for who in (mei, make_staff(may_change_global=False)):
        client.force_login(who)
        assert client.get(reverse("admin:settings", query={"scope": "global"})).status_code == 403
        assert save(client, form, scope="global").status_code == 403
    assert not Setting.objects.exists()
    client.force_login(User.objects.create_superuser(username="root"))
    assert save(client, form, scope="global").status_code == 302
    assert list(Setting.objects.values_list("user", "key", "value")) == [(None, "memory.rag_top_n", 8)]
    assert rows(client, scope="global")["rag_top_n"].own


def test_staff_change_somebodys_and_nobody_else_does(client: Client, mei: User) -> None:
    lin = UserFactory.create(username="lin")
    save(client, fill(lin, rag_top_n="8"), user=lin.pk)
    assert list(Setting.objects.values_list("user", flat=True)) == [mei.pk]
    client.force_login(make_staff(may_change_global=False))
    save(client, fill(lin, rag_top_n="11"), user=lin.pk)
    assert get_settings(lin).rag_top_n == 11


@pytest.mark.spec("D4")
@pytest.mark.parametrize(
    ("language", "words"), [("en", "2 memories learned earlier are kept"), ("zh-hans", "2 条记忆")]
)
def test_what_is_sensitive_is_chosen_and_leads_to_what_was_learned(
    client: Client, mei: User, language: str, words: str
) -> None:
    create_memory(
        user=mei, category="fact", key="medication", value="lithium", sensitive=["health"], now=timezone.now()
    )
    create_atomic_memory(user=mei, content="I take lithium.", sensitive=["health", "money"], now=timezone.now())
    assert save(client, fill(mei, sensitive__health="exclude", sensitive__faith="review")).status_code == 302
    assert get_settings(mei).sensitive.model_dump(mode="json") == {
        "health": "exclude", "faith": "review", "sex": "remember", "money": "remember", "minors": "remember",
    }  # fmt: skip
    client.cookies["django_language"] = language
    page = client.get(reverse("admin:settings")).content.decode()
    address = reverse("admin:memories_changelist", query={"sensitive": "health"})
    assert address in page
    assert words in page
    assert "sensitive=money" not in page  # what is remembered needs no tidying
    listed = client.get(address).content.decode()
    assert "lithium" in listed
    other = client.get(reverse("admin:memories_changelist", query={"sensitive": "faith"})).content.decode()
    assert "lithium" not in other
    refused = save(client, fill(mei, sensitive__health="sometimes"))
    assert refused.status_code == 400
    assert get_settings(mei).sensitive.health == "exclude"


@pytest.mark.spec("D4")
def test_a_mark_is_given_and_taken_in_the_editor(client: Client, mei: User) -> None:
    memory, _new = create_atomic_memory(user=mei, content="I take lithium.", now=timezone.now())
    typed = {"content": memory.content, "version": "", "sensitive": ["health"]}
    form = AtomicEditor(typed, initial=AtomicEditor.read(memory))
    assert form.is_valid()
    assert form.list_changes() == {"sensitive": ["health"]}
