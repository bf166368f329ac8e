"""The sentences of a message that its writer says themselves: without captions, quotations, pasted text and openers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from apps.core.text.commands import read_commands
from apps.core.text.sentences import SPOKEN, find_quotations, replace_quotations, split_sentences
from apps.offline.language import Language, detect_language, fold_in_place, load_rules, rewrite

# Sentences of a message, and characters of a sentence: more is a document, longer no plain statement.
_MOST_SENTENCES, _LONGEST = 60, 400

_LEFT_OUT = re.compile(
    r"```.*?(?:```|\Z)|^[^\S\n]*>.*$|\[(?:shares|shared|sends|sent|image|photo|picture|video|attach)[^\]]{0,1000}\]"
    r"|[\[【(（](?:分享|发送|发了|图片|照片|视频|表情)[^\]】)）]{0,1000}[\]】)）]",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_END = " \t\n.。!！~～…,，;；"


@dataclass(frozen=True, slots=True)
class Sentence:
    """`text`: as it was said, without openers. `plain`: folded, contractions written out, quotations as “”."""

    text: str
    plain: str
    language: Language

    def join(self, other: Sentence) -> Sentence:
        """Return this sentence with the one after it."""
        gap = " " if self.language == "en" else ""
        return Sentence(f"{self.text}{gap}{other.text}", f"{self.plain}. {other.plain}", self.language)


def list_sentences(text: str) -> list[Sentence]:
    """Return the sentences of a message that may say something about its writer, in order.

    Left out: a message that hands over a text to work on, what follows "she wrote:", what a command said (L9).
    """
    if load_rules("talk")["work_on_text"].search(fold_in_place(text[:_LONGEST])):
        return []
    told = [command.text for command in read_commands(text) if command.text]
    return list(_list_said(_LEFT_OUT.sub("\n", text), told))[:_MOST_SENTENCES]


def make_sentence(text: str) -> Sentence:
    """Return a sentence as the rules read it."""
    text, folded = _drop_openers(" ".join(text.split()))
    language = detect_language(text)
    plain = replace_quotations(folded, SPOKEN, by="“”")
    plain = rewrite(plain, "contractions") if language == "en" else plain
    return Sentence(text, plain.strip(_END), language)


def _list_said(text: str, told: list[str]) -> Iterator[Sentence]:
    cites = load_rules("talk")["cites"]
    quoted = find_quotations(text, SPOKEN)
    position = 0
    for piece in split_sentences(text, keep=quoted):
        begin, position = position, position + len(piece)
        start = begin + len(piece) - len(piece.lstrip())
        inside = any(left <= start and begin + len(piece.rstrip()) <= right for left, right in quoted)
        if cites.search(fold_in_place(piece)):
            return
        said = piece.strip()
        if inside or not said or len(said) > _LONGEST or any(said in one or one.strip() in said for one in told):
            continue
        sentence = make_sentence(said)
        if sentence.plain:
            yield sentence


def _drop_openers(text: str) -> tuple[str, str]:
    """The text without "well," or "haha", and its folded form."""
    openers = load_rules("talk")["openers"]
    folded = fold_in_place(text)
    while (found := openers.match(folded)) and found.end() and found.end() < len(text):
        text, folded = text[found.end() :], folded[found.end() :]
    return text, folded
