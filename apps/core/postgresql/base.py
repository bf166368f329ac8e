from __future__ import annotations

import os
from functools import cached_property
from typing import Any

from django.db import utils
from django.db.backends.postgresql import base, operations
from django.db.backends.utils import CursorWrapper
from pgvector import HalfVector
from pgvector.psycopg.halfvec import HalfVectorBinaryDumper
from psycopg import OperationalError, adapters, errors
from psycopg_pool import ConnectionPool

# A vector goes to the server as it is; as text it has three times the size, and both sides take long for its numbers.
# Without the number of its type, which differs between databases: the statement says what it is.
adapters.register_dumper(HalfVector, HalfVectorBinaryDumper)


class DatabaseOperations(operations.DatabaseOperations):
    """Tells prepared statements, too, to whoever asks what was executed; their parameters are sent apart from them."""

    def last_executed_query(self, cursor: Any, sql: Any, params: Any) -> str:
        return super().last_executed_query(cursor, sql, params) or str(sql)


class DatabaseErrorWrapper(utils.DatabaseErrorWrapper):
    """Raises Django's exceptions; a server that takes no writes is away, not broken.

    So it is behind a pooler that still has a former primary's address after a failover.
    """

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        is_standby = isinstance(exc_value, errors.ReadOnlySqlTransaction)
        super().__exit__(OperationalError if is_standby else exc_type, exc_value, traceback)


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's, with connections that are checked before use, and with prepared statements for those who ask for them.

    All other cursors put the parameters into the statement, and PostgreSQL plans each by itself. The option
    ``prepared_statements``, true unless set, says whether connections may be asked for any at all.
    """

    ops_class = DatabaseOperations

    @cached_property
    def wrap_database_errors(self) -> DatabaseErrorWrapper:
        return DatabaseErrorWrapper(self)

    def get_connection_params(self) -> dict[str, Any]:
        parameters = super().get_connection_params()
        if not parameters.pop("prepared_statements", True):
            return parameters
        # PostgreSQL would rather plan a prepared statement for each parameter, as long as that promises to save more
        # than planning takes: and planning takes longer than it thinks. PGOPTIONS is read only without options.
        given = parameters.get("options") or os.environ.get("PGOPTIONS", "")
        options = f"{given} -c plan_cache_mode=force_generic_plan".strip()
        return {**parameters, "options": options, "prepare_threshold": 0}

    def prepared_cursor(self) -> CursorWrapper:
        """A cursor whose statements are planned once for this connection, by what is true of all parameters.

        An ordinary one where the options say that nothing is to be prepared.
        """
        if not self.settings_dict["OPTIONS"].get("prepared_statements", True):
            return self.cursor()
        return self.server_cursor()

    def server_cursor(self) -> CursorWrapper:
        """A cursor that sends parameters apart from the statement; with ``executemany`` all rows in one round trip."""
        self.ensure_connection()
        with self.wrap_database_errors:
            cursor: Any = base.ServerBindingCursor(self.connection)  # type: ignore[call-arg]  # its stubs are psycopg 2's
            return self._prepare_cursor(cursor)  # type: ignore[attr-defined, no-any-return]  # what `cursor` does, too

    def chunked_cursor(self) -> Any:
        """A cursor that reads its rows in portions, in a transaction; elsewhere an ordinary one.

        Outside of a transaction a cursor of the server has to outlive its own (``WITH HOLD``). Behind a pooler of
        transactions the next portion may be asked of another connection, which knows of no such cursor.
        """
        return super().chunked_cursor() if self.in_atomic_block else self.cursor()

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Check a connection as it comes from the pool; a broken one has all idle ones checked.

        The pool's own check (``CONN_HEALTH_CHECKS``) finds them broken one by one and waits twice as long after each:
        a request that came after PostgreSQL had restarted took 30 s, and failed.
        """
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
