"""Pronouns of the two people in a conversation: 你 and 我 are the same person seen from two sides (K2, L3).

"你喜欢的颜色" (as a model wrote it down) and "我喜欢的颜色" (as the user asks) must meet, so both sides of every
comparison use one neutral form. jieba's words decide what a pronoun is: 我们, 你们, 自我 and 迷你 are none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from apps.core.text.segment import pieces

NEUTRAL = "我"
"""The form that stands for every pronoun."""

PRONOUNS = frozenset({"我", "你", "您", "i", "me", "my", "mine", "myself", "you", "your", "yours", "yourself"})

_CHARACTERS = "我你您"
_NO_PRONOUN_INSIDE = (
    "我们",
    "你们",
    "您们",
    "自我",
    "忘我",
    "敌我",
    "唯我",
    "我国",
    "我军",
    "我党",
    "我方",
    "迷你",
    "你好",
    "您好",
)


def normalize_pronouns(tokens: Iterable[str]) -> list[str]:
    """Folded words with every pronoun in its neutral form; 我家, 谢谢您 and the like are taken apart first."""
    return [NEUTRAL if token in PRONOUNS else token for token in _split_pronouns(tokens)]


def drop_pronouns(text: str) -> str:
    """Folded text without pronouns and without the possessive 的 after one: 你的猫 → 猫."""
    kept: list[str] = []
    after_pronoun = False
    for piece in _split_pronouns(pieces(text)):
        if piece in PRONOUNS:
            after_pronoun = True
            continue
        if not (after_pronoun and piece == "的"):
            kept.append(piece)
        after_pronoun = False
    return "".join(kept)


def _split_pronouns(tokens: Iterable[str]) -> Iterator[str]:
    """Take a pronoun off the start or end of a two- or three-character word that jieba took for one (我家, 告诉您)."""
    for token in tokens:
        if not 2 <= len(token) <= 3 or any(word in token for word in _NO_PRONOUN_INSIDE):
            yield token
            continue
        start = 1 if token[0] in _CHARACTERS else 0
        end = len(token) - 1 if token[-1] in _CHARACTERS else len(token)
        yield from (part for part in (token[:start], token[start:end], token[end:]) if part)
