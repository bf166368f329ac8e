"""What PostgreSQL's planner knows of tables."""

from __future__ import annotations

from collections.abc import Collection

import structlog
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections, transaction

logger = structlog.get_logger(__name__)

STALE = """
SELECT pg_class.relname FROM pg_stat_user_tables JOIN pg_class ON pg_class.oid = relid
WHERE pg_class.relname = ANY(%(tables)s) AND relid = to_regclass(quote_ident(pg_class.relname))
  AND n_mod_since_analyze > GREATEST(%(rows)s, reltuples / 2)
ORDER BY pg_class.relname
"""

# Changed rows of a table from which on its statistics may be stale; with fewer, no plan is slow.
ROWS = 1_000

# How long to wait for whoever else is at it, autovacuum most likely.
WAIT = "500ms"


def refresh_statistics(tables: Collection[str], *, using: str = DEFAULT_DB_ALIAS) -> list[str]:
    """Analyze those of these tables most of whose rows are newer than their statistics; return which.

    PostgreSQL does so itself, a minute after. Until then it takes a table that has just been filled for a small one:
    it checks the foreign keys of each deleted row by looking at all rows of the person, which takes a minute for 16,000
    messages. Where it cannot be done now, a warning is logged and nothing else happens.
    """
    connection = connections[using]
    with connection.cursor() as cursor:
        cursor.execute(STALE, {"tables": list(tables), "rows": ROWS})
        stale = [name for (name,) in cursor.fetchall()]
    done: list[str] = []
    for name in stale:
        try:
            with transaction.atomic(using=using), connection.cursor() as cursor:
                cursor.execute("SELECT set_config('lock_timeout', %s, true)", [WAIT])
                cursor.execute(f"ANALYZE {connection.ops.quote_name(name)}")
        except DatabaseError as error:
            logger.warning("statistics.not_refreshed", table=name, exc_info=error)
        else:
            done.append(name)
    return done
