"""The page's view: who gets it, what it is told, what it may load; the libraries it renders replies with."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.test import Client, RequestFactory

from apps.accounts.models import User
from apps.accounts.services.people import update_settings
from apps.accounts.spaces import create_space
from apps.chat.page import check_browser_libraries
from apps.core.http import server_error

pytestmark = pytest.mark.django_db


@pytest.fixture
def mei(settings: Any) -> User:
    settings.OPENAI_API_KEY = settings.OPENAI_BASE_URL = settings.CHAT_MODEL = ""
    return User.objects.create_user("mei")


@pytest.fixture
def mei_client(mei: User) -> Client:
    client = Client()
    client.force_login(mei)
    return client


def read_page_data(content: bytes, name: str = "page") -> Any:
    found = re.search(rf'<script id="{name}" type="application/json">(.*?)</script>', content.decode())
    assert found
    return json.loads(found[1])


@pytest.mark.parametrize("path", ["/", "/s/2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d"])
def test_strangers_are_sent_to_the_log_in_page(path: str) -> None:
    response = Client().get(path)
    assert response.status_code == 302
    assert response["Location"] == f"/login?next={path}"


def test_the_page_knows_the_session_of_its_address(mei_client: Client) -> None:
    assert read_page_data(mei_client.get("/").content)["sessionId"] is None
    session = "2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d"
    assert read_page_data(mei_client.get(f"/s/{session}").content)["sessionId"] == session
    assert mei_client.get("/s/nonsense").status_code == 404


@pytest.mark.spec("P1")
def test_the_page_knows_the_spaces_of_its_person_alone(mei_client: Client, mei: User) -> None:
    space = create_space(user=mei, name="小说", instructions="</script>", learns_to="everywhere")
    create_space(user=User.objects.create_user("bob"), name="Taxes")
    assert read_page_data(mei_client.get("/").content, "known-spaces") == [
        {
            "id": str(space.id),
            "name": "小说",
            "kind": "project",
            "instructions": "</script>",
            "learns_to": "everywhere",
            "archived": False,
            "paused": False,
        }
    ]


@pytest.mark.spec("C8")
def test_the_page_is_told_whether_a_time_zone_was_chosen(mei_client: Client, mei: User) -> None:
    update_settings(user=None, changes={"memory.timezone": "Asia/Tokyo"})
    assert read_page_data(mei_client.get("/").content)["timezoneIsSet"] is False
    update_settings(user=mei, changes={"memory.timezone": "UTC"})
    assert read_page_data(mei_client.get("/").content)["timezoneIsSet"] is True


def test_the_page_says_which_model_answers(mei_client: Client, settings: Any) -> None:
    assert "回复来自内置演示模型。" in mei_client.get("/", headers={"accept-language": "zh-CN"}).content.decode()
    settings.OPENAI_BASE_URL, settings.CHAT_MODEL = "http://127.0.0.1:9/v1", "qwen"
    page = mei_client.get("/", headers={"accept-language": "zh-CN"}).content.decode()
    assert "回复来自 qwen。" in page
    assert "model-help" not in page


def test_a_form_without_its_token_gets_a_page_that_says_what_to_do() -> None:
    client = Client(enforce_csrf_checks=True)
    response = client.post("/login", {"username": "mei"}, headers={"accept-language": "zh-CN"})
    assert response.status_code == 403
    assert "表单已过期" in response.content.decode()


def test_the_page_of_a_server_error_needs_no_user_and_no_database(
    rf: RequestFactory, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(0):
        page = server_error(rf.get("/"))
    assert page.status_code == 500
    assert "Your earlier messages are safe." in page.content.decode()


def test_api_errors_stay_json(rf: RequestFactory) -> None:
    answer = server_error(rf.get("/chat/sessions"))
    assert json.loads(answer.content)["error"]["code"] == "internal_error"


# Libraries: locked, installed, and served one folder each


FRONTEND = Path(settings.BASE_DIR) / "frontend"


def test_the_lock_names_no_registry_and_has_a_hash_for_every_package() -> None:
    lock = (FRONTEND / "package-lock.json").read_text()
    assert "resolved" not in lock
    assert not [host for host in re.findall(r"https?://([^/\"]+)", lock) if "npm" in host or "registry" in host]
    packages = json.loads(lock)["packages"]
    assert packages.pop("")["dependencies"] == json.loads((FRONTEND / "package.json").read_text())["dependencies"]
    assert all(package["integrity"].startswith("sha512-") for package in packages.values())


def test_all_that_the_page_imports_is_served_and_packages_as_such_are_not() -> None:
    scripts = (Path(settings.BASE_DIR) / "static/chat").glob("*.js")
    imported = {name for script in scripts for name in re.findall(r'"\.\./(vendor/[^"]+)"', script.read_text())}
    assert len(imported) == 4
    assert {name for name in imported if not finders.find(name)} == set()
    assert finders.find("vendor/marked/package.json") is None


@pytest.mark.parametrize("missing", [0, 3])
def test_a_missing_library_is_an_error_that_says_what_to_run(settings: Any, tmp_path: Path, missing: int) -> None:
    own, *libraries = settings.STATICFILES_DIRS
    name, _folder = libraries[missing]
    libraries[missing] = (name, tmp_path / "nowhere")
    settings.STATICFILES_DIRS = [own, *libraries]
    [error] = check_browser_libraries()
    assert error.id == "chat.E001"
    assert name.removeprefix("vendor/") in error.msg
    assert "make run" in str(error.hint)
