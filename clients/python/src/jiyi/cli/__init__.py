"""The command ``jiyi``. Needs the extra `cli` (click and rich)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit; `arguments` are those of the process by default."""
    try:
        from jiyi.cli.main import main
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        sys.exit(f"The command line needs {error.name}. Install it with: pip install 'jiyi-client[cli]'")
    sys.exit(main(arguments))
