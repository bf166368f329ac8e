"""Leave out what a reasoning model writes before its answer (E5, E6, C6).

Qwen3, DeepSeek-R1, Magistral, gpt-oss and others, behind servers that do not separate it, begin their text with their
thought: ``<think>…</think>``, ``[THINK]…[/THINK]``, ``<|channel|>analysis<|message|>…<|end|>``. By these rules it is
left out while the text streams in:

1. Before the answer, white space, byte order marks and any number of blocks are left out, empty ones too. A block
   begins with a tag of any brackets whose name says that it holds thought, and ends with the first closing tag of its
   name; what is in it does not matter. One that is never closed hides all the rest: there is no answer then.
2. An answer that begins with a special token of a chat template (``<|…|>``) is cut up by such tokens, with words
   between two of them that say what follows. What is called thought is left out, and so are tokens and those words.
3. Whatever else comes first begins the answer. From there on nothing is looked at or held back, so a tag in the
   middle of a text or inside a JSON string stays as it is. Only the beginning of a tag (``<thi``) is waited for.
4. Where a server's prompt template has taken the opening tag, the reasoning looks like an answer, and in plain text it
   has been shown before its ``</think>`` comes: withholding every answer for that would end streaming. Only a closing
   tag that comes before everything else is left out. Who waits for an object loses nothing: see `remove_reasoning`.
"""

from __future__ import annotations

import re

_NAME = r"[^\W\d][\w:-]{0,39}"
TAG = re.compile(rf"([<\[◁])(/?)({_NAME})((?: [\w:-]{{1,20}}=[^<>\[\]\n]{{0,80}})?[>\]▷])")
_TAG_SO_FAR = re.compile(rf"[<\[◁]/?(?:{_NAME}(?: [\w:-]{{0,20}}(?:=[^<>\[\]\n]{{0,80}})?)?)?")
_TOKEN = re.compile(r"<[|｜][^<>|｜\n]{1,40}[|｜]?>|<\w{1,40}[|｜]>")
_TOKEN_SO_FAR = re.compile(r"<(?:[|｜][^<>|｜\n]{0,40}|\w{1,40})?[|｜]?")
_SO_FAR = (_TAG_SO_FAR, _TOKEN_SO_FAR)
_LONGEST_TOKEN = 44

# What names of tags, channels and tokens say of thought; in whole names, as `<thinker>` may be part of a text.
_THOUGHT = re.compile(
    r"(?:\w{1,20}:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflect(?:ion)?|analysis|scratchpad)", re.IGNORECASE
)
_HIDDEN = re.compile(r"think|thought|reason|analysis|commentary", re.IGNORECASE)
_LABEL_CHARS = 60
_LABEL_KEPT = 300
_LABEL = re.compile(rf"[\w .=:/-]{{0,{_LABEL_CHARS}}}")
_LABEL_LINE = re.compile(r"(?:assistant|final|thought|thinking|analysis|commentary)[ \t]*\n", re.IGNORECASE)
_END_TOKEN = re.compile(r"<.?(?:/|(?!.{0,40}header).{0,40}(?:end|eot|eos|return|call|stop))", re.IGNORECASE)

_BLANK = re.compile(r"[\s\ufeff]*")
CLOSING_TAG = re.compile(rf"[<\[◁]/{_NAME}[>\]▷]")
_STRAY_CLOSING_TAG = re.compile(rf"[<\[◁]/({_THOUGHT.pattern})[>\]▷]", re.IGNORECASE)


