"""``make pictures``: lets two people live for six weeks and takes every picture of the documentation.

No test, so no run of the tests collects it: pytest gives it a database, the running product and a browser.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.conf import settings as django_settings
from django.utils import timezone
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.accounts.services.people import create_token, get_or_create_end_user, update_settings
from apps.accounts.spaces import create_space
from apps.chat.models import Turn
from apps.conversations.models import Session
from apps.doors.mcp.oauth import note_use, record_connection, register_application
from apps.doors.models import ConnectedApp
from apps.memory.models import LongTermMemory
from apps.memory.spaces import move_session
from tests.doors.imports.samples import CHATGPT_CONVERSATION, as_json, make_zip
from tests.e2e.panel.conftest import LOOKS
from tests.e2e.panel.pictures.lives import LIN, MEL, OTHERS
from tests.e2e.panel.pictures.living import Living, leave_work
from tests.support.factories import LongTermMemoryFactory, SessionFactory
from tests.support.http_server import HttpServer
from tests.support.scripted_model import ScriptedModel

FOLDER = Path(django_settings.BASE_DIR) / "docs" / "screenshots"
QUALITY = 40  # text stays sharp, and the pictures take a third less of the repository
WIDTH = 1280

_COME_TO_REST = """async () => {
    await document.fonts.ready;
    const moving = document.getAnimations().filter((each) => each.effect.getTiming().iterations !== Infinity);
    await Promise.allSettled(moving.map(({ finished }) => finished));
}"""

MEMORIES = "/admin/memories/"
LONG_TERM = "/admin/memory/longtermmemory/"


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture: of which page, as whom, in which of `LOOKS`; `act`: what is done there first."""

    name: str
    path: str
    who: str = "mel"
    look: str = "en"
    act: Callable[[Page], None] | None = None
    height: int = 800


def show_last_reply(page: Page) -> None:
    """In the chat: open the latest conversation, and beside it what was recalled for its last reply."""
    page.locator("#sessions li a").first.click()
    page.locator("article.assistant .memory-chip").last.click()
    expect(page.locator("#details [data-component]").first).to_be_visible()


def choose_space(page: Page) -> None:
    """In the chat: the conversations of one space, and the newest of them."""
    page.locator("#spaces").get_by_text("Lisbon trip").click()
    page.locator("#sessions li a").first.click()
    page.locator("article.assistant .memory-chip").last.click()
    expect(page.locator("#details [data-component]").first).to_be_visible()


def preview_past(page: Page) -> None:
    """In the chat: what an archive of ChatGPT contains, before it is imported."""
    titles = ("Two weeks on Crete", "Leaving the old job", "A cat that scratches", "Sourdough for beginners")
    said = (
        "We want to hike from village to village. What should we pack?",
        "How do I tell my boss that I am leaving in March?",
        "Our cat has discovered the sofa. What helps?",
        "My bread stays flat. I bake it every Sunday.",
    )
    mapping = CHATGPT_CONVERSATION["mapping"]
    conversations = []
    for number, (title, text) in enumerate(zip(titles, said, strict=True)):
        conversation = json.loads(json.dumps({**CHATGPT_CONVERSATION, "mapping": mapping}))
        conversation |= {"title": title, "conversation_id": f"c{number}"}
        conversation["mapping"]["ask"]["message"]["content"]["parts"][1] = text
        conversations.append(conversation)
    archive = make_zip({"conversations.json": as_json(conversations)})
    file = {"name": "chatgpt-export.zip", "mimeType": "application/zip", "buffer": archive}
    page.locator("#import-file").set_input_files(file)  # type: ignore[arg-type]
    page.locator("#import summary").click()


def try_message(page: Page) -> None:
    page.locator("#play-message").fill("Tea or cocoa on Saturday mornings in Hamburg, before work?")
    page.keyboard.press("Enter")
    expect(page.locator(".play-row").first).to_be_visible()
    page.locator("#play-weight_keyword").fill("1")
    expect(page.locator(".play-moved").first).to_be_visible()
    page.evaluate("() => document.querySelector('.play-reading').scrollIntoView()")


@pytest.fixture
def people(http_server: HttpServer, scripted_model: ScriptedModel, settings: Any) -> dict[str, User]:
    """Who is looked at, and who looks after everybody."""
    living = Living(server=http_server, model=scripted_model, settings=settings)
    people = {life.name: living.live(life) for life in (MEL, LIN)}
    for number, name in enumerate(("alex", "noor", "samir", "yuki"), start=2):
        user = User.objects.create_user(name)
        for category, key, value in OTHERS[:number]:
            LongTermMemoryFactory.create(user=user, category=category, key=key, value=value)
    update_settings(user=people["mel"], changes={"memory.retrieval_limit": 6})
    leave_work(people["mel"])
    settle_in_spaces(people["mel"])
    people["tang"] = User.objects.create_superuser("tang")
    open_services()
    return people


