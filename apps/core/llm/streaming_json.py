"""Decode one string field of a JSON object while the object streams in (E5).

The model answers ``{"response": "…", "emotion": …}`` and its reply goes out token by token. Models also fence the
object, think or talk before it, order its keys as they like, forget to escape quotes, cut it, or write no JSON at all.
`FieldStream` turns any of these into the text for the user by these rules:

1. Reasoning, white space and byte order marks before the answer are dropped (`apps.core.llm.reasoning`). Text goes
   out as it comes, until an object begins.
2. An object begins at ``{`` followed by a key, or by ``}``; a Markdown fence right before it belongs to it. It is
   held back until it is known what it is.
3. Its field, once found as a string, is the reply: its text goes out as it comes, after what went out before (a
   model that says "Sure:" first has said that). The rest of the answer is never shown.
4. An object is the answer when nothing was shown before it, or when it has the field or one of `other_keys`. An
   answer that breaks off or breaks the grammar before its field is repaired when everything is in. One without a
   usable field gives no text. The raw object is not shown.
5. Any other object is part of a text (``{"a": 1}`` in an explanation) and goes out as it was written; so does one
   that starts the text but is followed by more than a closing fence.
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

from apps.core.llm.reading import read_json_object
from apps.core.llm.reasoning import ReasoningFilter
from apps.core.llm.streaming_text import AnswerCleaner

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

_ESCAPES = {'"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX = frozenset("0123456789abcdefABCDEF")


@dataclass(frozen=True, slots=True)
class DecodedField:
    """What a finished stream gave.

    `tail`: text that only the end made certain, to be sent as the last delta, often empty. `text`: everything, the
    concatenation of all that `FieldStream.feed` returned and `tail`. `raw`: the whole answer as the model wrote it,
    without what rule 1 drops. `source`: "field" when the text is (or ends with) the field, "raw" when the answer is no
    such object, "none" when it is one without a usable field (`text` is empty).
    """

    tail: str
    text: str
    raw: str
    source: Literal["field", "raw", "none"]


class _Outcome(Enum):
    """How the reading of an object ended."""

    FOUND = auto()  # the field's text went out
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
        self._held: list[str] | None = None
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
        return DecodedField(tail=tail, text="".join(self._text), raw="".join(self._raw), source=self._source)

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
        while True:
            yield from self._copy(_PROSE)
            if not (yield from self._peek()):
                return
            self._held = []
            if not (yield from self._take_opener()):
                if self._ended and self._source == "none" and self._is_opener_so_far():
                    return
                self._show_held()
                self._show(self._consume(self._at + 1))
                continue
            if (yield from self._read_candidate()):
                yield from self._take(_ANYTHING)
                return

    def _read_candidate(self) -> Generator[None, None, bool]:
        """Read an object; return whether it was the answer, by rules 3 to 5. If not, it has been shown."""
        first = self._source == "none"
        self._recognised = False
        outcome = yield from self._read_object()
        if outcome is _Outcome.FOUND:
            self._held = None
            return True
        ours = first or self._recognised
        if outcome is _Outcome.CLOSED and not self._recognised:
            ours = first and (yield from self._ends_here())
        elif ours and outcome is not _Outcome.CLOSED:
            yield from self._take(_ANYTHING)
        if ours and (self._show_repaired() or self._recognised or outcome is not _Outcome.BROKEN):
            self._held = None
            return True
        self._show_held()
        return False

    def _ends_here(self) -> Generator[None, None, bool]:
        yield from self._take(_FENCE_LEFT)
        return not (yield from self._peek())

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

    def _show_held(self) -> None:
        self._show("".join(self._held or ()))
        self._held = None

    def _show_repaired(self) -> bool:
        """Show the field of the held, broken object if repairing gives one; return whether it did."""
        value = read_json_object("".join(self._held or ())).value or {}
        reply = value.get(self._field)
        self._recognised |= not self._keys.isdisjoint(value)
        if not isinstance(reply, str):
            return False
        self._fresh.append(reply)
        self._source = "field"
        return True


def _unescape(written: str) -> str:
    """Return a key without its escapes, as written where they are wrong."""
    try:
        return str(json.loads(f'"{written}"'))
    except ValueError:
        return written
