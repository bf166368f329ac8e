"""Decode one string field of a JSON object while the object streams in (E5).

The model answers ``{"response": "…", "emotion": …}`` and its reply goes out token by token. Models also fence the
object, think or talk before it, order its keys as they like, forget to escape quotes, cut it, or write no JSON at all.
`FieldStream` turns any of these into the text for the user by these rules:

1. Reasoning, white space and byte order marks before the answer are dropped (`apps.core.llm.reasoning`).
2. Text is held back, as an object was asked for. An object begins at ``{`` followed by a key, or by ``}``; a Markdown
   fence right before it belongs to it.
3. An object with the field, or with one of `other_keys`, is the answer. Its field, once found as a string, is the
   reply: what stands before the object (a thought, "Sure! Here is the JSON:") and after its field is never shown.
4. The reply goes out as it comes where nothing but a few words lead in to the object: it begins a line, or follows a
   colon, a tag or a fence. Behind anything else it may be a draft in a thought: then all is read when it is complete,
   and the last whole object is the answer.
5. An answer that breaks off or breaks the grammar before its field is repaired when everything is in. One without a
   usable field gives no text: the raw object is not shown. An object of other keys is part of a text (``{"a": 1}`` in
   an explanation), which goes out at its end as it was written, unless it is all there is.
6. In the field's string, a quote was meant literally unless a closing brace, the end, or a comma and a key (quoted in
   either way, or one of the known) follows; so were an unknown escape and a line break.
7. U+0000 and lone surrogates are removed; a surrogate pair may come in two pieces, or as two escapes.

The outcome depends on the text alone, never on where it was split, and the work is linear in its length. (A parser
with a partial mode, such as jiter, would read everything again for each piece, and knows none of rules 3 to 6.)
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Generator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Literal

from apps.core.llm.reading import AnswerCleaner, find_objects, read_json_object
from apps.core.llm.reasoning import CLOSING_TAG, TAG, ReasoningFilter, remove_reasoning

_Reading = Generator[None, None, None]

_BLANK = re.compile(r"[\s\ufeff]*")
_SEPARATORS = re.compile(r"[\s,]*")
_FENCE_LEFT = re.compile(r"[\s`]*")
_WORD = re.compile(r"\w*")
_PROSE = re.compile(r"[^`{]*")
_PLAIN_TEXT = re.compile(r'[^"\\]*')
_PLAIN_VALUE = re.compile(r'[^"{}\[\],]*')
_QUOTED = {quote: re.compile(rf"[^{quote}\\]*") for quote in "\"'"}
_ANYTHING = re.compile(r"(?s).*")

# An object's beginning up to its brace, and everything that may yet become one. Every part is of bounded length, so
# that asking again after each piece stays cheap.
_OPENER = re.compile(r"""(?:`{3,6}\w{0,20}\s{0,20})?\{(?=\s{0,20}(?:["'}]|\w{1,40}\s{0,20}:))""")
_OPENER_SO_FAR = re.compile(r"`{1,2}|(?:`{3,6}\w{0,20}\s{0,20})?(?:\{\s{0,20}(?:\w{1,40}\s{0,20})?)?")

# Longer text before an object is a thought, with drafts in it.
_LEAD_IN_CHARS = 300

_ESCAPES = {'"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX = frozenset("0123456789abcdefABCDEF")


@dataclass(frozen=True, slots=True)
class DecodedField:
    """What a finished stream gave.

    `tail`: text that only the end made certain, to be sent as the last delta, often empty. `text`: everything, the
    concatenation of all that `FieldStream.feed` returned and `tail`. `raw`: the answer as the model wrote it, from its
    object on. `source`: "field" when the text is the field, "raw" when the answer is no such object, "none" when it is
    one without a usable field (`text` is empty).
    """

    tail: str
    text: str
    raw: str
    source: Literal["field", "raw", "none"]


class _Outcome(Enum):
    """How the reading of an object ended."""

    FOUND = auto()  # the field's text went out
    DOUBTFUL = auto()  # the field is there, but may be a draft's
    CLOSED = auto()  # the object ended without it
    CUT = auto()  # the input ended first
    BROKEN = auto()  # this is no JSON any more


class FieldStream:
    """Incremental decoder of the string `field` of a streamed JSON object; see the module's rules.

    `other_keys`: further keys that tell the expected object from one that merely occurs in a text.
    """

    def __init__(self, field: str = "response", *, other_keys: Collection[str] = ()) -> None:
        self._field = field
        self._keys = frozenset(other_keys) | {field}
        self._buffer = ""
        self._at = 0
        self._ended = False
        self._held: list[str] | None = []
        self._begun = 0  # how much of what is held stands before the object
        self._before = 0  # how many characters stand before the answer
        self._fresh: list[str] = []
        self._reasoning = ReasoningFilter()
        self._cleaner = AnswerCleaner()
        self._raw: list[str] = []
        self._text: list[str] = []
        self._source: Literal["field", "raw", "none"] = "none"
        self._recognised = False
        self._reading = self._read_answer()

    @property
    def found(self) -> bool:
        """Whether the field has begun: what comes out from then on is the reply's."""
        return self._source == "field"

    @property
    def size(self) -> int:
        """How many characters of an answer may be read once more when it is complete."""
        return sum(map(len, self._raw))

    def feed(self, piece: str) -> str:
        """Take the next piece of the answer and return the text that it makes certain, possibly empty."""
        return self._resume(self._reasoning.feed(piece))

    def close(self) -> DecodedField:
        """Tell that the answer is complete and return what it was. Nothing can be fed afterwards."""
        self._ended = True
        tail = self._resume(self._reasoning.close())
        raw = "".join(self._raw)[self._before :]
        return DecodedField(tail=tail, text="".join(self._text), raw=raw, source=self._source)

    def _resume(self, answer: str) -> str:
        """Read `answer`, the next part of the answer, as far as it goes; return the new text, cleaned (rule 7)."""
        self._raw.append(answer)
        self._buffer = self._buffer[self._at :] + answer
        self._at = 0
        next(self._reading, None)
        fresh = self._cleaner.feed("".join(self._fresh))
        self._fresh.clear()
        self._text.append(fresh)
        return fresh

    # The grammar. Each of these generators reads on until it has what it is after, and yields when it needs input.

    def _read_answer(self) -> _Reading:
        alone, outcome = True, _Outcome.CUT
        while True:
            alone = not (yield from self._take(_PROSE)) and alone
            if not (yield from self._peek()):
                break
            self._begun = len(self._held or ())
            if not (yield from self._take_opener()):
                if self._ended and self._is_opener_so_far():
                    break
                self._consume(self._at + 1)
                alone = False
                continue
            outcome = yield from self._read_object()
            if outcome is _Outcome.FOUND or self._recognised:
                break
            if alone and outcome is _Outcome.CLOSED:
                yield from self._take(_FENCE_LEFT)
                alone = not (yield from self._peek())
            if alone:
                break
        yield from self._take(_ANYTHING)
        if self._source == "none":
            self._show_whole(alone=alone and outcome is not _Outcome.BROKEN)

    def _show_whole(self, *, alone: bool) -> None:
        """Show what of the whole answer is the reply (rules 4 and 5). `alone`: there is nothing but an object."""
        held = self._held or []
        text, begun, self._held = "".join(held), len("".join(held[: self._begun])), None
        found = [(at, one) for at, one in find_objects(text, keys=self._keys) if isinstance(one.get(self._field), str)]
        if found:
            begun, value = found[-1]
        else:
            value = read_json_object(text[begun:]).value or {}
        reply = value.get(self._field)
        if isinstance(reply, str):
            self._before = begun
            self._fresh.append(reply)
            self._source = "field"
        elif not (alone or self._recognised or not self._keys.isdisjoint(value)):
            self._show(remove_reasoning(text))

    def _read_object(self) -> Generator[None, None, _Outcome]:
        """Read an object after its brace up to the end of the field or of the object."""
        while True:
            yield from self._take(_SEPARATORS)
            char = yield from self._peek()
            if char == "}":
                self._consume(self._at + 1)
                return _Outcome.CLOSED
            key = yield from self._read_key(char)
            self._recognised |= key in self._keys
            yield from self._take(_BLANK)
            if (yield from self._peek()) != ":" or key is None:
                return _Outcome.CUT if self._is_at_end() else _Outcome.BROKEN
            self._consume(self._at + 1)
            yield from self._take(_BLANK)
            if key == self._field and (yield from self._peek()) == '"':
                held = self._held or []
                before = "".join(held[: self._begun])
                if not _leads_in(before, fenced=held[self._begun].startswith("`")):
                    return _Outcome.DOUBTFUL
                self._before = len(before)
                self._consume(self._at + 1)
                self._source = "field"
                yield from self._show_string()
                return _Outcome.FOUND
            if not (yield from self._skip_value()):
                return _Outcome.CUT if self._is_at_end() else _Outcome.BROKEN

    def _read_key(self, char: str) -> Generator[None, None, str | None]:
        """Return a key quoted in either way or not at all; None if there is none, or not all of it."""
        if char in _QUOTED:
            written = yield from self._take_string(char)
            return _unescape(written[1:-1]) if len(written) > 1 and written[-1] == char else None
        return (yield from self._take(_WORD)) or None

    def _skip_value(self) -> Generator[None, None, bool]:
        """Read past a value; return False where the brackets cannot be right or the input ends inside it."""
        depth = 0
        while True:
            yield from self._take(_PLAIN_VALUE)
            char = yield from self._peek()
            if not char or (depth == 0 and char == "]"):
                return False
            if depth == 0 and char in ",}":
                return True
            if char == '"':
                yield from self._take_string(char)
                continue
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(char, 0)
            self._consume(self._at + 1)

    def _take_string(self, quote: str) -> Generator[None, None, str]:
        """Read past a quoted string and return it as written, quotes included."""
        parts = [self._consume(self._at + 1)]
        while True:
            parts.append((yield from self._take(_QUOTED[quote])))
            char = yield from self._next()
            parts.append(char)
            if char == "\\":
                parts.append((yield from self._next()))
            else:
                return "".join(parts)

    def _show_string(self) -> _Reading:
        """Show the field's string up to its closing quote, or up to the end of the input."""
        self._held = None
        while True:
            yield from self._copy(_PLAIN_TEXT)
            char = yield from self._next()
            if char == "\\":
                yield from self._show_escape()
            elif not char or (yield from self._closes()):
                return

    def _show_escape(self) -> _Reading:
        char = yield from self._next()
        if char != "u":
            self._fresh.append(_ESCAPES.get(char, "\\" + char) if char else "")
            return
        digits = ""
        while len(digits) < 4 and (char := (yield from self._peek())) in _HEX:
            digits += self._consume(self._at + 1)
        if len(digits) == 4:
            self._fresh.append(chr(int(digits, 16)))
        elif char:
            self._fresh.append("\\u" + digits)

    def _closes(self) -> Generator[None, None, bool]:
        """Say whether the quote just read ends the string (rule 6); if not, show it and what was read after it."""
        after = yield from self._take(_BLANK)
        char = yield from self._peek()
        if char == ",":
            after += self._consume(self._at + 1)
            after += yield from self._take(_BLANK)
            char = yield from self._peek()
            word = yield from self._take(_WORD)
            if char in _QUOTED or word in self._keys:
                return True
            after += word
        if char in ("", "}"):
            return True
        self._fresh.append('"' + after)
        return False

    def _take_opener(self) -> Generator[None, None, bool]:
        """Read past an object's beginning if one stands here (rule 2); else read nothing and return False."""
        while True:
            opener = _OPENER.match(self._buffer, self._at)
            if opener:
                self._consume(opener.end())
                return True
            if self._ended or not self._is_opener_so_far():
                return False
            yield

    # The input and the output.

    def _peek(self) -> Generator[None, None, str]:
        """Return the next character without reading past it, "" at the end."""
        while self._at == len(self._buffer) and not self._ended:
            yield
        return self._buffer[self._at : self._at + 1]

    def _next(self) -> Generator[None, None, str]:
        yield from self._peek()
        return self._consume(self._at + 1)

    def _take(self, pattern: re.Pattern[str]) -> Generator[None, None, str]:
        """Read past everything that `pattern`, a repetition, matches; return it."""
        parts = []
        while True:
            parts.append(self._consume_run(pattern))
            if self._at < len(self._buffer) or self._ended:
                return "".join(parts)
            yield

    def _copy(self, pattern: re.Pattern[str]) -> _Reading:
        """Show everything that `pattern`, a repetition, matches, as it comes."""
        while True:
            self._show(self._consume_run(pattern))
            if self._at < len(self._buffer) or self._ended:
                return
            yield

    def _consume_run(self, pattern: re.Pattern[str]) -> str:
        run = pattern.match(self._buffer, self._at)
        return self._consume(run.end() if run else self._at)

    def _consume(self, end: int) -> str:
        read = self._buffer[self._at : end]
        self._at = min(end, len(self._buffer))
        if self._held is not None:
            self._held.append(read)
        return read

    def _is_at_end(self) -> bool:
        return self._ended and self._at == len(self._buffer)

    def _is_opener_so_far(self) -> bool:
        return _OPENER_SO_FAR.fullmatch(self._buffer, self._at) is not None

    def _show(self, text: str) -> None:
        if text:
            self._fresh.append(text)
            if self._source == "none":
                self._source = "raw"


def _leads_in(before: str, *, fenced: bool) -> bool:
    """Whether the text before an object only leads in to it (rule 4)."""
    closed = [tag.end() for tag in CLOSING_TAG.finditer(before)]
    rest = before[closed[-1] :] if closed else before
    if not rest.strip():
        return True
    if len(rest) > _LEAD_IN_CHARS or (not closed and TAG.match(before)):
        return False
    return fenced or rest.rstrip(" \t")[-1] in "\n:："


def _unescape(written: str) -> str:
    """Return a key without its escapes, as written where they are wrong."""
    try:
        return str(json.loads(f'"{written}"'))
    except ValueError:
        return written
