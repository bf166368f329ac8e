"""Where a text quotes: between quotation marks, in code, after ">". Pure, and linear in the length of the text.

One regular expression would look for the end of a quotation from each mark that may open one, and for a text of
nothing but such marks take quadratic time. Here the place of the next closing mark is looked for once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from apps.core.text.sentences import Span


@dataclass(frozen=True, slots=True)
class Marks:
    """Ways to quote. `opening`: marks that may open a quotation, each kind a named group; `closing`: what may end it.

    A quotation of a kind in `within_lines` ends on its line, or is none.
    """

    opening: re.Pattern[str]
    closing: Mapping[str, re.Pattern[str]]
    within_lines: frozenset[str] = field(default=frozenset())


_PAIRS = "(?P<curly>“)|(?P<low>„)|(?P<angle>«)|(?P<corner>「)|(?P<double_corner>『)"
_CLOSING = {
    "curly": re.compile("”"),
    "low": re.compile("[“”]"),
    "angle": re.compile("»"),
    "corner": re.compile("」"),
    "double_corner": re.compile("』"),
    "straight": re.compile('"'),
}
_STRAIGHT = r"(?P<straight>(?<!\w)\"(?=\S))"

# `opening` asks for a character that may begin a quotation before it asks for the kind: ten times as fast without one.

WRITTEN = Marks(
    opening=re.compile(
        rf"(?=[`“„«「『《\"‘'>]|^[^\S\n])(?:(?P<fence>```)|(?P<code>`)|{_PAIRS}|(?P<title>《)|{_STRAIGHT}"
        r"|(?P<single_curly>(?<!\w)‘)|(?P<single>(?<!\w)'(?=\S))|(?P<cited>^[^\S\n]*>))",
        re.MULTILINE,
    ),
    closing=_CLOSING
    | {
        "fence": re.compile(r"```|\Z"),
        "code": re.compile(r"[`\n]"),
        "title": re.compile("》"),
        # An apostrophe inside of a word closes nothing.
        "single_curly": re.compile(r"(?<!\w)’|’(?!\w)"),
        "single": re.compile(r"(?<!\w)'|'(?!\w)|\n"),
        "cited": re.compile(r"\Z"),
    },
    within_lines=frozenset({"code", "single"}),
)
"""In what somebody sends: also code, titles, and all that follows a ">" at the beginning of a line."""

SPOKEN = Marks(
    opening=re.compile(rf"(?=[“„«「『\"'‘])(?:{_PAIRS}|{_STRAIGHT}|(?P<single>(?<!\w)['‘](?=\S)))"),
    closing=_CLOSING | {"single": re.compile(r"(?<!\w)['’]|['’](?!\w)|\n")},
    within_lines=frozenset({"single"}),
)
"""In what somebody says: quotation marks alone."""


def find_quotations(text: str, marks: Marks) -> list[Span]:
    """Return where `text` quotes, the marks included: in order, none over another."""
    found: list[Span] = []
    ends: dict[str, re.Match[str] | None] = {}
    opened = marks.opening.search(text)
    while opened is not None:
        kind, at = str(opened.lastgroup), opened.end()
        end = ends.get(kind)
        if kind not in ends or (end is not None and end.start() < at):
            end = ends[kind] = marks.closing[kind].search(text, at)
        if end is not None and _closes(kind, opened, end, text=text, marks=marks):
            found.append((opened.start(), end.end()))
            at = end.end()
        opened = marks.opening.search(text, at)
    return found


def replace_quotations(text: str, marks: Marks, *, by: str) -> str:
    """Return `text` with `by` in place of each quotation."""
    pieces, at = [], 0
    for start, end in find_quotations(text, marks):
        pieces += [text[at:start], by]
        at = end
    return "".join([*pieces, text[at:]])


def _closes(kind: str, opened: re.Match[str], end: re.Match[str], *, text: str, marks: Marks) -> bool:
    if kind in marks.within_lines and end.group() == "\n":
        return False
    if kind == "code":
        return end.start() > opened.end()  # `` is none
    if kind.startswith("single"):
        return not text[end.end() : end.end() + 1].isalnum() and text[end.end() : end.end() + 1] != "_"
    return True
