"""Emotions, the strategies they lead to, and other values of a turn (E1, E2). No Django."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

UNKNOWN = "unknown"
NEUTRAL = "neutral"

COMPOSED = "composed"
"""The answer of a turn that composed its reply itself: no model was asked (L9)."""


MAX_SEARCH_CHARS = 1_000
"""Of what is searched for in all conversations."""

MAX_FOUND = 50
"""Conversations that one search returns at most."""


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
        """E2's six fields and `emotion` (SPEC, API: Strategy)."""
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
