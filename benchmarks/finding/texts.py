"""Messages as long as those of a chat with a model, of words as frequent as in the language (Zipf's law)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import jieba  # type: ignore[import-untyped]

VOCABULARY = 20_000
QUESTION_CHARS, REPLY_CHARS = (20, 60, 120), (300, 600, 1_200)
RARE_CHINESE, RARE_ENGLISH = "量子灯塔协议", "zyglotron"
"""Words of one message in ten thousand."""

_SYLLABLES = ("ba", "con", "der", "est", "fil", "gra", "hem", "ing", "jo", "kel", "lum", "mor", "nat", "or", "per")


class Writer:
    """Writes messages, the same ones for the same seed."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        tokenizer = jieba.Tokenizer()
        frequencies, _total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
        chinese = sorted((word for word in frequencies if len(word) == 2), key=lambda word: -frequencies[word])
        english = ["".join(parts) for size in (1, 2, 3, 4) for parts in itertools.product(_SYLLABLES, repeat=size)]
        self.chinese: Sequence[str] = chinese[:VOCABULARY]
        self.english: Sequence[str] = english[:VOCABULARY]
        self._weights = list(itertools.accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))

    def write(self, number: int) -> str:
        """Message `number`: questions and replies take turns, and every conversation is in one language."""
        chinese = number // 20 % 2 == 0
        characters = self._draw.choice(REPLY_CHARS if number % 2 else QUESTION_CHARS)
        count = characters // (2 if chinese else 8)
        words = self._draw.choices(self.chinese if chinese else self.english, cum_weights=self._weights, k=count + 1)
        if number % 10_000 == (5_000 if chinese else 5_020):
            words.append(RARE_CHINESE if chinese else RARE_ENGLISH.capitalize())
        text = "".join(words) if chinese else " ".join(words)
        return text + ("。" if chinese else ".")
