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
    use_memory: bool = True
    proactive_question: bool = False
    formality: str = "casual"
    emoji_allowed: bool = False

    def to_wire(self) -> dict[str, Any]:
        """E2's six fields and `emotion`."""
        wire = asdict(self)
        del wire["category"]
        return wire


# What holds even if an administrator deleted the neutral row.
NEUTRAL_STRATEGY = ReplyStrategy(NEUTRAL, "neutral", "professional", 300)

# The table of a new installation.
DEFAULT_STRATEGIES = (
    NEUTRAL_STRATEGY,
    ReplyStrategy("happy", "positive", "warm", 250, proactive_question=True),
    ReplyStrategy("excited", "positive", "enthusiastic", 250, proactive_question=True),
    ReplyStrategy("grateful", "positive", "gracious", 200),
    ReplyStrategy("curious", "positive", "engaging", 500, proactive_question=True),
    ReplyStrategy("sad", "negative", "empathetic", 400),
    ReplyStrategy("anxious", "negative", "calm_reassuring", 350),
    ReplyStrategy("frustrated", "negative", "patient_solution_focused", 350),
    ReplyStrategy("confused", "negative", "clear_explanatory", 500, proactive_question=True),
    ReplyStrategy("help_seeking", "seeking", "helpful", 600, proactive_question=True),
    ReplyStrategy("info_seeking", "seeking", "informative", 600),
    ReplyStrategy("validation_seeking", "seeking", "supportive", 300),
)

StrategyTable = Mapping[str, ReplyStrategy]


@dataclass(frozen=True, slots=True)
class Emotion:
    """What the model made of the user's message (E1). `category` follows from `primary` through the table."""

    primary: str
    category: str
    confidence: float
    indicators: tuple[str, ...]

    def to_wire(self) -> dict[str, Any]:
        return {**asdict(self), "indicators": list(self.indicators)}


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
