"""How many model tokens a text takes, estimated without a vocabulary: budgets need a size, not a count."""

from __future__ import annotations

import math

_ASCII_CHARACTERS_PER_TOKEN = 4
_OTHER_BYTES_PER_TOKEN = 3


def estimate_tokens(text: str) -> int:
    """The estimated number of tokens of `text`, rounded up; 0 for the empty text.

    Four ASCII characters, or three bytes of other UTF-8, are one token: a Chinese character (3 bytes) is one, a
    Cyrillic letter (2 bytes) two thirds, an emoji (4 bytes) one and a third. Monotone: more text is never fewer tokens,
    and the estimate of two texts joined is at most the sum of theirs.
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    ascii_size = len(text.encode("ascii", "ignore"))
    return math.ceil(ascii_size / _ASCII_CHARACTERS_PER_TOKEN + (size - ascii_size) / _OTHER_BYTES_PER_TOKEN)
