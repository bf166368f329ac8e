"""Where a text is not its writer's: in quotation marks, code, tags, after ">". Pure, and linear in the text's length.

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
        rf"(?=[`~“„«「『《\"‘'>]|^[^\S\n])(?:(?P<fence>```|~~~)|(?P<code>`)|{_PAIRS}|(?P<title>《)|{_STRAIGHT}"
        r"|(?P<single_curly>(?<!\w)‘)|(?P<single>(?<!\w)'(?=\S))|(?P<cited>^[^\S\n]*>)"
        r"|(?P<indented>^(?:[ ]{4}|\t)))",
        re.MULTILINE,
    ),
    # A quotation that is never closed goes on to the end.
    closing={kind: re.compile(rf"{closing.pattern}|\Z") for kind, closing in _CLOSING.items()}
    | {
        "fence": re.compile(r"```|~~~|\Z"),
        "code": re.compile(r"[`\n]"),
        "title": re.compile("》"),
        "indented": re.compile(r"\n|\Z"),
        # An apostrophe inside of a word closes nothing.
        "single_curly": re.compile(r"(?<!\w)’|’(?!\w)"),
        "single": re.compile(r"(?<!\w)'|'(?!\w)|\n"),
        "cited": re.compile(r"\n[^\S\n]*\n|\Z"),
    },
    within_lines=frozenset({"code", "single"}),
)
"""In what somebody sends: also code, titles, and the paragraph that follows a ">" at the beginning of a line."""

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


_TAG = re.compile(
    r"<!--|-->|[<\[](?P<end>/?)(?P<name>[^\W\d_][\w.-]{0,60})(?:[\s=][^<>\[\]\n]{0,200})?/?[>\]]", re.IGNORECASE
)


def find_foreign(text: str) -> list[Span]:
    """Return what in a message is not its writer's: quotations, code, and what stands between a tag and its end."""
    found = list[Span]()
    for start, stop in sorted([*find_quotations(text, WRITTEN), *_find_tagged(text)]):
        if found and start < found[-1][1]:
            start, stop = found[-1][0], max(stop, found[-1][1])
            found.pop()
        found.append((start, stop))
    return found


def _find_tagged(text: str) -> list[Span]:
    """From each tag to the last end of its name, so that no tag inside ends it; one that begins a line, to the end."""
    tags = list(_TAG.finditer(text))
    ends = {_name(tag): tag.end() for tag in tags if tag["end"] or tag.group() == "-->"}
    found, at = list[Span](), 0
    for tag in tags:
        begins_line = tag.start() == 0 or text[tag.start() - 1] == "\n"
        end = ends.get(_name(tag), len(text) if begins_line else 0)
        if tag.start() >= at and not tag["end"] and end > tag.start():
            found.append((tag.start(), end))
            at = end
    return found


def _name(tag: re.Match[str]) -> str:
    return (tag["name"] or "comment").lower()


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
