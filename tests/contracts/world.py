"""One person with one of everything, made through the services that production uses."""

from __future__ import annotations

import io
import json
import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.apps import apps
from django.utils import timezone

from apps.accounts.models import LoginSession, User
from apps.accounts.services.people import update_settings
from apps.accounts.spaces import create_space
from apps.chat.models import Turn
from apps.chat.turn.commands import record_commands
from apps.conversations.models import Message, Session, Work
from apps.conversations.recordings import record_turns
from apps.conversations.rounds import fail_round
from apps.conversations.sessions import create_session
from apps.conversations.types import RecordedMessage
from apps.conversations.worker import claim_batch
from apps.core.llm.metering import ModelCall, Usage
from apps.core.text.commands import CommandKind
from apps.costs.ledger import record_calls
from apps.doors.imports.running import run_imports
from apps.doors.imports.services import create_import
from apps.extraction import tasks
from apps.memory.commands import CommandResult, Outcome
from apps.memory.contexts import append_entry, create_context
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.kinds import LONG_TERM
from apps.memory.lifecycle import create_atomic_memories, create_atomic_memory
from apps.memory.models import Change
from apps.memory.types import AtomicDraft
from apps.memory.vectors.memories import fill_missing
from apps.memory.vectors.messages import prepare_embeddings, store_embeddings
from apps.memory.working import record_form
from apps.profile.document import ProposedSection
from apps.profile.models import ProfileProposal
from apps.profile.services import list_pending_proposals, propose_sections, update_profile
from apps.summaries.models import SessionSummary
from apps.summaries.services import create_session_summary
from apps.tidying.models import Tidying
from apps.webhooks.models import Delivery, Event, Webhook
from apps.webhooks.services import save_webhook
from tests.contracts.routes import Route
from tests.support.entries import entry, record
from tests.support.factories import open_message
from tests.support.http_server import ApiClient

# Occurs in every text of the person and nowhere else.
SECRET = "紫罗兰 violet"


@dataclass(frozen=True)
class World:
    """The IDs of what a person has.

    `failed` is a message that can be retried, `edited` one that was edited, `pending` a memory to accept, `operation`
    what made that memory, `proposal` one of the profile.
    """

    session: str
    reply: str
    failed: str
    edited: str
    pending: str
    operation: str
    context: str
    proposal: str
    summary: str
    atomic: str
    pending_atomic: str
    past_import: str
    attachment: str
    space: str
    tidying: str
    webhook: str

    @property
    def ids(self) -> dict[str, str]:
        """The IDs by the names that paths give them."""
        return {
            "session_id": self.session,
            "message_id": self.failed,
            "memory_id": self.pending,
            "operation": self.operation,
            "context_id": self.context,
            "proposal_id": self.proposal,
            "summary_id": self.summary,
            "atomic_id": self.atomic,
            "candidate_id": self.atomic,
            "import_id": self.past_import,
            "attachment_id": self.attachment,
            "space_id": self.space,
            "run_id": self.tidying,
            "webhook_id": self.webhook,
            "response_id": f"resp_{uuid.UUID(self.reply).hex}",
            "model": "jiyi",
        }

    def values(self, route: Route) -> dict[str, str]:
        """What to fill into the route's path, so that its owner is served."""
        known = self.ids | ({"message_id": self.reply} if route.name in ("turn", "forget-candidate") else {})
        if route.name in ("regenerate", "undo-edit"):
            known["message_id"] = self.edited
        if route.name in ("atomic-accept", "atomic-reject"):
            known["atomic_id"] = self.pending_atomic
        return {name: known[name] for name in route.parameters}


