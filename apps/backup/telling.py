"""What every command here does when something fails: it says so in a line, and nothing is left half done."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.core.management.base import CommandError
from django.db import DatabaseError

from apps.backup.types import BackupError
from apps.embedded.services import InstallationInUse, ServersUnavailable


@contextmanager
def told_errors(*, interrupted: str) -> Iterator[None]:
    """Turn what is expected to fail into a `CommandError`; TERM ends the block like Ctrl-C, with `interrupted`.

    Of a database's error only the first line is told: what follows may quote data (R3).
    """
    handler = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except (BackupError, InstallationInUse, ServersUnavailable) as error:
        raise CommandError(str(error)) from error
    except (psycopg.Error, DatabaseError) as error:
        raise CommandError(f"The database refused: {str(error).strip().partition(chr(10))[0]}") from error
    except OSError as error:
        raise CommandError(f"{error.filename or 'Writing failed'}: {error.strerror or error}") from error
    except KeyboardInterrupt:
        raise CommandError(interrupted) from None
    finally:
        signal.signal(signal.SIGTERM, handler)