def settle_in_spaces(user: User) -> None:
    """Three spaces, of which two have the conversation that was held about them."""
    for name, kind, title in (
        ("Lisbon trip", "project", "A week in Lisbon"),
        ("Vet for Mochi", "assistant", "Mochi"),
        ("Captain Nemo", "character", ""),
    ):
        space = create_space(user=user, name=name, kind=kind)
        for session in Session.objects.filter(user=user, title=title) if title else ():
            move_session(user=user, session_id=session.id, space_id=space.id, now=timezone.now())


def open_services() -> None:
    """Two services, whose end users are remembered a little each."""
    served = {"open-webui": ("anna.berg", "ben", "carla.m"), "shop-assistant": ("customer-1042", "customer-1043")}
    for service, names in served.items():
        account = User.objects.create_user(service)
        create_token(user=account, name=service, is_service=True, scopes=["write"], throttle="600/min")
        for number, name in enumerate(names, start=2):
            end_user = get_or_create_end_user(service=account, external_id=name)
            SessionFactory.create(user=end_user)
            for category, key, value in OTHERS[:number]:
                LongTermMemoryFactory.create(user=end_user, category=category, key=key, value=value)


def connect_apps(user: User) -> str:
    """Connect two applications; returns the address of the page on which a third one asks."""
    now = timezone.now()
    for name, uri, days in (
        ("Claude", "https://claude.ai/api/mcp/auth_callback", 12),
        ("Cursor", "cursor://mcp/cb", 3),
    ):
        application = register_application(name=name, redirect_uris=[uri])
        record_connection(user=user, application=application, scopes=["read", "write"], now=now - timedelta(days=days))
    used = {"user": user, "last_used_at": None, "now": now - timedelta(hours=2)}
    note_use(application_id=ConnectedApp.objects.get(application__name="Claude").application_id, **used)
    asking = register_application(name="Claude Code", redirect_uris=["http://localhost/callback"])
    asked = {
        "response_type": "code",
        "client_id": asking.client_id,
        "redirect_uri": "http://localhost:33418/callback",
        "code_challenge": "x" * 43,
        "code_challenge_method": "S256",
    }
    return f"/oauth/authorize?{urlencode(asked)}"


def list_shots(people: dict[str, User]) -> list[Shot]:
    """Return every picture."""
    mel = people["mel"]
    memory = LongTermMemory.objects.get(user=mel, key="home", status="active")
    turn = Turn.objects.filter(user=mel).latest("created_at")
    talk = Session.objects.get(user=mel, title="A new town")
    consent = connect_apps(mel)
    return [
        Shot("consent", consent, height=880),
        Shot("chat", "/", act=show_last_reply),
        Shot("chat-zh", "/", "linmei", "zh", show_last_reply),
        Shot("chat-spaces", "/", act=choose_space),
        Shot("chat-import", "/", act=preview_past, height=900),
        Shot("panel-overview", "/admin/", height=1800),
        Shot("panel-memories", MEMORIES),
        Shot("panel-spaces", "/admin/accounts/space/", height=600),
        Shot("panel-memory", f"{LONG_TERM}{memory.pk}/change/", height=1150),
        Shot("panel-review", "/admin/review/"),
        Shot("panel-playground", "/admin/playground/", act=try_message),
        Shot("panel-profile", "/admin/profile/"),
        Shot("panel-changes", "/admin/memory/change/", height=900),
        Shot("panel-conversation", f"/admin/conversations/session/{talk.pk}/change/"),
        Shot("panel-turn", f"/admin/chat/turn/{turn.pk}/change/", height=1900),
        Shot("panel-settings", "/admin/settings/"),
        Shot("panel-timeline", "/admin/timeline/", height=1000),
        Shot("panel-users", "/admin/accounts/user/", "tang", height=600),
        Shot("panel-zh", MEMORIES, "linmei", "zh"),
        Shot("panel-phone", MEMORIES, "linmei", "phone"),
    ]


def take(page: Page, shot: Shot) -> None:
    """Take a picture as WebP, for which playwright itself has no option."""
    page.goto(shot.path)
    if shot.act:
        shot.act(page)
    page.evaluate(_COME_TO_REST)
    client = page.context.new_cdp_session(page)
    taken = client.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
    client.detach()
    (FOLDER / f"{shot.name}.webp").write_bytes(base64.b64decode(taken["data"]))


@pytest.mark.timeout(900)
def test_take_all(open_panel: Callable[..., Page], people: dict[str, User]) -> None:
    pages: dict[tuple[str, str], Page] = {}
    for shot in list_shots(people):
        look = {"size": (WIDTH, shot.height)} | LOOKS[shot.look]
        page = pages.get((shot.who, shot.look)) or open_panel(people[shot.who], **look)
        pages[shot.who, shot.look] = page
        page.set_viewport_size({"width": look["size"][0], "height": look["size"][1]})
        take(page, shot)
