"""What a person takes on disk: bytes of a row of every table and of its indexes, and of the vector index by itself.

    python -m benchmarks.storage [--memories 5000] [--json FILE]

The rows are those of `benchmarks.panel`: somebody who has talked for years, with a vector for every message and memory.
They are made on an embedded server in a temporary folder. docs/scale.md calculates with the figures.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.running import describe_machine, run_in_new_data_folder

_TABLES = """
SELECT relname, pg_table_size(oid), pg_indexes_size(oid), reltuples::bigint,
       coalesce((SELECT sum(pg_relation_size(indexrelid)) FROM pg_index JOIN pg_class AS index ON index.oid = indexrelid
                 JOIN pg_am ON pg_am.oid = index.relam WHERE indrelid = relation.oid AND amname = 'hnsw'), 0)
FROM pg_class AS relation
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND reltuples >= 100
ORDER BY pg_total_relation_size(oid) DESC
"""

_LENGTHS = """
SELECT (SELECT avg(octet_length(content)) FROM conversation), (SELECT avg(octet_length(content)) FROM atomic_memory)
"""


def measure(*, memories: int) -> dict[str, Any]:
    """Return the bytes of a row of each table: in the table, in its vector index, and in its other indexes."""
    from django.db import connection

    from apps.accounts.models import User
    from benchmarks.panel.rows import Sizes, fill

    fill(User.objects.create_user("person"), Sizes.with_memories(memories))
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
        cursor.execute(_TABLES)
        tables = [
            {
                "table": name,
                "rows": rows,
                "row_bytes": round(table / rows),
                "vector_index_bytes": round(int(vectors) / rows),
                "other_index_bytes": round((indexes - int(vectors)) / rows),
            }
            for name, table, indexes, rows, vectors in cursor.fetchall()
        ]
        cursor.execute(_LENGTHS)
        message, memory = cursor.fetchone()
    return {
        **describe_machine(),
        "message_text_bytes": round(message),
        "memory_text_bytes": round(memory),
        "tables": tables,
    }


def main() -> None:
    """Measure, print the table, and write the report where one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=5_000, help="of each kind, and messages (default: 5,000)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = parser.parse_args()
    if options.memories < 1_000:
        parser.error("with less than 1,000 memories, pages that are half empty count too much")
    with run_in_new_data_folder():
        report = measure(memories=options.memories)
    texts = f"{report['message_text_bytes']} bytes of text a message, {report['memory_text_bytes']} a memory"
    table = Table(title=f"Bytes of a row; {texts}", title_justify="left")
    for name in ("table", "rows", "row_bytes", "vector_index_bytes", "other_index_bytes"):
        table.add_column(name.replace("_", " "), justify="left" if name == "table" else "right")
    for one in report["tables"]:
        table.add_row(*map(str, one.values()))
    Console().print(table)
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
