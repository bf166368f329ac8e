"""Emotion of a turn and the strategy of the next: the pure rules."""

from __future__ import annotations

import dataclasses

import pytest

from apps.chat.emotions import (
    DEFAULT_STRATEGIES,
    NEUTRAL_STRATEGY,
    UNKNOWN_EMOTION,
    Emotion,
    ReplyStrategy,
    get_steering_emotion,
    get_strategy,
    name_emotion,
)
from apps.chat.models import Strategy

SAD = ReplyStrategy("sad", "negative", "empathetic", 400)
TABLE = {"neutral": NEUTRAL_STRATEGY, "sad": SAD}


def emotion(primary: str, confidence: float) -> Emotion:
    return name_emotion(primary=primary, confidence=confidence, indicators=(), table=TABLE)


@pytest.mark.spec("E1")
def test_the_category_follows_from_the_primary_emotion():
    assert emotion(" Sad ", 0.9) == Emotion("sad", "negative", 0.9, ())


@pytest.mark.spec("E4")
def test_an_emotion_that_is_not_in_the_table_is_unknown():
    assert emotion("jealous", 0.9) == UNKNOWN_EMOTION
    assert UNKNOWN_EMOTION.to_wire() == {
        "primary": "unknown", "category": "neutral", "confidence": 0.0, "indicators": [],
    }  # fmt: skip


@pytest.mark.spec("E4")
@pytest.mark.parametrize(("confidence", "steers"), [(0.49, "neutral"), (0.5, "sad"), (1.0, "sad")])
def test_an_emotion_under_the_threshold_does_not_steer(confidence: float, steers: str):
    assert get_steering_emotion(emotion("sad", confidence), threshold=0.5) == steers


@pytest.mark.spec("E4")
def test_an_unknown_emotion_never_steers_even_without_a_threshold():
    assert get_steering_emotion(UNKNOWN_EMOTION, threshold=0.0) == "neutral"


@pytest.mark.spec("E3")
@pytest.mark.parametrize("last", [None, "neutral", "unknown", "removed_by_admin"])
def test_without_a_known_last_emotion_the_neutral_strategy_holds(last: str | None):
    assert get_strategy(last, table=TABLE) is NEUTRAL_STRATEGY


@pytest.mark.django_db
@pytest.mark.spec("E2")
def test_a_new_installation_has_the_default_strategies():
    fields = [field.name for field in dataclasses.fields(ReplyStrategy)]
    rows = Strategy.objects.values(*fields)
    assert {row["emotion"]: ReplyStrategy(**row) for row in rows} == {one.emotion: one for one in DEFAULT_STRATEGIES}
