"""Words of Chinese, English and mixed text: jieba for runs with Han characters, a pattern for everything else.

Text is taken as it stands; callers that compare fold it first. The dictionary (350,000 words, about 0.6 s) is read
once per process, at first use. jieba's own loader is not used: it logs to stderr and keeps a cache
file of a fixed name in the shared temporary folder, where a second system user could plant or block it.

Pronouns of the two people in a conversation are one: "你喜欢的颜色" (as a model wrote it down) and "我喜欢的颜色" (as
the person asks) must meet (K2, L3). jieba's words decide what a pronoun is: 我们, 你们, 自我 and 迷你 are none.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

_CHINESE = re.compile("[\u4e00-\u9fff]")


def holds_chinese(text: str) -> bool:
    """Whether any character of the text is Chinese."""
    return _CHINESE.search(text) is not None


_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"

_CJK_RUN = re.compile(rf"[\u3040-\u30ff\uac00-\ud7af{_HAN}]+")

# Scripts without spaces between words: those above, Thai, Lao, Burmese and Khmer.
_PAIRED_RUN = re.compile(rf"[\u0e01-\u0e4e\u0e81-\u0ecd\u1000-\u1049\u1780-\u17d3]+|{_CJK_RUN.pattern}")

# Vowel signs of Hebrew, Arabic, Indian and Thai writing belong to the word that they stand in.
_SIGNS_IN_WORDS = (
    "\u0591-\u05bd\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff\u0e01-\u0e4e\u0e81-\u0ecd\u1000-\u1049\u1780-\u17d3"
)

# A run with Han in it goes to jieba whole, with short Latin neighbours: its dictionary knows 卡拉OK, T恤 and C++.
# The bounded prefix keeps the scan linear.
_BLOCK = re.compile(
    rf"(?P<han>[A-Za-z0-9]{{0,8}}[{_HAN}][{_HAN}A-Za-z0-9+#.]*)"
    r"|(?P<word>\d+(?:\.\d+)+"
    rf"|(?:[^\W_{_HAN}]|[{_SIGNS_IN_WORDS}])+(?:['’][^\W\d_{_HAN}]+)*(?:\+\+|\#)?)"
)

# Emoji and the like. A flag is two letters of its own kind; tones of skin are none by themselves.
_SIGN = re.compile(
    "[\U0001f1e6-\U0001f1ff]{2}|[\u231a-\u23ff\u2600-\u27bf\u2b50\u2b55\U0001f000-\U0001f3fa\U0001f400-\U0001faff]"
)

_PART = re.compile(r"\d+|[^\W\d_]+")
# Longer words of letters and digits are digests and keys, of which nobody looks for a part.
_LONGEST_MIXED = 32

# Characters given to jieba at once: its hidden Markov model takes quadratic time on a run of unknown characters.
_SLICE = 400

# Sounds of animals to jieba, but people who write them say what somebody is called: 我的猫叫咪咪. Cut in two.
_NAMED = frozenset(f"{animal}叫" for animal in "猫狗鸡鸟马猪牛羊鱼爸妈哥姐弟妹")

# Rarity of a word the dictionary lacks, such as nearly every English one: that of an ordinary Chinese noun.
_UNKNOWN_RARITY = 12.0


@cache
def _get_tokenizer() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jieba's source has invalid escapes, reported whenever it is compiled
        import jieba
    tokenizer = jieba.Tokenizer()
    frequencies, total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    # Folded text must find the words written with capitals in the dictionary: T恤, 卡拉OK, C语言.
    for word, frequency in list(frequencies.items()):
        if (folded := word.casefold()) != word:
            frequencies[folded] = max(frequency, frequencies.get(folded, 0))
    tokenizer.FREQ, tokenizer.total, tokenizer.initialized = frequencies, total, True
    return tokenizer


def pieces(text: str) -> list[str]:
    """`text` cut into words and what lies between them, nothing lost: joined they are `text` again."""
    found: list[str] = []
    end = 0
    for block in _BLOCK.finditer(text):
        if block.start() > end:
            found.append(text[end : block.start()])
        end = block.end()
        if block["han"] is None:
            found.append(block["word"])
            continue
        run = block["han"]
        for start in range(0, len(run), _SLICE):
            for word in _get_tokenizer().cut(run[start : start + _SLICE]):
                found.extend(word if word in _NAMED else (word,))
    if end < len(text):
        found.append(text[end:])
    return found


def words(text: str) -> list[str]:
    """The words of `text` in order, by jieba's default mode; pieces without a letter or digit are left out."""
    return [piece for piece in pieces(text) if any(map(str.isalnum, piece))]


def search_words(text: str) -> list[str]:
    """The words of `text` as jieba's search mode gives them: before each long word the dictionary words inside it."""
    frequencies = _get_tokenizer().FREQ
    found: list[str] = []
    for word in words(text):
        for size in (2, 3):
            if len(word) > size:
                grams = (word[start : start + size] for start in range(len(word) - size + 1))
                found.extend(gram for gram in grams if frequencies.get(gram))
        found.append(word)
    return found


def signs(text: str) -> list[str]:
    """The emoji and other pictures in `text`, in order, each by itself; a flag is one."""
    return _SIGN.findall(text)


def mixed_parts(word: str) -> list[str]:
    """The runs of letters and of digits in a folded word of both, such as asr1605; [] for any other word."""
    parts = _PART.findall(word) if len(word) <= _LONGEST_MIXED and not word.isalpha() else []
    return parts if len(parts) > 1 and "".join(parts) == word else []


def rarity(word: str) -> float:
    """How rare a word is in general Chinese, in nats: -ln of its share of the dictionary's counts (about 3 to 18)."""
    tokenizer = _get_tokenizer()
    count = tokenizer.FREQ.get(word)
    return math.log(tokenizer.total / count) if count else _UNKNOWN_RARITY


def is_cjk(text: str) -> bool:
    """Whether `text` consists of Chinese, Japanese or Korean characters only (and is not empty)."""
    return _CJK_RUN.fullmatch(text) is not None


def cjk_runs(text: str) -> list[str]:
    """The longest runs of Chinese, Japanese or Korean characters in `text`."""
    return _CJK_RUN.findall(text)


def paired_runs(text: str) -> list[str]:
    """The longest runs of characters of a script without spaces in `text`, of which neighbours are terms of search."""
    return _PAIRED_RUN.findall(text)


# The form that stands for every pronoun.
NEUTRAL = "我"

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
