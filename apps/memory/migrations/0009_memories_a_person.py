"""What PostgreSQL expects of a person it plans for without knowing who it is: a thousand rows, whoever has the most.

Recall is planned once for everybody (`apps.core.db.fetch_prepared`). From the rows alone PostgreSQL would expect as
many of each person as there are on average: where one has nearly all of them, it would read all of theirs for everybody
else's few, 250 ms in place of 2.

What a column is set to holds from the next ANALYZE on. So tables with rows are analyzed at once; an empty one is left
to autovacuum, as PostgreSQL would take it at its word and plan for no rows at all.
"""

from django.db import migrations

TABLES = ("long_term_memory", "atomic_memory", "long_term_embedding", "atomic_embedding")


class Migration(migrations.Migration):
    dependencies = [("memory", "0008_change_of_proposals")]

    operations = [
        *(
            migrations.RunSQL(
                f"ALTER TABLE {table} ALTER COLUMN user_id SET (n_distinct = -0.001)",  # 0.1 % as many people as rows
                reverse_sql=f"ALTER TABLE {table} ALTER COLUMN user_id RESET (n_distinct)",
            )
            for table in TABLES
        ),
        *(
            migrations.RunSQL(
                f"DO $$ BEGIN IF EXISTS (SELECT FROM {table}) THEN ANALYZE {table}; END IF; END $$",
                reverse_sql=migrations.RunSQL.noop,
            )
            for table in TABLES
        ),
    ]
