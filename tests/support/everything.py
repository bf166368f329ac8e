"""Somebody of whom everything that can stand in a prompt is remembered, by the services that production uses."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

from django.utils import timezone

from apps.accounts.services.people import update_settings
from apps.conversations.rounds import record_summary
from apps.memory.contexts import append_entry, create_context
from apps.memory.entries import create_memory
from apps.memory.lifecycle import create_atomic_memory
from apps.profile.services import update_profile
from apps.summaries.services import create_session_summary
from tests.support.answers import answer
from tests.support.http_server import ApiClient
from tests.support.scripted_model import ScriptedModel


class Everything:
    """A turn in which all of it stood in the prompt. `reply` is its ID, `sent` what the model got."""

    def __init__(self, client: ApiClient, model: ScriptedModel, *, message: str = "你喜欢的颜色和水果是什么？") -> None:
        user, now = client.user, timezone.now()
        update_settings(user=user, changes={"memory.timezone": "Asia/Shanghai"})
        update_profile(
            user=user, changes={"reply_style": "简短", "sections": {"work": "a nurse <b>", "家": "上海"}}, now=now
        )
        self.memory, _action = create_memory(
            user=user, category="preference", key="喜欢的颜色", value={"深": "蓝色", "a": [1, 2.5]}, now=now
        )
        told = datetime(2026, 5, 1, 20, tzinfo=UTC)
        self.atomic, _new = create_atomic_memory(
            user=user, content="用户喜欢的水果是芒果。", timestamp=told, tags=[], now=now
        )
        other = client.new_session()
        client.say(other, "别的").raise_for_status()
        self.other = uuid.UUID(other)
        self.summary = create_session_summary(
            user=user, session_id=self.other, title="Hiking", snippet="Wants to climb\nin May.", now=now
        )
        self.session = uuid.UUID(client.new_session())
        model.script(answer("第一", topic="水果", variables={"z": {"bb": 1, "a": 2}, "目的地": "北京"}))
        first = client.say(str(self.session), "第一句").raise_for_status().json()
        covers = [uuid.UUID(first[name]["id"]) for name in ("user_message", "assistant_message")]
        client.say(str(self.session), "第二句").raise_for_status()
        record_summary(
            user=user, session_id=self.session, content="说了水果。", covers=covers, replaces=None, now=timezone.now()
        )
        self.context = create_context(
            user=user, title="押金", content="房东不退。", session_id=self.session, now=timezone.now()
        )
        append_entry(user=user, context_id=self.context.id, text="已发函", author="律师", now=timezone.now())
        model.script(answer("芒果", topic="换了话题", variables={"目的地": "上海"}))
        turn = client.say(str(self.session), message).raise_for_status().json()
        self.reply = turn["assistant_message"]["id"]
        self.sent = model.chat_requests[-1].messages
