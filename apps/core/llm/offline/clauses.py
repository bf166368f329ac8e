"""Cutting a message into the clauses that are read one by one, and telling which of them state something."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from apps.core.llm.offline.language import fold_in_place
from apps.core.llm.offline.lexicon import Lexicon, load_lexicons

_HIDDEN = "□"
_BLANKS = re.compile(r"[^\S\n]+")
_TITLE = r"(?:(?<=(?<![a-z])(?:dr|mr|ms|st|mt)\.)|(?<=(?<![a-z])mrs\.)|(?<=(?<![a-z])prof\.))(?= [a-z])"
"""After the full stop of "Dr. Patel", which ends no sentence."""
_SENTENCE = re.compile(rf"[^。!?;\n….]*(?:\.(?:(?!\s|$)|{_TITLE})[^。!?;\n….]*)*(?:[。!?;\n…]+|\.+(?=\s|$)|$)")
_INITIAL = re.compile(
    r"(?:(?<=name )|(?<=named )|(?<=called )|(?<= as )|(?<= is )|(?<= by )|(?<= me )|(?<= for )|(?<=[A-Z]\. ))[A-Z]"
    r"(?=\. (?:[A-Z]\. )*(?!(?:I|It|The|We|My|He|She|They|But|And|So|Then)\b)[A-Z][a-z])"
)
"""The letter before the full stop of "J. Lark", which ends no sentence either."""
_RELATIVE = re.compile(r"(?:which|who|whose|where|when)\b(?!’s)")
_QUOTED = re.compile(r"“([^“”\n]{1,300})”|\"([^\"\n]{1,300})\"|「([^「」\n]{1,300})」|《([^《》\n]{1,100})》")
_CJK = "\u3400-\u9fff□》」”"
_BOUNDARY = re.compile(
    rf"(?<=[{_CJK}]) ?, ?| ?, ?(?=[{_CJK}])"
    r"| ?, ?(?=(?:and |but |so |now |because |though |although |while |then |which |or |not )?"
    r"(?:if|i|i’m|i’ve|im|my|we|our|he|she|they|it|it’s|you|your|his|her|there|this|that|what|where|how|which|when|do|does"
    r"|can|could|would|please|named|called|right)\b(?! ?,))"
    r"| (?:and|so|because|though|although|while|since) (?=(?:i|i’m|i’ve|im|my|we|our|he|she|they|it|you|his|her)\b)"
    r"|(?<!\bthe)(?<!\ba)(?<!\bthis)(?<!\bgood)(?<!\bno)(?<!\broot) (?:cause|cos|coz) "
    r"(?=(?:i|i’m|i’ve|im|my|we|our|he|she|they|it|it’s|you|your|his|her)\b)"
    r"| (?=and (?:also )?(?:lives?|works?|have|has|loves?|hates?|speaks?|study|studies|is|am|was born|grew up|moved"
    r"|likes|enjoys|plays)\s)"
    r"|(?<!\bso)(?<!\band)(?<!\bbut) (?=if (?:i|you|we|it|he|she|they|my|our)\b)|(?<=xd) (?=[\u3400-\u9fff])"
    r"|(?<=[\u3400-\u9fff]{2}) (?=[\u3400-\u9fff]{4})|(?<=[\u3400-\u9fff])(?=(?:记得|别忘了?)我)"
    r"|,? but | [-–—]{1,3} |——"
    r"|(?<=[\u3400-\u9fff])(?=(?:但是|不过(?!敏)|可是|然而|而且|因为|所以)[\u3400-\u9fff])"
)

_ITEM = re.compile(
    r"(?!今年|现在|目前|最近|喜欢|住|养|做|当|上大|读)"
    r"(?:(?![我你您他她它的了是很不也就都吗吧呢在有叫])[\u3400-\u9fff□《》]){2,6}[.。!\s]*"
)


@dataclass(frozen=True, slots=True)
class Clause:
    """A piece of a message that says or asks one thing.

    ``text``: the user's own wording. ``folded``: the same length, folded, quoted words hidden. ``asks``: it is a
    question. ``supposes``: it stands in a supposition (如果…, if …).
    """

    text: str
    folded: str
    asks: bool = False
    supposes: bool = False


def split_clauses(message: str) -> Iterator[tuple[Clause, ...]]:
    """Yield the clauses of each sentence of `message`, in order."""
    # Runs of blanks would make the boundaries below quadratic, and mean nothing.
    message = _BLANKS.sub(" ", message)
    folded = fold_in_place(message)
    hidden = _QUOTED.sub(_hide, folded)
    for initial in _INITIAL.finditer(message):
        hidden = f"{hidden[: initial.end()]}·{hidden[initial.end() + 1 :]}"
    for sentence in _SENTENCE.finditer(hidden):
        if sentence.group().strip():
            yield _mark(_cut(message, hidden, start=sentence.start(), end=sentence.end()), sentence=sentence.group())


def _hide(quotation: re.Match[str]) -> str:
    found = quotation.group()
    return found[0] + _HIDDEN * (len(found) - 2) + found[-1]


def _cut(message: str, folded: str, *, start: int, end: int) -> list[Clause]:
    clauses = []
    boundaries = [found.span() for found in _BOUNDARY.finditer(folded, start, end)]
    for stop, following in _keep_enumerations([*boundaries, (end, end)], folded, start=start):
        left, right = start, stop
        while left < right and (folded[left].isspace() or folded[left] in ",.。!?;…、"):
            left += 1
        while left < right and (folded[right - 1].isspace() or folded[right - 1] in ",.。!?;…~、"):
            right -= 1
        if left < right:
            clauses.append(Clause(text=message[left:right], folded=folded[left:right]))
        start = following
    return clauses


def _keep_enumerations(boundaries: list[tuple[int, int]], folded: str, *, start: int) -> list[tuple[int, int]]:
    """`boundaries` without the commas of an enumeration: 我喜欢唱歌，跳舞，摄影 is one clause.

    Two short items in a row make one; a single short piece after a comma may as well be an aside.
    """
    starts = [start, *(following for _, following in boundaries)]
    items = [bool(_ITEM.fullmatch(folded, begin, stop)) for begin, (stop, _) in zip(starts, boundaries, strict=False)]
    kept = []
    for index, boundary in enumerate(boundaries):
        inside = index + 1 < len(items) and items[index + 1]
        in_a_row = (index + 2 < len(items) and items[index + 2]) or (index > 0 and items[index])
        if not (inside and in_a_row):
            kept.append(boundary)
    return kept


def _mark(clauses: list[Clause], *, sentence: str) -> tuple[Clause, ...]:
    lexicons = load_lexicons()
    supposing = False
    marked: list[Clause] = []
    for index, clause in enumerate(clauses):
        asks = any(lexicon.question.search(clause.folded) for lexicon in lexicons)
        if index and _RELATIVE.match(clause.folded):
            asks = False  # "…, which leaves me with two": with a question mark it is asked all the same, below
        last = index == len(clauses) - 1
        if last and sentence.rstrip().endswith("?"):
            asks = True
        if last and marked and any(lexicon.tag.search(clause.folded) for lexicon in lexicons):
            asks = True
            marked[-1] = replace(marked[-1], asks=True)
        supposing = supposing or any(lexicon.hypothetical.search(clause.folded) for lexicon in lexicons)
        marked.append(replace(clause, asks=asks, supposes=supposing))
    return tuple(marked)


def is_instruction(text: str, lexicons: tuple[Lexicon, ...]) -> bool:
    """Whether folded `text` tries to give orders to the model rather than to tell about the user."""
    return any(lexicon.instruction.search(text) for lexicon in lexicons)
