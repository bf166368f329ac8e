"""Secrets in prompts: what is being answered goes out as it was said, what was said before does not (D4)."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, date, datetime
from typing import Any

import pytest

from apps.chat.context.build import build_context
from apps.chat.context.types import (
    LONG_TERM,
    MESSAGE,
    CaseNotes,
    ContextInput,
    Form,
    Profile,
    RecalledMemory,
    SessionNote,
)
from apps.chat.emotions import NEUTRAL_STRATEGY
from apps.conversations.types import Line

pytestmark = pytest.mark.spec("D4")

SECRET = "hunter2"


def _line(role: str, content: str) -> Line:
    return Line(id=uuid.uuid4(), role=role, content=content)


def _recalled(kind: str, **line: Any) -> RecalledMemory:
    return RecalledMemory(id=str(uuid.uuid4()), kind=kind, text="", line=line, score=1.0, components={})


def _build(*, masked: bool) -> str:
    """The prompt of a turn in which everything holds a secret, as one text; the message apart."""
    told = f"The password is {SECRET}."
    given = ContextInput(
        message="What was it?",
        now=datetime(2026, 11, 28, tzinfo=UTC),
        budget=6_000,
        context_limit=20,
        strategy=NEUTRAL_STRATEGY,
        topic=told,
        variables={"wifi password": SECRET},
        forms=[Form("Login", {"password": SECRET})],
        profile=Profile(1, {"background": told}),
        cases=[CaseNotes("a", told, told, [told])],
        memories=[
            _recalled(LONG_TERM, category="fact", key="wifi password", value=SECRET),
            _recalled(MESSAGE, day="2026-11-01", user=f"密码是{SECRET}", assistant=told),
        ],
        session_notes=[SessionNote("b", told, told, date(2026, 11, 1))],
        summary=_line("summary", told),
        rounds=[(_line("user", told), _line("assistant", f"Your password is {SECRET}, noted."))],
        masked=masked,
    )
    context = build_context(given)
    assert json.dumps([layer.content for layer in context.layers]).count(SECRET) == sum(
        message.content.count(SECRET) for message in context.messages
    )
    return "\n".join(message.content for message in context.messages)


def test_everything_from_before_is_masked() -> None:
    prompt = _build(masked=True)
    assert SECRET not in prompt
    assert prompt.count("[password]") == 14
    assert prompt.count("[密码]") == 1


def test_nothing_is_masked_where_its_owner_does_not_want_that() -> None:
    assert _build(masked=False).count(SECRET) == 15


def test_the_message_that_is_answered_and_what_comes_with_it_is_sent_as_it_is() -> None:
    message = f"My password is {SECRET}, is it a good one?"
    given = ContextInput(
        message=message, now=datetime(2026, 11, 28, tzinfo=UTC), budget=6_000, context_limit=20,
        strategy=NEUTRAL_STRATEGY, submitted=Form("Login", {"password": SECRET}), instructions=message, masked=True,
    )  # fmt: skip
    context = build_context(given)
    assert context.messages[-1].content.endswith(message)
    assert sum(one.content.count(SECRET) for one in context.messages) == 3
