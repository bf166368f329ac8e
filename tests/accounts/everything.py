"""A person with rows in every table that holds personal data, most of them made through the services."""

from __future__ import annotations

import io
import json

from django.utils import timezone

from apps.accounts.models import LoginSession
from apps.conversations.models import Message, Session, Work
from apps.conversations.recordings import record_turns
from apps.conversations.types import RecordedMessage
from apps.conversations.worker import claim_batch
from apps.doors.imports.services import create_import
from apps.extraction import tasks
from apps.memory.contexts import append_entry, create_context
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.kinds import LONG_TERM
from apps.memory.lifecycle import create_atomic_memory
from apps.memory.vectors.memories import fill_missing
from apps.profile.models import ProfileProposal
from apps.profile.services import update_profile
from apps.summaries.models import SessionSummary
from tests.contracts.world import SECRET, World, build_world
from tests.support.http_server import ApiClient


def fill_everything(client: ApiClient) -> World:
    """Give the client's user rows of every kind, `SECRET` in every text; some work stays queued."""
    world, user, now = build_world(client), client.user, timezone.now()
    session = Session.objects.get(id=world.session)
    while claim := claim_batch("everything"):
        tasks.embed_messages(claim)
    record_turns(
        user=user,
        session_id=session.id,
        messages=[RecordedMessage(role="user", content=SECRET), RecordedMessage(role="assistant", content=SECRET)],
        idempotency_key=SECRET,
        now=now,
    )
    create_atomic_memory(user=user, content=f"用户喜欢{SECRET}。", tags=[SECRET], session_id=session.id, now=now)
    gone, _action = create_memory(user=user, category="fact", key=f"gone {SECRET}", value=SECRET, now=now)
    delete_memories(LONG_TERM, user=user, ids=[gone.id], now=now)
    files = {"file": (f"{SECRET}.md", SECRET.encode())}
    attached = client.post(f"/chat/sessions/{session.id}/attachments", files=files).raise_for_status().json()["id"]
    client.post(
        f"/chat/sessions/{session.id}/messages", json={"content": SECRET, "attachments": [attached]}
    ).raise_for_status()
    context = create_context(user=user, title=SECRET, content=SECRET, session_id=session.id, now=now)
    append_entry(user=user, context_id=context.id, text=SECRET, author=SECRET, now=now)
    for text in (SECRET, f"{SECRET}!"):
        update_profile(user=user, changes={"background": text, "sections": {SECRET: text}}, now=now)
    message = Message.objects.filter(user=user).earliest("position")
    ProfileProposal.objects.create(user=user, section=SECRET, text=SECRET, message=message)
    client.post("/v1/responses", json={"input": SECRET, "metadata": {"case": SECRET}}).raise_for_status()
    said = client.say(client.new_session(), SECRET).raise_for_status().json()["user_message"]["id"]
    client.post(f"/chat/messages/{said}/edit", json={"content": f"{SECRET}!"}).raise_for_status()
    SessionSummary.objects.get_or_create(user=user, session=session, defaults={"title": SECRET, "snippet": SECRET})
    fill_missing(limit=1_000)
    create_import(user=user, file=io.BytesIO(json.dumps({"memory": SECRET}).encode()), name=SECRET, now=now)
    LoginSession.objects.create(
        user=user, session_key=SECRET, user_agent=SECRET, address="192.0.2.1", created_at=now, last_used_at=now
    )
    assert Work.objects.filter(user=user).exists()
    return world
