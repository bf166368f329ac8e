"""Let the people in the pictures live: what they said goes through the product, at the time when they said it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any
from unittest.mock import patch

from django.utils import timezone

from apps.accounts.models import ApiToken, User
from apps.accounts.services.people import create_token, update_settings
from apps.conversations.models import Message, Session, Work
from apps.core.db import release_connections
from apps.extraction import tasks
from apps.memory.contexts import append_entry, create_context
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.kinds import LONG_TERM
from apps.memory.lifecycle import update_memory
from apps.memory.models import LongTermMemory
from apps.memory.working import record_form
from apps.profile.document import ProposedSection
from apps.profile.services import propose_sections, update_profile
from tests.e2e.panel.pictures.lives import Life, Remembered, Talk
from tests.support.answers import answer
from tests.support.http_server import ApiClient, HttpServer
from tests.support.scripted_model import ScriptedModel

_read_clock = timezone.now


@contextmanager
def at(moment: datetime) -> Iterator[datetime]:
    """Let it be this time in this process, the server's threads included, and go on from there."""
    ahead = _read_clock() - moment
    with patch.object(timezone, "now", lambda: _read_clock() - ahead):
        yield moment


class Living:
    """Writes lives. Replies are scripted; what workers do is done by the offline model."""

    def __init__(self, *, server: HttpServer, model: ScriptedModel, settings: Any) -> None:
        self._server = server
        self._model = model
        self._settings = settings

    def live(self, life: Life) -> User:
        """Everything of a life, up to today."""
        today = _read_clock()
        with at(today - timedelta(days=life.talks[0].days_ago + 1)):
            user = User.objects.create_user(life.name, date_joined=timezone.now())
            update_settings(user=user, changes={"memory.timezone": life.timezone})
        with ApiClient(self._server, user) as client:
            for number, talk in enumerate(life.talks):
                evening = today.replace(hour=18, minute=5 * number) - timedelta(days=talk.days_ago)
                just_now = today - timedelta(minutes=9 * (len(life.talks) - number))
                with at(evening if talk.days_ago else just_now):
                    self._hold(client, talk)
                    self._work()
                    if talk is life.talks[2]:
                        self._write_by_hand(user, life)
                    if talk is life.talks[-3]:
                        self._edit(user, life)
        ApiToken.objects.filter(user=user, name="").delete()  # this client's
        return user

    def _hold(self, client: ApiClient, talk: Talk) -> None:
        session = client.new_session(title=talk.title)
        Session.objects.filter(id=session).update(created_at=timezone.now(), last_active_at=timezone.now())
        for said in talk.rounds:
            self._settings.OPENAI_BASE_URL = self._model.base_url
            self._settings.CHAT_MODEL = "demo"
            emotion = {"primary": said.emotion, "confidence": 0.88, "indicators": []}
            entries = [_make_entry(remembered) for remembered in said.remembered]
            scripted = answer(said.reply, emotion=emotion, entries=entries, topic=said.topic, variables=said.variables)
            self._model.script(scripted)
            client.say(session, said.said).raise_for_status()
        if talk.form:
            title, fields = talk.form
            record_form(user=client.user, session_id=session, title=title, fields=fields, now=timezone.now())

    def _work(self) -> None:
        self._settings.OPENAI_BASE_URL = self._settings.CHAT_MODEL = ""
        with ThreadPoolExecutor(1) as worker:  # a thread: this one has the browser's event loop
            for task in (tasks.embed, tasks.extract, tasks.summarize):
                worker.submit(lambda task=task: task.apply().get()).result()
            worker.submit(release_connections).result()

    def _write_by_hand(self, user: User, life: Life) -> None:
        now = timezone.now()
        update_profile(user=user, changes=life.by_hand, now=now)
        key, value = life.given_up
        memory, _action = create_memory(user=user, category="pattern", key=key, value=value, now=now)
        delete_memories(LONG_TERM, user=user, ids=[memory.id], now=now + timedelta(minutes=5))

    def _edit(self, user: User, life: Life) -> None:
        """What the person does in the panel."""
        now = timezone.now()
        section, text = life.proposal
        propose_sections(user=user, proposals=[ProposedSection(section, text, None, now)], now=now)
        title, content, entries = life.context
        context = create_context(user=user, title=title, content=content, now=now)
        for number, (author, text) in enumerate(entries, start=1):
            later = now + timedelta(hours=7 * number)
            append_entry(user=user, context_id=context.id, text=text, author=author, now=later)
        key, _old, new = life.edited
        memory = LongTermMemory.objects.get(user=user, key=key, status="active")
        update_memory(LONG_TERM, user=user, memory_id=memory.id, changes={"value": new}, now=now)
        create_token(user=user, name=life.token)


def leave_work(user: User) -> None:
    """Let some work of the person have come to nothing, and some be due."""
    messages = Message.objects.filter(user=user).order_by("-create_time")[:4]
    failed = "model_unavailable: server_error 500"
    for number, message in enumerate(messages):
        Work.objects.create(
            kind=Work.Kind.EXTRACT if number % 2 else Work.Kind.SUMMARIZE,
            user=user,
            session_id=message.session_id,
            message=message,
            state=Work.State.FAILED if number < 2 else Work.State.DUE,
            attempts=5 if number < 2 else 0,
            error=failed if number < 2 else "",
            created_at=timezone.now() - timedelta(hours=3 - number),
        )


def _make_entry(remembered: Remembered) -> dict[str, Any]:
    category, key, value, *confidence = remembered
    entry: dict[str, Any] = {"category": category, "key": key, "value": value, "source": "user_stated"}
    if confidence:
        entry |= {"source": "inferred", "confidence": confidence[0]}
    return entry
