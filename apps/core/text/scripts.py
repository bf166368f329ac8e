"""Which script a text is in. Pure."""

from __future__ import annotations

import re

_CHINESE = re.compile("[\u4e00-\u9fff]")


def holds_chinese(text: str) -> bool:
    """Whether any character of the text is Chinese."""
    return _CHINESE.search(text) is not None
