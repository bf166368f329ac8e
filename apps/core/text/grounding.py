"""Whether a text that a model wrote rests on what somebody said, and where values occur in running text (L6). Pure.

Groundedness is a guard, not a judge: it holds back what a weak model made up (``lotsa: "lotsa"``, the examples of the
prompt), and lets through every paraphrase that keeps one word of the original.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from apps.core.text.fold import fold, normalize_value
from apps.core.text.keywords import bigrams, load_stop_words, match_words, stem
from apps.core.text.segment import NEUTRAL, drop_pronouns, is_cjk
from apps.core.text.sentences import split_sentences
from apps.core.text.text_cache import cache_texts

_NUMBER = re.compile(r"\d+")
# Words that every sentence about the person has: they ground nothing.
_FILLER = frozenset({"user", "用户"})


def is_grounded(text: str, *, said: str) -> bool:
    """Whether `text` shares a content word, or a number, with `said`.

    English words meet by their stem; of Chinese, two neighbouring characters or a word of one character are enough.
    A text without any content word is grounded only where it occurs in `said` as it is.
    """
    content = _content_words(text)
    if not content:
        return _stands_in(fold(text).strip(), fold(said))
    heard = _hear(said)
    return any(_is_heard(word, heard) for word in content)


def read_questions(text: str) -> str:
    """The questions in what an assistant said: a short answer agrees to their words, to no others of its."""
    return " ".join(part for part in map(str.strip, split_sentences(text)) if part.endswith(("?", "？")))


def drop_questions(text: str) -> str:
    """What somebody said without the questions in it: what is asked about is not known yet."""
    return " ".join(part for part in map(str.strip, split_sentences(text)) if not part.endswith(("?", "？")))


def is_said_by(text: str, *, said: str) -> bool:
    """Whether every content word and number of `text` is in `said`, too."""
    return not list_unsaid(text, said=said)


def list_unsaid(text: str, *, said: str) -> list[str]:
    """Return the content words and numbers of `text` that are not in `said`."""
    heard = _hear(said)
    return [word for word in _content_words(text) if not _is_heard(word, heard)]


def has_content(text: str) -> bool:
    """Whether a text has a word that can be looked for in what was said: "yes", "of it" and punctuation have none."""
    return bool(_content_words(text))


def leans_on_others(text: str, *, own: str, others: str) -> bool:
    """Whether more of the content words of `text` come from `others` alone than occur in a person's `own` words.

    `others`: what somebody else said where the text was made, such as an attached file or the assistant; it may be
    long, so it is searched as it is and not taken apart.
    """
    words = set(_content_words(text)) if others else set()
    foreign = _fold_others(others)
    theirs = {word for word in words if _occurs(word, foreign)}
    if not theirs:
        return False
    heard = _hear(own)
    mine = {word for word in words if _is_heard(word, heard)}
    return len(theirs - mine) > len(mine)


# How a memory of the assistant's words begins: what follows is what it did something about.
_TOLD = re.compile(
    r"(?i)\s*(?:(?:the|your|their|用户的)\s*)?(?:AI\s*)?(?:assistant(?:['’]s)?\s+(?:has\s+|had\s+|also\s+|then\s+|will\s+)?\w+|"
    r"助[手理](?:也|曾|还|会|将|已)?(?:[为给向]用户)?"
    r"(?:建议|推荐|答应|承诺|保证|决定|发现|得出|算出|计算|指出|列出|列举|提出|制定|写|做|认为|判断|告诉|说明|说)?)"
)
# What it is to do for them, or they are to do by its advice, is none of that.
_ADVICE = re.compile(r"(?i)\b(?:recommend|suggest|advis|propos|promis|ask|urg|insist)\w*\s+that\s+(?:the\s+)?user\b")
# What the assistant holds to be true of the person is a guess of its own, wherever in the text.
_ABOUT_USER = re.compile(
    r"(?i)assistant\s+(?:has\s+|had\s+|also\s+)?"
    r"(?:said|stated|noted|noticed|mentioned|remember\w*|recall\w*|kn[eo]w\w*|acknowledged|confirmed|assum\w+|guess\w+|"
    r"believe\w*|think\w*|thought|observed|learn\w+|understood|inferred|concluded)\s+(?:that\s+)?(?:the\s+)?user\b"
    r"|(?:[.;:,!?]\s*|\b(?:that|because|since|as|while)\s+)(?:the\s+)?user\s+"
    r"(?!(?:should|could|can|may|might|must|would|will|shall|ought|asked|requested)\b)\w"
    r"|\buser,?\s+(?:who|being|having)\b"
    r"|助[手理](?:还|也)?(?:记得|记住|知道|提到|认为|说|推测|推断|猜测|了解|注意到|看出|觉得|确认|得知|指出)了?用户"
    r"|(?:[，。；：！？,;:.!?]\s*|因为|由于|鉴于|既然|考虑到|发现|判断)了?用户(?!可|能|应|该|需|必|要|不[要必用]|最好|先|的)"
)


def read_told(text: str) -> str:
    """Return what the assistant's words were about, "" where a text tells something else or is about the person (A6).

    "The assistant recommended oat milk." → " oat milk."; nothing of "… because the user is lactose intolerant."
    """
    told = _TOLD.match(text)
    return "" if told is None or _ABOUT_USER.search(_ADVICE.sub("", text)) else text[told.end() :]


@dataclass(frozen=True, slots=True)
class _Heard:
    """What was said, to look words up in: folded, its words by their stems, its numbers."""

    text: str
    stems: frozenset[str]
    numbers: frozenset[str]


@cache_texts(16)
def _hear(said: str) -> _Heard:
    """Many texts of one answer are compared with the same message, which may be long."""
    folded = fold(said)
    return _Heard(folded, frozenset(map(stem, match_words(said))), frozenset(_NUMBER.findall(folded)))


@cache_texts(4)
def _fold_others(others: str) -> str:
    return fold(others)


def _occurs(word: str, text: str) -> bool:
    if is_cjk(word):
        return word in text or any(pair in text for pair in bigrams(word))
    return stem(word) in text


def _stands_in(text: str, said: str) -> bool:
    """Whether a text occurs in another as it is; of letters and digits as whole words."""
    return bool(text) and re.search(rf"(?<![a-z0-9'’]){re.escape(text)}(?![a-z0-9])", said) is not None


def _content_words(text: str) -> list[str]:
    stop_words = load_stop_words()
    return [
        word
        for word in match_words(text)
        if word != NEUTRAL and word not in stop_words and word not in _FILLER and (len(word) > 1 or _is_telling(word))
    ]


def _is_telling(character: str) -> bool:
    return is_cjk(character) or character.isdecimal()


def _is_heard(word: str, heard: _Heard) -> bool:
    if is_cjk(word):
        return word in heard.text or any(pair in heard.text for pair in bigrams(word))
    if word[0].isdecimal():
        return any(number in heard.numbers for number in _NUMBER.findall(word))
    return stem(word) in heard.stems


_PART = re.compile(r"[^\W_]+|[+#%‰$€£¥]+")
_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_NOT_AFTER = rf"(?<![^\W_{_CJK}])(?<!\d[.,])"
_NOT_BEFORE = rf"(?![^\W_{_CJK}])(?![.,]\d)"
# A shorter value is found as a whole sentence only: 是 is a part of too many.
_LEAST_CHARACTERS = 2

# How many sentences one value may span.
_MOST_SENTENCES = 5


class Cut(NamedTuple):
    """A text without the sentences that hold a value, and those sentences; `removed` is empty where none does."""

    text: str
    removed: tuple[str, ...]


class Traces:
    """Values to be found in text: whole words, whatever the case, width, script, pronouns and marks; plurals too."""

    def __init__(self, texts: Iterable[str]) -> None:
        forms = {text: normalize_value(text) for text in texts}
        self._whole = frozenset(form for form in forms.values() if 0 < len(form) < _LEAST_CHARACTERS)
        found = {_to_pattern(text) for text, form in forms.items() if len(form) >= _LEAST_CHARACTERS}
        patterns = sorted(filter(None, found), key=len, reverse=True)
        self._pattern = re.compile("|".join(patterns)) if patterns else None

    def __bool__(self) -> bool:
        return bool(self._whole or self._pattern)

    def stand_in(self, text: str) -> bool:
        """Whether a value is somewhere in `text`, or is a sentence of it."""
        return self._is_part_of(text) or any(map(self._is, split_sentences(text) if self._whole else ()))

    def cut_from(self, text: str) -> Cut:
        """Take out the sentences in which a value stands; one that goes over several takes them all with it."""
        if not self.stand_in(text):
            return Cut(text, ())
        kept: list[str] = []
        removed: list[str] = []
        for sentence in split_sentences(text):
            kept.append(sentence)
            for count in range(1, min(_MOST_SENTENCES, len(kept)) + 1):
                passage = "".join(kept[-count:])
                if self._is_part_of(passage) or self._is(passage):
                    del kept[-count:]
                    removed.append(passage.strip())
                    break
        rest = "".join(kept).strip()
        if self.stand_in(rest):  # a value over more sentences than that
            return Cut("", (text.strip(),))
        return Cut(rest, tuple(removed))

    def _is(self, sentence: str) -> bool:
        return bool(self._whole) and normalize_value(sentence) in self._whole

    def _is_part_of(self, text: str) -> bool:
        return self._pattern is not None and self._pattern.search(_to_words(text)) is not None


def _to_words(text: str) -> str:
    folded = " ".join(fold(text).split())
    return drop_pronouns(folded) or folded


def _to_pattern(value: str) -> str:
    """The value with any marks between its parts, not inside of a longer word or number."""
    parts = _PART.findall(_to_words(value))
    if not parts:
        return ""
    pattern = re.escape(parts[0])
    for before, part in pairwise(parts):
        between = r"[\W_]+" if before[-1].isdecimal() and part[0].isdecimal() else r"[\W_]*"
        pattern += between + re.escape(part)
    first, last = parts[0][0], parts[-1][-1]
    start = "" if _is_cjk(first) or not first.isalnum() else _NOT_AFTER
    plural = "(?:e?s)?" if last.isascii() and last.isalpha() else ""
    end = plural if _is_cjk(last) or not last.isalnum() else plural + _NOT_BEFORE
    return f"{start}{pattern}{end}"


def _is_cjk(character: str) -> bool:
    return re.match(f"[{_CJK}]", character) is not None
