"""What else a person has, and people beside them, whom staff see."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import Any

from django.utils import timezone
from oauth2_provider.models import Application

from apps.accounts.models import ApiToken, User
from apps.conversations.models import Message, Session
from apps.doors.models import ConnectedApp
from apps.memory.models import ContextEntry, ForgottenKey, SharedContext
from apps.profile.models import ProfileProposal, ProfileVersion, UserProfile
from benchmarks.panel.copying import copy_rows
from benchmarks.panel.texts import THINGS, say, time_of


def fill_belongings(
    user: Any, sessions: Sequence[Session], messages: Sequence[Message], count: int, draw: random.Random
) -> None:
    """Store tokens, connected apps, end users, versions of the profile, proposals for it, shared contexts, digests of
    what was deleted.

    The first context has an entry for each of the others.
    """
    _fill_profile(user, messages, count, draw)
    copy_rows(
        ApiToken(
            user=user,
            name=f"client {number}",
            digest=hashlib.sha512(f"{user.pk} {number}".encode()).hexdigest(),
            token_key=f"{number:08x}",
            created=timezone.now(),
        )
        for number in range(count)
    )
    apps = [
        Application(
            client_id=f"{user.pk} {number}",
            client_secret="",
            hash_client_secret=False,
            name=f"app {number}",
            redirect_uris="https://app.example/callback",
        )
        for number in range(count)
    ]
    Application.objects.bulk_create(apps, batch_size=1_000)
    copy_rows(ConnectedApp(user=user, application=app, scopes=["read"]) for app in apps)
    names = [f"customer {number}" for number in range(count)]
    served = [User(username=f"{user.pk}+{name}", password="!", service=user, external_id=name) for name in names]
    User.objects.bulk_create(served, batch_size=1_000)
    contexts = [
        SharedContext(
            user=user,
            session=sessions[number % len(sessions)],
            title=f"{draw.choice(THINGS)} {number}",
            content=say(number, draw.choice(THINGS)) * 10,
            created_at=time_of(number / count),
        )
        for number in range(count)
    ]
    copy_rows(contexts)
    entries = [(context, 1) for context in contexts] + [(contexts[0], number + 2) for number in range(count)]
    copy_rows(
        ContextEntry(context=context, user=user, author="agent", text=say(position, "书"), position=position)
        for context, position in entries
    )
    copy_rows(
        ForgottenKey(
            user=user,
            digest=hashlib.sha256(f"{user.pk} {number}".encode()).hexdigest(),
            forgotten_at=time_of(number / count),
        )
        for number in range(count)
    )


def _fill_profile(user: Any, messages: Sequence[Message], count: int, draw: random.Random) -> None:
    text = "\n".join(say(number, draw.choice(THINGS)) for number in range(1, 20))
    profile = UserProfile(user=user, background=text, reply_style=text, sections={"work": text}, version=count)
    copy_rows([profile])
    copy_rows(
        ProfileVersion(
            profile=profile,
            user=user,
            version=version,
            document={
                "background": f"{text}\n{version}",
                "reply_style": text,
                "language_habits": "",
                "sections": {"work": text},
            },
            by_hand=version % 2 == 0,
            created_at=time_of(version / count),
        )
        for version in range(1, count + 1)
    )
    copy_rows(
        ProfileProposal(
            user=user,
            section="background",
            text=say(number, draw.choice(THINGS)),
            status=("accepted", "rejected")[number % 2] if number % 50 else "pending",
            message=draw.choice(messages),
            created_at=time_of(number / count),
        )
        for number in range(count)
    )


def fill_people(count: int) -> None:
    """Store people, each with a profile, so that there are `count` of either."""
    start = User.objects.filter(service=None).count()
    people = [User(username=f"person {number}", password="!") for number in range(start, count)]
    User.objects.bulk_create(people, batch_size=1_000)
    copy_rows(UserProfile(user=person, background=say(person.pk, "咖啡"), version=1) for person in people)
