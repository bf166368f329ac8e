"""``python -m jiyi``: the command line."""

from jiyi.cli import run

run()
