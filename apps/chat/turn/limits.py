"""Where a reply ends because its client said so (T3). Pure.

The model writes the reply inside a JSON object, so its server cannot be told: a stop sequence would cut the object.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from apps.core.text.tokens import estimate_tokens

FinishReason = Literal["stop", "length"]


class ReplyLimit:
    """Passes the text of a reply on until it ends; what may yet become a stop sequence is held back."""

    def __init__(self, *, stop: Sequence[str] = (), max_tokens: int | None = None) -> None:
        self.finish_reason: FinishReason = "stop"
        self.ended = False
        self._stop = [sequence for sequence in stop if sequence]
        self._max_tokens = max_tokens
        self._held = ""
        self._sent = ""

    def feed(self, text: str) -> str:
        """Take the next piece and return what of it goes out."""
        if self.ended:
            return ""
        self._held += text
        found = [at for sequence in self._stop if (at := self._held.find(sequence)) >= 0]
        if found:
            self.ended = True
            return self._send(self._held[: min(found)])
        kept = max((_overlap(self._held, sequence) for sequence in self._stop), default=0)
        ready, self._held = self._held[: len(self._held) - kept], self._held[len(self._held) - kept :]
        return self._send(ready)

    def close(self) -> str:
        """Return what was held back to the end."""
        rest, self._held = ("", "") if self.ended else (self._held, "")
        return self._send(rest)

    def _send(self, text: str) -> str:
        if self._max_tokens is not None and estimate_tokens(self._sent + text) > self._max_tokens:
            # Estimates only grow with the text, so that the longest beginning that fits is found by halving.
            low, high = 0, len(text)
            while low < high:
                middle = (low + high + 1) // 2
                if estimate_tokens(self._sent + text[:middle]) <= self._max_tokens:
                    low = middle
                else:
                    high = middle - 1
            text, self.ended, self.finish_reason = text[:low], True, "length"
        self._sent += text
        return text


def _overlap(text: str, sequence: str) -> int:
    """The length of the longest end of `text` that `sequence` begins with."""
    return next((size for size in range(min(len(text), len(sequence) - 1), 0, -1) if text.endswith(sequence[:size])), 0)
