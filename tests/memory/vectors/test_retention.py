"""How long vectors of messages are kept (R1)."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.services.people import update_settings
from apps.conversations.models import Message, Session
from apps.memory.models import ConversationEmbedding
from apps.memory.tasks import apply_retention
from apps.memory.vectors import messages as retention
from tests.memory.vectors.conftest import Say
from tests.support.factories import SessionFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("R1")]

Embed = Callable[..., int]


@pytest.fixture
def other() -> Session:
    return SessionFactory.create()


@pytest.fixture(autouse=True)
def _history(say: Say, embed: Embed, other: Session) -> None:
    """Messages of two people, 100, 89 and 10 days old, and a summary of each."""
    for session in (None, other):
        to = {} if session is None else {"to": session}
        embed(
            say("old question", create_time=days_ago(100), **to),
            say("old answer", "assistant", create_time=days_ago(100), **to),
            say("old summary", "summary", create_time=days_ago(100), **to),
            say("89 days", create_time=days_ago(89), **to),
            say("10 days", create_time=days_ago(10), **to),
        )


def days_ago(days: int) -> datetime:
    return timezone.now() - timedelta(days=days)


def kept(user: User) -> list[str]:
    rows = ConversationEmbedding.objects.filter(user=user).order_by("message__position")
    return list(rows.values_list("content", flat=True))


def run(*arguments: str) -> str:
    output = io.StringIO()
    call_command("apply_retention", *arguments, stdout=output)
    return output.getvalue()


def test_what_is_older_than_90_days_goes_and_summaries_stay(user: User, other: Session) -> None:
    assert apply_retention() == 4

    assert kept(user) == kept(other.user) == ["old summary", "89 days", "10 days"]
    assert Message.objects.count() == 10
    assert apply_retention() == 0


def test_everybody_has_a_setting_of_their_own(user: User, other: Session) -> None:
    update_settings(user=user, changes={"memory.embedding_retention_days": 30})
    update_settings(user=None, changes={"memory.embedding_retention_days": 365})
    apply_retention()

    assert kept(user) == ["old summary", "10 days"]
    assert len(kept(other.user)) == 5


def test_a_dry_run_tells_and_changes_nothing(user: User, other: Session) -> None:
    update_settings(user=user, changes={"memory.embedding_retention_days": 30})
    before = list(ConversationEmbedding.objects.order_by("id").values_list("id", flat=True))
    output = run("--dry-run")

    limit, mine = f"{days_ago(90):%Y-%m-%d}", f"{days_ago(30):%Y-%m-%d}"
    assert output.splitlines() == [
        f"{user.username}: 3 (before {mine})",
        f"{other.user.username}: 2 (before {limit})",
        "5 embeddings would be deleted.",
    ]
    assert list(ConversationEmbedding.objects.order_by("id").values_list("id", flat=True)) == before


def test_the_command_does_what_it_told(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "DELETED_AT_ONCE", 1)

    assert run().splitlines()[-1] == "4 embeddings were deleted."
    assert kept(user) == ["old summary", "89 days", "10 days"]
