"""The examples in a guide: what is run, and what it prints."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```(\S+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """A block of code. `needs`: the library it is for. `output`: the text after it, None if there is none."""

    guide: str
    line: int
    language: str
    needs: str
    code: str
    output: str | None

    def __str__(self) -> str:
        return f"{self.guide}:{self.line}"

    def check(self, printed: str) -> None:
        """Compare what was printed with what the guide says; ``…`` stands for anything."""
        if self.output is not None:
            pattern = ".*".join(map(re.escape, self.output.strip().split("…")))
            assert re.fullmatch(pattern, printed.strip(), re.DOTALL), printed


def read_examples(path: Path) -> list[Example]:
    """All examples of a guide, in order."""
    text = path.read_text()
    examples: list[Example] = []
    for match in _BLOCK.finditer(text):
        language, needs, code = match[1], match[2].strip(), match[3]
        line = text.count("\n", 0, match.start()) + 1
        if language != "text":
            examples.append(Example(path.name, line, language, needs, code, output=None))
            continue
        last = examples.pop()
        examples.append(Example(last.guide, last.line, last.language, last.needs, last.code, output=code))
    return examples
