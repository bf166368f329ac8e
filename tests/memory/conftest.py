"""Whose memories are tested, and their client over REST."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from tests.support.factories import UserFactory


@pytest.fixture
def user(db: None) -> User:
    user: User = UserFactory.create(username="li")
    return user


@pytest.fixture
def client(user: User) -> APIClient:
    client = APIClient()
    client.force_authenticate(user)
    return client
