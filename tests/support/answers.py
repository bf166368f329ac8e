"""What a chat model writes in a turn, for scripted models."""

from __future__ import annotations

import json
from typing import Any


def answer(response: str = "好的", **parts: Any) -> str:
    """A valid answer of a turn (E5) as the model writes it."""
    return json.dumps(
        {
            "response": response,
            "emotion": parts.get("emotion", {"primary": "neutral", "confidence": 0.9, "indicators": []}),
            "topic": parts.get("topic"),
            "context_variables": parts.get("variables", {}),
            "memory_update": {
                "should_store": bool(parts.get("entries")),
                "entries": parts.get("entries", []),
                "forget": parts.get("forget", []),
            },
        },
        ensure_ascii=False,
    )
