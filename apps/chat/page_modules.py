"""What the script of the chat page imports, so that the browser asks for everything at once.

Otherwise it learns of each module from the one before: six round trips one after the other.
"""

from __future__ import annotations

import posixpath
import re
from functools import cache
from pathlib import Path

from django.contrib.staticfiles import finders

_IMPORT = re.compile(r'\b(?:from|import) "(\.[^"\n]+)"')
"""Of a module; what is loaded only when it is needed (`import("…")`) is not meant."""


@cache
def list_modules(entry: str) -> list[str]:
    """The static paths of all modules that ``entry`` imports, directly or not, without itself; nearest first."""
    found = [entry]
    for path in found:
        file = finders.find(path)
        for relative in _IMPORT.findall(Path(file).read_text()) if file else ():
            imported = posixpath.normpath(posixpath.join(posixpath.dirname(path), relative))
            if imported not in found:
                found.append(imported)
    return found[1:]
