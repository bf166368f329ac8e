"""Emotions and the reply strategies they lead to (E1-E4). Pure: no Django."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

UNKNOWN = "unknown"
NEUTRAL = "neutral"


@dataclass(frozen=True, slots=True)
class ReplyStrategy:
    """How to reply after `emotion` (E2). `max_length` is in characters and only advice."""

    emotion: str
    category: str
    tone: str
    max_length: int
    use_memory: bool
    proactive_question: bool
    formality: str
    emoji_allowed: bool

    def to_wire(self) -> dict[str, Any]:
        """E2's six fields and `emotion`."""
        wire = asdict(self)
        del wire["category"]
        return wire


NEUTRAL_STRATEGY = ReplyStrategy(
    emotion=NEUTRAL,
    category="neutral",
    tone="professional",
    max_length=300,
    use_memory=True,
    proactive_question=False,
    formality="casual",
    emoji_allowed=False,
)
"""What holds even if an administrator deleted the neutral row."""

StrategyTable = Mapping[str, ReplyStrategy]


@dataclass(frozen=True, slots=True)
class Emotion:
    """What the model made of the user's message (E1). `category` follows from `primary` through the table."""

    primary: str
    category: str
    confidence: float
    indicators: tuple[str, ...]

    def to_wire(self) -> dict[str, Any]:
        return {
            "primary": self.primary,
            "category": self.category,
            "confidence": self.confidence,
            "indicators": list(self.indicators),
        }


UNKNOWN_EMOTION = Emotion(primary=UNKNOWN, category="neutral", confidence=0.0, indicators=())


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
