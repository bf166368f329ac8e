"""Give every ``manage.py`` command its servers: those of a running ``up``, or its own for as long as it runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.conf import settings

from apps.embedded.servers import ServersUnavailable, get_missing_servers, hold_servers

_NEED_NONE = frozenset(
    {"check", "collectstatic", "compilemessages", "diffsettings", "help", "makemessages", "spectacular", "version"}
)
"""Commands that work on files alone."""

_OWN = frozenset({"up", "upgrade", "upgrade_database"})
"""Commands that start servers themselves, after checks of their own."""


@contextmanager
def command_servers(argv: Sequence[str]) -> Iterator[None]:
    """Hold the embedded servers while the command ``argv`` runs, unless it needs none or real ones are configured.

    Ends the process with a message when one cannot be started.
    """
    command = argv[1] if len(argv) > 1 else "help"
    if command.startswith("-") or command in _NEED_NONE | _OWN or not {"-h", "--help"}.isdisjoint(argv):
        yield
        return
    try:
        with hold_servers(settings.DATA_DIR, names=get_missing_servers()):
            yield
    except ServersUnavailable as error:
        sys.exit(str(error))
