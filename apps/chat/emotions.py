"""Emotion of a turn and the strategy of the next (E1–E4): pure functions over the strategy table."""

from __future__ import annotations

from apps.chat.types import NEUTRAL, NEUTRAL_STRATEGY, UNKNOWN, UNKNOWN_EMOTION, Emotion, ReplyStrategy, StrategyTable


def name_emotion(*, primary: str, confidence: float, indicators: tuple[str, ...], table: StrategyTable) -> Emotion:
    """Return the emotion with its category; one that the table does not know is `UNKNOWN_EMOTION` (E4)."""
    strategy = table.get(primary.strip().casefold())
    if strategy is None:
        return UNKNOWN_EMOTION
    return Emotion(primary=strategy.emotion, category=strategy.category, confidence=confidence, indicators=indicators)


def get_steering_emotion(emotion: Emotion, *, threshold: float) -> str:
    """Return what working memory keeps as `last_emotion`: neutral where we are not sure enough (E4)."""
    return emotion.primary if emotion.confidence >= threshold and emotion.primary != UNKNOWN else NEUTRAL


def get_strategy(last_emotion: str | None, *, table: StrategyTable) -> ReplyStrategy:
    """Return the strategy of this turn: that of the last turn's emotion, neutral for a first turn (E3)."""
    return table.get(last_emotion or NEUTRAL) or table.get(NEUTRAL) or NEUTRAL_STRATEGY
