"""The chat page as a person sees it, for the browser tests."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from apps.accounts.models import User
from apps.conversations.models import Message, Session
from tests.support.answers import answer

DROP = """([name, bytes]) => {
  const data = new DataTransfer();
  data.items.add(new File([new Uint8Array(bytes)], name, { type: "text/plain" }));
  for (const type of ["dragenter", "dragover", "drop"]) {
    const event = new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true });
    document.querySelector("#messages").dispatchEvent(event);
  }
}"""
FIND_SIDEWAYS_SCROLL = """
() => [document.documentElement, ...document.querySelectorAll(".scroller, .details-body, .session-list")]
  .some((element) => element.scrollWidth > element.clientWidth + 1)
"""


def read_clipboard(page: Page) -> str:
    """What was copied last. Our own pages may not read it, by their Permissions-Policy, so it is pasted elsewhere."""
    elsewhere = page.context.new_page()
    elsewhere.set_content("<textarea></textarea>")
    field = elsewhere.locator("textarea")
    field.press("ControlOrMeta+v")
    text = field.input_value()
    elsewhere.close()
    page.bring_to_front()
    return text


class ChatPage:
    """Finds the parts of the page; says things."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.draft = page.locator("#draft")
        self.send_button = page.locator("#send")
        self.messages = page.locator("article.message")
        self.replies = page.locator("article.assistant")
        self.stored_replies = page.locator("article.assistant[data-status=complete]")
        self.said = page.locator("article.user")
        self.sessions = page.locator("#sessions li")
        self.details = page.locator("#details")
        self.placeholder = page.locator("#placeholder")

    def send(self, text: str) -> None:
        """Write and send, without waiting for the reply."""
        self.draft.fill(text)
        self.draft.press("Enter")

    def say(self, text: str) -> Locator:
        """Send, wait until the reply is stored, and return its text."""
        before = self.stored_replies.count()
        self.send(text)
        expect(self.stored_replies).to_have_count(before + 1)
        return self.stored_replies.last.locator(".markdown")

    def drop(self, name: str, data: bytes) -> None:
        """Drop a file on the conversation."""
        self.page.evaluate(DROP, [name, list(data)])

    def section(self, name: str) -> Locator:
        """A section of the panel beside the conversation."""
        return self.details.locator(f"[data-section={name}]")

    def component(self, name: str) -> Locator:
        """A component of the first recalled memory's score."""
        return self.section("recalled").locator(".memory-card").first.locator(f"[data-component={name}]")

    def has_sideways_scroll(self) -> bool:
        """Whether anything sticks out of the window or of the conversation."""
        return bool(self.page.evaluate(FIND_SIDEWAYS_SCROLL))


def turn_answer(response: str, *entries: dict[str, Any]) -> str:
    """What a model answers happily in a turn, with the memory entries it proposes."""
    return answer(response, emotion={"primary": "happy", "confidence": 0.9, "indicators": []}, entries=list(entries))


def talk(user: User, title: str, *texts: str, **values: object) -> Session:
    """Store a session in which this was said, an hour after the one before."""
    begun = timezone.now() - timedelta(hours=100 - Session.objects.count())
    session = Session.objects.create(
        user=user, title=title, last_position=len(texts), created_at=begun, last_active_at=begun, **values
    )
    Message.objects.bulk_create(
        Message(
            session=session, user=user, role="assistant" if number % 2 else "user", content=text,
            position=number + 1, create_time=begun + timedelta(seconds=number),
        )
        for number, text in enumerate(texts)
    )  # fmt: skip
    return session
