from __future__ import annotations

from typing import Any

from django.db.backends.postgresql import base
from psycopg import OperationalError
from psycopg_pool import ConnectionPool


class DatabaseWrapper(base.DatabaseWrapper):
    """Checks a connection as it comes from the pool; a broken one has all idle ones checked.

    The pool's own check (``CONN_HEALTH_CHECKS``) finds them broken one by one and waits twice as long after each: a
    request that came after PostgreSQL had restarted took 30 s, and failed.
    """

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        connection = super().get_new_connection(conn_params)
        pool = self.pool
        if pool is None:
            return connection
        try:
            ConnectionPool.check_connection(connection)
        except OperationalError:
            pool.putconn(connection)  # broken, so thrown away
            pool.check()
            connection = super().get_new_connection(conn_params)
        return connection