class ReasoningFilter:
    """Passes a streamed answer on without the reasoning before it; see the module's rules.

    What comes out depends on the text alone, never on where it was split. The work is linear in the text's length,
    and less than a tag's length of it is ever held.
    """

    def __init__(self) -> None:
        self._text = ""  # what came and has not been read: its end, as far as it may be the beginning of a tag
        self._at = 0
        self._out: list[str] = []
        self._closing_tag = ""  # of the block that is being left out
        self._answering = False
        self._in_tokens = False  # special tokens cut the answer up
        self._in_part = False  # past the label of a part of it
        self._label = ""  # what the tokens since the part before, and the words between them, say of this one

    def feed(self, piece: str) -> str:
        """Take the next piece and return what of the answer it makes certain, possibly empty."""
        if self._answering:
            return piece
        self._text, self._at = self._text[self._at :] + piece, 0
        while self._read_on():
            pass
        out = "".join(self._out)
        self._out.clear()
        return out

    def close(self) -> str:
        """Tell that the text is complete and return what was held back and turned out to be the answer's."""
        rest = self._text[self._at :]
        return "" if self._closing_tag or (self._in_tokens and _HIDDEN.search(self._label)) else rest

    def _read_on(self) -> bool:
        """Read one thing more; return False where more of the text has to come first."""
        if self._closing_tag:
            return self._skip_block()
        if self._in_part:
            return self._read_part()
        self._at = _end_of(_BLANK, self._text, self._at)
        if token := _TOKEN.match(self._text, self._at):
            self._in_tokens = True
            self._read_token(token)
            return True
        tag = TAG.match(self._text, self._at)
        if tag and _THOUGHT.fullmatch(tag[3]):
            self._closing_tag = "" if tag[2] else f"{tag[1]}/{tag[3]}{tag[4][-1]}"
            self._at = tag.end()
            return True
        if self._at == len(self._text) or any(pattern.fullmatch(self._text, self._at) for pattern in _SO_FAR):
            return False
        if self._in_tokens:
            return self._read_label()
        self._answering = True
        self._out.append(self._text[self._at :])
        self._text, self._at = "", 0
        return False

    def _skip_block(self) -> bool:
        end = self._text.find(self._closing_tag, self._at)
        if end < 0:
            self._at = max(self._at, len(self._text) - len(self._closing_tag) + 1)
            return False
        self._at = end + len(self._closing_tag)
        self._closing_tag = ""
        return True

    def _read_label(self) -> bool:
        """Read the words that say what the next part is; where there are none, the part begins."""
        words = _LABEL.match(self._text, self._at)
        assert words is not None
        after = self._text[words.end() : words.end() + _LONGEST_TOKEN]
        line = _LABEL_LINE.match(self._text, self._at)
        token = _TOKEN.match(after)
        if line or (token and not _END_TOKEN.match(token.group())):
            self._label += (line or words).group()
            self._at = (line or words).end()
            return True
        if len(words.group()) < _LABEL_CHARS and (not after or _TOKEN_SO_FAR.fullmatch(after)):
            return False
        self._in_part = True
        return True

    def _read_part(self) -> bool:
        """Show the text up to the next token, unless it is thought."""
        token = _TOKEN.search(self._text, self._at)
        if token:
            end = token.start()
        else:
            end = self._text.rfind("<", max(self._at, len(self._text) - _LONGEST_TOKEN))
            end = end if end >= 0 and _TOKEN_SO_FAR.fullmatch(self._text, end) else len(self._text)
        if not _HIDDEN.search(self._label):
            self._out.append(self._text[self._at : end])
        self._at = end
        if token:
            self._in_part = False
            self._label = ""
            self._read_token(token)
        return token is not None

    def _read_token(self, token: re.Match[str]) -> None:
        self._label = "" if _END_TOKEN.match(token.group()) else (self._label + token.group())[-_LABEL_KEPT:]
        self._at = token.end()


def remove_reasoning(text: str) -> str:
    """Return a whole answer without the reasoning before it, opened by a tag or not.

    A block of any name before an object is left out, too. What nothing opened ends with the last closing tag before
    the first brace: an object that begins earlier is the answer's own or a draft of it, and a closing tag inside it is
    data. Without a brace it ends with the last closing tag of thought.
    """
    reasoning = ReasoningFilter()
    answer = reasoning.feed(text) + reasoning.close()
    brace = answer.rfind("{")
    if brace < 0:
        return answer[_find_stray_end(answer) :].lstrip()
    at = _end_of(_BLANK, answer, 0)
    while (block := TAG.match(answer, at)) and not block[2]:
        closing_tag = f"{block[1]}/{block[3]}{block[4][-1]}"
        end = answer.find(closing_tag, at, brace)
        if end < 0:
            break
        at = _end_of(_BLANK, answer, end + len(closing_tag))
    closed = [tag.end() for tag in CLOSING_TAG.finditer(answer, at, answer.find("{", at))]
    return answer[closed[-1] if closed else at :]


def _find_stray_end(text: str) -> int:
    """Return where the last closing tag of thought ends that no tag opened, where a text may end; else 0."""
    opened: dict[str, int] = {}
    stray_end = 0
    for tag in _STRAY_CLOSING_TAG.finditer(text):
        opening = tag[0].replace("/", "", 1)
        if opening not in opened:
            opened[opening] = text.find(opening)
        is_stray = not 0 <= opened[opening] < tag.start()
        if is_stray and "\n" in (text[tag.start() - 1 : tag.start()], text[tag.end() : tag.end() + 1] or "\n"):
            stray_end = tag.end()
    return stray_end


def _end_of(pattern: re.Pattern[str], text: str, start: int) -> int:
    """Return where what `pattern` matches at `start` ends; `start` itself if it does not match."""
    found = pattern.match(text, start)
    return found.end() if found else start
