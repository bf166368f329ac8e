"""Find text that tells the system what to do instead of telling something about the person, however disguised (C5).

What is stored is never altered: decoded text is for the eyes of guards only. Every pattern here is linear in the
length of the text. Pure.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

from apps.core.text.fold import fold

INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e01ef]"
)
# A flag of a region, such as Scotland's, is the only thing that tag characters are for.
_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007f]{1,8}")

# Overrides, which show a text in another order than it has, and tag characters, which are letters that nobody sees.
_SMUGGLED = re.compile("[\u202d\u202e\U000e0020-\U000e007e]")

_LOOKALIKES = "\u0400-\u052fΑΒΕΖΗΙΚΜΝΟΡΤΥΧικνορτυ"
# Latin beside Cyrillic letters, or Greek ones that look Latin, within a word. Units such as kΩ and μm are no such.
_MIXED = re.compile(rf"[A-Za-z][{_LOOKALIKES}]|[{_LOOKALIKES}][A-Za-z]")

_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,}")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:[0-9a-fA-F]{2}[ :]?){12,}(?![0-9A-Za-z])")
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
_SPACED_OUT = re.compile(r"(?<![^\W_])(?:[^\W\d_][ .\-_*]){5,}[^\W\d_](?![^\W_])")


def strip_invisible(text: str) -> str:
    """`text` as its reader sees it: without zero-width, directional and other characters that have no shape."""
    return text if text.isascii() else INVISIBLE.sub("", text)


def is_disguised(text: str) -> bool:
    """Whether `text` is written so that its reader sees something else than it says.

    Letters that nobody sees, text in reverse, letters of other alphabets within a word, and words in base64 or
    hexadecimal digits. Emoji, names in other alphabets, codes and addresses are none of that.
    """
    shown = text if text.isascii() else _FLAG.sub("", text)
    if not text.isascii() and (_SMUGGLED.search(shown) or _MIXED.search(strip_invisible(shown))):
        return True
    return next(_decode_runs(shown), None) is not None


def list_readings(text: str) -> list[str]:
    """`text` as it is seen, and what else it may say: decoded, in rot13, without blanks between single letters."""
    seen = strip_invisible(text)
    readings = [seen, *_decode_runs(seen), codecs.encode(seen, "rot13")]
    if "%" in seen:
        readings.append(unquote(seen, errors="ignore"))
    if "&" in seen:
        readings.append(html.unescape(seen))
    if "\\u" in seen:
        readings.append(_ESCAPED.sub(lambda found: chr(int(found[1], 16)), seen))
    if _SPACED_OUT.search(seen):
        readings.append(_SPACED_OUT.sub(lambda found: re.sub(r"[ .\-_*]", "", found[0]), seen))
    return readings


def _decode_runs(text: str) -> Iterator[str]:
    for run in _BASE64.findall(text):
        code = run.replace("-", "+").replace("_", "/").rstrip("=")
        try:
            decoded = base64.b64decode(code + "=" * (-len(code) % 4), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            continue
        if _is_prose(decoded):
            yield decoded
    for run in _HEX.findall(text):
        try:
            decoded = bytes.fromhex(run.replace(":", " ")).decode()
        except ValueError:
            continue
        if _is_prose(decoded):
            yield decoded


def _is_prose(text: str) -> bool:
    """Whether bytes that were decoded are text somebody wrote: what is no text hardly ever passes for it."""
    letters = sum(character.isalpha() or character in " \n" for character in text)
    return len(text) >= 8 and text.replace("\n", " ").isprintable() and letters >= 0.7 * len(text)


_CUES = Path(__file__).parent / "data" / "instruction_cues.txt"


def is_instruction(text: str) -> bool:
    """Whether `text` would change the assistant's rules once it is remembered: a person looks at it first.

    Decided by what it says underneath: a text that hides what it says (`disguise`) waits in any case.
    """
    if is_disguised(text):
        return True
    # One pattern after the other: all in one would take twice as long, and let no other thread go on meanwhile.
    said = [" ".join(fold(reading).split()) for reading in list_readings(text)]
    return any(cue.search(reading) is not None for reading in said for cue in _list_cues())


@cache
def _list_cues() -> tuple[re.Pattern[str], ...]:
    lines = _CUES.read_text("utf-8").splitlines()
    return tuple(re.compile(line) for line in lines if line and not line.startswith("#"))
