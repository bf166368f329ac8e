"""Settings (G1): the caller's own over REST, and a bad default in the environment refused at the start, by name."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from rest_framework.test import APIClient

from apps.accounts.apps import check_environment_settings
from apps.accounts.models import Setting, User
from apps.accounts.services.people import update_settings
from tests.support.factories import UserFactory

SETTINGS = "/memory/settings"
DEFAULTS = {f"memory.{name}": value for name, value in {
    "rag_top_n": 5, "rounds_top_n": 2, "paused": False, "enable_agentic_search": False, "enable_user_profile": True,
    "atomic_content_max_length": 500, "session_summary_limit": 5, "retrieval_limit": 5, "semantic_candidates": True,
    "semantic_min_similarity": None, "candidate_limit": 50, "max_keywords": 10,
    "score_weights": {"keyword": 0.4, "category": 0.2, "recency": 0.15, "frequency": 0.1, "confidence": 0.15},
    "recency_half_life_days": 7, "context_limit": 20, "token_budget": 6000, "summary_threshold": 20,
    "auto_accept_confidence": 0.7, "emotion_confidence": 0.5, "similarity_threshold": 0.7, "working_ttl_minutes": 30,
    "working_max_bytes": 65536, "working_archive": False, "embedding_retention_days": 90, "eviction_threshold": None,
    "tidy_after_hours": None, "tidying_tokens": 30_000,
    "confidence_floor": None, "confirm_ends": False, "remember_assistant": True, "remembered_feedback": False,
    "mask_secrets": True, "mask_secrets_in_exports": False,
    "auto_context": True, "timezone": "UTC",
    "sensitive": dict.fromkeys(("health", "faith", "sex", "money", "minors"), "remember"),
}.items()}  # fmt: skip


@pytest.fixture(autouse=True)
def _no_environment(settings: Any) -> None:
    settings.MEMORY_ENVIRONMENT = {}


@pytest.fixture
def user(db: None) -> User:
    return UserFactory()


@pytest.fixture
def client(user: User) -> APIClient:
    client = APIClient()
    client.force_authenticate(user)
    return client


@pytest.mark.spec("G1")
def test_user_over_global_over_environment_over_default(client: APIClient, user: User, settings: Any) -> None:
    assert client.get(SETTINGS).json() == DEFAULTS
    settings.MEMORY_ENVIRONMENT = {"MEMORY_RETRIEVAL_LIMIT": "9", "MEMORY_TIMEZONE": "Asia/Shanghai"}
    assert client.get(SETTINGS).json() == DEFAULTS | {
        "memory.retrieval_limit": 9,
        "memory.timezone": "Asia/Shanghai",
    }
    update_settings(user=None, changes={"memory.retrieval_limit": 8})
    assert client.get(SETTINGS).json()["memory.retrieval_limit"] == 8
    assert client.patch(SETTINGS, {"memory.retrieval_limit": 7}).json()["memory.retrieval_limit"] == 7
    assert client.get(SETTINGS).json()["memory.retrieval_limit"] == 7
    assert client.patch(SETTINGS, {"memory.retrieval_limit": None}).json()["memory.retrieval_limit"] == 8


@pytest.mark.spec("G1")
def test_a_change_answers_all_effective_values_and_is_the_callers_own(client: APIClient, user: User) -> None:
    changes = {"memory.rag_top_n": 50, "memory.timezone": "Asia/Shanghai", "memory.score_weights": {"keyword": 1.0}}
    answer = client.patch(SETTINGS, changes)
    weights = DEFAULTS["memory.score_weights"] | {"keyword": 1.0}
    assert answer.status_code == 200
    assert answer.json() == DEFAULTS | changes | {"memory.score_weights": weights}
    other = APIClient()
    other.force_authenticate(UserFactory())
    assert other.get(SETTINGS).json() == DEFAULTS


@pytest.mark.spec("G1")
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("memory.rag_top_n", 51),
        ("memory.rag_top_n", "5"),
        ("memory.rag_top_n", True),
        ("memory.enable_user_profile", 1),
        ("memory.auto_accept_confidence", 1.1),
        ("memory.recency_half_life_days", 0),
        ("memory.score_weights", {"keyword": 2}),
        ("memory.score_weights", {"luck": 0.5}),
        ("memory.sensitive", {"health": "never"}),
        ("memory.sensitive", {"weather": "exclude"}),
        ("memory.sensitive", "exclude"),
        ("memory.timezone", "Shanghai"),
        ("memory.unknown", 1),
        ("rag_top_n", 5),
    ],
)
def test_a_bad_value_is_400_and_changes_nothing(client: APIClient, key: str, value: Any) -> None:
    answer = client.patch(SETTINGS, {"memory.retrieval_limit": 9, key: value})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "invalid"
    assert list(answer.json()["error"]["fields"]) == [key]
    assert not Setting.objects.exists()


@pytest.mark.spec("G1")
def test_a_bad_default_is_named_at_the_start(settings: Any) -> None:
    for name, value in (
        ("RETRIEVAL_LIMIT", "many"),
        ("RETRIEVAL_LIMIT", "0"),
        ("RETRIEVAL_LIMIT", "null"),
        ("TIMEZONE", "Mars/Olympus"),
        ("SCORE_WEIGHTS", '{"keyword": 2}'),
    ):
        settings.MEMORY_ENVIRONMENT = {f"MEMORY_{name}": value, "MEMORY_CONTEXT_LIMIT": "30"}
        (error,) = check_environment_settings()
        assert error.msg.startswith(f"MEMORY_{name}: ")
    with pytest.raises(SystemCheckError, match="MEMORY_SCORE_WEIGHTS: "):
        call_command("check")
    good = {"MEMORY_RETRIEVAL_LIMIT": "9", "MEMORY_EVICTION_THRESHOLD": "", "MEMORY_TIMEZONE": "Asia/Shanghai"}
    settings.MEMORY_ENVIRONMENT = {**good, "MEMORY_LIMIT_OF_THE_CONTAINER": "512m"}
    assert check_environment_settings() == []
