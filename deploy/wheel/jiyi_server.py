"""The command `jiyi-server`: `manage.py` of an installed package, which starts everything unless a command is named.

In the wheel this file is ``jiyi_server/__init__.py``. The rest of the code lies beside it as in a clone, so that its
packages `apps` and `project` are in no other package's way.
"""

from __future__ import annotations

import sys
from pathlib import Path

# What is asked of all commands; other options are those of `up`.
_OF_NO_COMMAND = ("-h", "--help", "--version")


def main() -> None:
    """Run the console script."""
    sys.path.insert(0, str(Path(__file__).parent))
    import manage

    sys.argv[1:] = name_command(sys.argv[1:])
    manage.main()


def name_command(arguments: list[str]) -> list[str]:
    """Put `up` before arguments that name no command: none at all, or `--port 8001`."""
    named = arguments and (not arguments[0].startswith("-") or arguments[0] in _OF_NO_COMMAND)
    return arguments if named else ["up", *arguments]
