"""Statements made in the form of something else, in the words of a statement: "Guess who quit smoking?" → "I quit …".

Questions that ask nothing and what people put around a statement would hide it from the rules that read messages. The
forms are in `data/restatements.toml`; whether what they state is worth keeping is for `telling` to decide.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_SENTENCE_START = r"(?:^|(?<=[.!?…\n。！？])|(?<=[.!?…] ))"

_WISHED = re.compile(r"(?<=\bwant you to )[A-Z](?=[a-z])|(?<=\bI want )[A-Z](?=[a-z ])")
"""The capital with which a sentence began that is told as a wish."""
_TASTE = re.compile(
    r"\b(?:i|we)(?:['’]d| would| really| still| do| much| just| also| don['’]t)* "
    r"(?:like|love|prefer|enjoy|hate|want|find)\b"
    r"|\bit(?:['’]s| is) (?:\w+ )?(?:nicer|better|fun|easier|livelier)\b"
    r"|我.{0,4}(?:喜欢|爱|觉得|希望)|^\W*(?:thanks?|谢谢)\W*$",
    re.IGNORECASE,
)
"""What may stand beside a wish about all replies. Beside anything else, it is about the text that is talked of."""
_CLAUSE_END = re.compile(r"[!?\n。！？,，;；]+|\.(?!\w)")


@dataclass(frozen=True, slots=True)
class _Restatement:
    """``said``: a form in the text as it is written, in any case. ``told``: what it states, with groups of ``said``.

    ``is_wish``: it states how all replies are to be, unless the message is about something else.
    """

    said: re.Pattern[str]
    told: str
    is_wish: bool

    def apply(self, text: str) -> str:
        """Return `text` with what it says in this form as a statement."""
        if not self.is_wish:
            return self.said.sub(self.told, text)
        found = self.said.search(text)
        if found is None:
            return text
        end = _CLAUSE_END.search(text, found.end())
        before, after = text[: found.start()], text[end.start() if end else len(text) :]
        if not _is_of_replies(before + after):
            return before + after  # a request about something else, which tells nothing
        told = _WISHED.sub(lambda capital: capital[0].lower(), found.expand(self.told))
        return before + told + text[found.end() :]


def _is_of_replies(rest: str) -> bool:
    """Whether what a message says besides a wish asks nothing, and tells of nothing but tastes."""
    parts = filter(None, (part.strip() for part in _CLAUSE_END.split(rest)))
    return "?" not in rest and "？" not in rest and all(map(_TASTE.search, parts))


@cache
def _load_restatements() -> Sequence[_Restatement]:
    table = tomllib.loads(files(__package__).joinpath("data/restatements.toml").read_text(encoding="utf-8"))
    return tuple(
        _Restatement(
            said=re.compile((_SENTENCE_START if row.get("begins", True) else "") + row["said"], re.IGNORECASE),
            told=row["told"],
            is_wish=row.get("wish", False),
        )
        for row in table["restatement"]
    )


def restate(text: str) -> str:
    """`text` with each statement that has the form of something else as a plain one."""
    for restatement in _load_restatements():
        text = restatement.apply(text)
    return text
