"""``manage.py distribute [--dry-run]``: make this installation's schema one that Citus may place on any node."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from apps.core.db import fetch_rows

FIND_SCHEMA = "SELECT current_schema(), EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')"
LIST_TABLES = """
SELECT relname, pg_size_pretty(pg_total_relation_size(oid)) FROM pg_class
WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' ORDER BY relname
"""
# Every table of a distributed schema is one shard, and all of them are on one node.
FIND_NODE = """
SELECT DISTINCT nodename || ':' || nodeport, (SELECT count(*) FROM citus_tables WHERE colocation_id = colocationid)
FROM pg_dist_schema JOIN citus_shards ON colocation_id = colocationid
WHERE schemaid = current_schema()::regnamespace
"""


class Command(BaseCommand):
    help = (
        "Let Citus move the tables of this installation to another node: its schema, the first one of the search_path "
        "in DATABASE_URL, becomes a distributed one. Run it after migrations; it changes nothing the second time."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only list the tables, with their sizes")

    def handle(self, *args: Any, dry_run: bool, **options: Any) -> None:
        schema = self._check()
        try:
            if not self._show_node(schema):
                if dry_run:
                    for name, size in fetch_rows(LIST_TABLES, {}):
                        self.stdout.write(f"{size:>10}  {name}")
                    return
                self._distribute(schema)
                self._show_node(schema)
        except DatabaseError as error:
            raise CommandError(f"Citus refused, and nothing was changed: {error}") from error

    def _check(self) -> str:
        """Return the name of the schema, once everything that distributing it needs is there."""
        ((schema, has_citus),) = fetch_rows(FIND_SCHEMA, {})
        if not has_citus:
            raise CommandError("This database does not have Citus. Everything works without it (docs/deployment.md).")
        if schema in (None, "public"):
            raise CommandError(
                "An installation on Citus needs a schema of its own: CREATE SCHEMA, and name it first in the "
                "search_path of DATABASE_URL (docs/deployment.md)."
            )
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            raise CommandError("Run manage.py migrate first.")
        return str(schema)

    def _distribute(self, schema: str) -> None:
        connection.ensure_connection()
        connection.connection.add_notice_handler(lambda notice: self.stdout.write(notice.message_primary or ""))
        with connection.cursor() as cursor:
            cursor.execute("SELECT citus_schema_distribute(%s)", [schema])

    def _show_node(self, schema: str) -> bool:
        """Say where the schema is; whether it is a distributed one."""
        found = fetch_rows(FIND_NODE, {})
        for node, tables in found:
            self.stdout.write(f"The schema {schema} is distributed: {tables} tables on {node}.")
        return bool(found)