def build_world(client: ApiClient, *, secret: str = SECRET) -> World:
    """Give the client's user one of everything where they look from, with `secret` in every text.

    The profile, which is everywhere, only where they look from no space.
    """
    user, now = client.user, timezone.now()
    session = create_session(user=user, title=secret, temporary=False)
    reply = client.say(str(session.id), secret).raise_for_status().json()["assistant_message"]["id"]
    opened = open_message(session, secret)
    fail_round(opened=opened)
    record_form(user=user, session_id=session.id, title="偏好设置", fields={"colour": secret}, now=now)
    create_memory(user=user, category="fact", key=f"key {secret}", value=secret, session_id=session.id, now=now)
    gone, _action = create_memory(user=user, category="fact", key="gone", value="gone", now=now)
    delete_memories(LONG_TERM, user=user, ids=[gone.id], now=now)
    guess = entry("guess", secret, source="inferred", confidence=0.5)
    (update,) = record(user, guess, message=Message.objects.get(id=opened.message_id), now=now)
    atomic, _created = create_atomic_memory(
        user=user, content=secret, tags=[secret[:50]], session_id=session.id, now=now
    )
    unclear = CommandResult(CommandKind.FORGET, Outcome.NOT_FOUND, unclear=(atomic.id,), said=secret)
    Turn.objects.filter(pk=reply).update(commands=record_commands([unclear], prompted=[unclear]))
    draft = AtomicDraft(content=f"{secret} guess", session_id=session.id, status="pending")
    (pending_atomic,) = create_atomic_memories(user=user, drafts=[draft], now=now)
    context = create_context(user=user, title=secret, content=secret, session_id=session.id, now=now)
    append_entry(user=user, context_id=context.id, text=secret, now=now)
    if user.sight.space is None:
        update_profile(user=user, changes={"background": secret}, now=now)
        proposal = ProposedSection(
            section="background", text=f"{secret} garden", message_id=None, said_at=now + timedelta(days=1)
        )
        propose_sections(user=user, proposals=[proposal], now=now)
    summary = create_session_summary(user=user, session_id=session.id, title=secret, snippet=secret, now=now)
    store_embeddings(prepare_embeddings(session.messages.all()))
    update_settings(user=user, changes={"memory.timezone": "Asia/Shanghai"})
    # What it brings is known already: nothing else is there because of it.
    file = io.BytesIO(json.dumps({"memory": secret}).encode())
    said = client.say(client.new_session(), secret).raise_for_status().json()["user_message"]["id"]
    edited = client.post(f"/chat/messages/{said}/edit", json={"content": secret}).raise_for_status().json()
    files = {"file": (f"{secret}.txt", secret.encode())}
    attached = client.post(f"/chat/sessions/{session.id}/attachments", files=files).raise_for_status().json()
    webhook = Webhook(user=user, url=f"http://127.0.0.1:9/{secret}", events=list(Event))
    save_webhook(webhook)
    past_import = create_import(user=user, file=file, name=secret, now=now)
    while run_imports(token="world"):
        pass
    created = Change.objects.get(object_id=pending_atomic.id).operation
    tidying = Tidying.objects.create(user=user, state=Tidying.State.DONE, operations=[created], finished_at=now)
    return World(
        session=str(session.id),
        reply=reply,
        failed=str(opened.message_id),
        edited=edited["user_message"]["id"],
        pending=str(update.id),
        operation=str(Change.objects.get(object_id=update.id).operation),
        context=str(context.id),
        proposal="" if user.sight.space else str(list_pending_proposals(user).get().id),
        summary=str(summary.id),
        atomic=str(atomic.id),
        pending_atomic=str(pending_atomic.id),
        past_import=str(past_import.id),
        attachment=attached["id"],
        tidying=str(tidying.id),
        webhook=str(webhook.id),
        space=str(user.sight.space or create_space(user=user.overseeing(), name=secret[:100]).id),
    )


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
    call = ModelCall("reply", "scripted", Usage(900, 40, 600), estimated=False, at=now, ms=800)
    record_calls([call], owners={(user.pk, user.data_epoch): 1})
    webhook = Webhook.objects.get(user=user)
    Delivery.objects.create(webhook=webhook, person=user, event=Event.MEMORY_CHANGED, created_at=now)
    assert Work.objects.filter(user=user).exists()
    return world


def dump(user: User) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table that belongs to the user, found by its foreign key, so that new tables are in it."""
    rows = {}
    for model in apps.get_models():
        for field in model._meta.get_fields():
            if (field.many_to_one or field.one_to_one) and field.related_model is User and field.concrete:
                mine = model._default_manager.filter(**{field.name: user}).order_by("pk")
                rows[f"{model._meta.label}.{field.name}"] = list(mine.values())
    return rows
