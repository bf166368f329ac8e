"""Leave out what a reasoning model writes before its answer (E5, E6, C6).

Qwen3, DeepSeek-R1 and others, behind servers that do not separate it, begin their text with ``<think>…</think>``. By
these rules it is left out while the text streams in:

1. Before the answer, white space, byte order marks and any number of blocks are left out, empty ones too. A block
   begins with ``<think>``, ``<thinking>`` or ``<reasoning>`` and ends with the first closing tag of its name; what is
   in it does not matter. One that is never closed hides all the rest: there is no answer then.
2. Whatever else comes first begins the answer. From there on nothing is looked at or held back, so a tag in the
   middle of a text or inside a JSON string stays as it is. Only the beginning of a tag (``<thi``) is waited for.
3. Where a server's prompt template has taken the opening tag, the reasoning looks like an answer and has been shown
   before its ``</think>`` comes: withholding every answer for that would end streaming. It stays shown, tag included,
   as joined deltas are the reply. Only a closing tag that comes before everything else is left out. Who reads a whole
   answer for its object loses nothing: see `remove_reasoning_before_object`.
"""

from __future__ import annotations

import re

_CLOSING_TAGS = {f"<{name}>": f"</{name}>" for name in ("think", "thinking", "reasoning")}
_TAGS = (*_CLOSING_TAGS, *_CLOSING_TAGS.values())
_LONGEST_TAG = max(map(len, _TAGS))

_BLANK = re.compile(r"[\s\ufeff]*")
_TAG = re.compile("|".join(map(re.escape, _TAGS)))
_UP_TO_CLOSING_TAG = re.compile(rf"\A[^{{]*(?:{'|'.join(map(re.escape, _CLOSING_TAGS.values()))})")


class ReasoningFilter:
    """Passes a streamed answer on without the reasoning before it; see the module's rules.

    What comes out depends on the text alone, never on where it was split. The work is linear in the text's length,
    and less than a tag's length of it is ever held.
    """

    def __init__(self) -> None:
        self._held = ""  # the end of what came, as far as it may be the beginning of a tag
        self._closing_tag = ""  # of the block that is being left out
        self._answering = False

    def feed(self, piece: str) -> str:
        """Take the next piece and return what of the answer it makes certain, possibly empty."""
        if self._answering:
            return piece
        text = self._held + piece
        answer = text[self._find_answer(text) :]
        if self._answering:
            self._held = ""
            return answer
        self._held = answer
        return ""

    def close(self) -> str:
        """Tell that the text is complete and return what was held back and turned out to be the answer's."""
        return "" if self._closing_tag else self._held

    def _find_answer(self, text: str) -> int:
        """Return where the answer begins in `text` or, while that is not known, what has to be held."""
        at = 0
        while True:
            if self._closing_tag:
                end = text.find(self._closing_tag, at)
                if end < 0:
                    return max(at, len(text) - len(self._closing_tag) + 1)
                at = end + len(self._closing_tag)
                self._closing_tag = ""
            at = _end_of(_BLANK, text, at)
            after_tag = _end_of(_TAG, text, at)
            if after_tag == at:
                beginning = text[at : at + _LONGEST_TAG]
                self._answering = not any(tag.startswith(beginning) for tag in _TAGS)
                return at
            self._closing_tag = _CLOSING_TAGS.get(text[at:after_tag], "")
            at = after_tag


def remove_reasoning_before_object(text: str) -> str:
    """Return a whole answer without the reasoning before its JSON object, opened by a tag or not.

    Without an opening tag it ends with the last closing tag before the first brace. An object that begins earlier is
    the answer's own or a draft of it, and a closing tag inside it is data.
    """
    reasoning = ReasoningFilter()
    answer = reasoning.feed(text) + reasoning.close()
    return answer[_end_of(_UP_TO_CLOSING_TAG, answer, 0) :]


def _end_of(pattern: re.Pattern[str], text: str, start: int) -> int:
    """Return where what `pattern` matches at `start` ends; `start` itself if it does not match."""
    found = pattern.match(text, start)
    return found.end() if found else start
