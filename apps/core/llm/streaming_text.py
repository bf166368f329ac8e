"""Turn a plain answer into text for the user while it streams in (E6, C6)."""

from __future__ import annotations

from apps.core.llm.reading import clean_answer
from apps.core.llm.reasoning import ReasoningFilter


class AnswerCleaner:
    """`clean_answer` for an answer that comes in pieces: the halves of a surrogate pair may come in two of them."""

    def __init__(self) -> None:
        self._half_pair = ""

    def feed(self, piece: str) -> str:
        """Take the next piece and return it cleaned; a half pair at its end waits for the next one."""
        text = (self._half_pair + piece).replace("\0", "")
        end = len(text) - ("\ud800" <= text[-1:] <= "\udbff")
        self._half_pair = text[end:]
        return clean_answer(text[:end])


class TextStream:
    """Passes a streamed plain answer on without reasoning, U+0000 and lone surrogates.

    What comes out depends on the text alone, never on where it was split.
    """

    def __init__(self) -> None:
        self._reasoning = ReasoningFilter()
        self._cleaner = AnswerCleaner()

    def feed(self, piece: str) -> str:
        """Take the next piece of the answer and return the text that it makes certain, possibly empty."""
        return self._cleaner.feed(self._reasoning.feed(piece))

    def close(self) -> str:
        """Tell that the answer is complete and return the rest of the text, often empty."""
        return self._cleaner.feed(self._reasoning.close())
