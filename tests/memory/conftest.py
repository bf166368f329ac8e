"""Whose memories are tested, a session of theirs, and their client over REST."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.conversations.models import Session
from tests.support.factories import SessionFactory, UserFactory


@pytest.fixture
def user(db: None) -> User:
    user: User = UserFactory.create(username="li")
    return user


@pytest.fixture
def session(user: User) -> Session:
    session: Session = SessionFactory.create(user=user)
    return session


@pytest.fixture
def client(user: User) -> APIClient:
    client = APIClient()
    client.force_authenticate(user)
    return client
