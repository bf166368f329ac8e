"""Cutting text where a sentence ends: Chinese, English, and both in one paragraph."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

Span = tuple[int, int]
"""Start and end of a piece of a text."""

_CLOSING = "”’\"'」』）)】》"
_END = re.compile(
    rf"[。！？…]+[!?{_CLOSING}]*[^\S\n]*"
    rf"|(?<![!?])[!?]++[{_CLOSING}]*+(?:[^\S\n]+|(?=\n|$|[\u3400-\u9fff]))"
    rf"|(?<!\.)(?P<stop>\.++)[{_CLOSING}]*+(?:[^\S\n]+|(?=\n|$))"
    r"|\n\s*"
)
_CLAUSE_END = re.compile(r"[，；、：]|[,;:](?=\s)|(?<=\s)[-–—]+(?=\s)")
_LAST_WORD = re.compile(r"[^\s(（]*$")
_ABBREVIATION = re.compile(
    r"(?:.*[\u3400-\u9fff](?=[A-Za-z]{2}))?"
    r"(?:[A-Za-z]|[A-Za-z](?:\.[A-Za-z])+|Mrs?|Ms|Dr|Prof|Nos?|Art|Arts|Sec|Secs|Abs|Nr|vs|ca|cf|al|approx|Inc|Ltd|Co|Corp"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|St|Ch|Fig|Eq|pp|para|paras|Supp|Ct|Ed|Reg|Regs|Rev|Stat)"
)
_LONGEST_ABBREVIATION = 12


def split_sentences(text: str, *, keep: Sequence[Span] = ()) -> list[str]:
    """The sentences of `text`, each with the blanks after it: joined they are `text` again.

    A line ends a sentence. Nothing inside one of the spans `keep` (in order, none over another) does, nor a full stop
    after an abbreviation.
    """
    stops = [stop for _start, stop in keep]
    sentences: list[str] = []
    begin = 0
    for end in _ends(text):
        next_kept = bisect_right(stops, end)
        inside = next_kept < len(keep) and keep[next_kept][0] < end
        if end > begin and not inside:
            sentences.append(text[begin:end])
            begin = end
    if begin < len(text):
        sentences.append(text[begin:])
    return sentences


def _ends(text: str) -> Iterable[int]:
    for found in _END.finditer(text):
        if found["stop"] is not None and found.end() < len(text):
            before = text[max(0, found.start() - _LONGEST_ABBREVIATION) : found.start()]
            word = _LAST_WORD.search(before)
            if word and _ABBREVIATION.fullmatch(word.group()):
                continue
        yield found.end()


def cut_at_sentence(text: str, limit: int, *, keep: Sequence[Span] = ()) -> str:
    """`text` if it has at most `limit` characters, else as many of its first sentences as do.

    A first sentence that is too long by itself is cut where a clause or a word ends, with "…" in place of the rest.
    Nothing is cut inside one of the spans `keep`; where one begins the text, "" may be all that is left.
    """
    text = text.strip()
    if len(text) <= limit:
        return text
    whole = ""
    for sentence in split_sentences(text, keep=keep):
        if len((whole + sentence).rstrip()) > limit:
            break
        whole += sentence
    return whole.rstrip() or _cut_inside(text, limit - 1, keep=keep)


def _cut_inside(sentence: str, limit: int, *, keep: Sequence[Span]) -> str:
    """The beginning of a sentence, at most `limit` characters, and "…": to a clause's end if that is half of it."""
    clauses = [found.start() for found in _CLAUSE_END.finditer(sentence, 0, max(limit, 0) + 1)]
    words = [end for end in range(1, limit + 1) if not (_is_latin(sentence[end - 1]) and _is_latin(sentence[end]))]
    for ends in ([end for end in clauses if limit // 2 < end <= limit], words, range(1, limit + 1)):
        for end in sorted(ends, reverse=True):
            if not any(start < end < stop for start, stop in keep) and (begun := sentence[:end].rstrip()):
                return begun + "…"
    return ""


def _is_latin(character: str) -> bool:
    return character.isascii() and not character.isspace()
