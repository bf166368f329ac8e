"""Reading statements from what is told of "the user" in the third person: contents of memories, whoever wrote them."""

from __future__ import annotations

import re

from apps.core.llm.offline.statements import Entry, read_statements

_ANNOTATION = re.compile(r"\s?[(（]\d{4}[-~\d]*[)）]")
_SPELLINGS = (
    (re.compile(r"用户(?:提到|说)[,:，：]?\s*"), ""),
    (re.compile(r"用户的?(?=家)|用户"), "我"),
    (re.compile(r"\bthe user (?:mentioned|says|said)[:,]?\s*(?:that\s+)?", re.IGNORECASE), ""),
    (re.compile(r"\bthe user's\b", re.IGNORECASE), "my"),
    (re.compile(r"\bthe user is\b", re.IGNORECASE), "I am"),
    (re.compile(r"\bthe user has\b", re.IGNORECASE), "I have"),
    (re.compile(r"\bthe user\b", re.IGNORECASE), "I"),
)


def read_told(content: str) -> list[Entry]:
    """What `content` states of the user: 用户搬到了上海 as 我搬到了上海 would, dates in brackets left out."""
    text = _ANNOTATION.sub("", content)
    for pattern, spelling in _SPELLINGS:
        text = pattern.sub(spelling, text)
    return read_statements(text)
