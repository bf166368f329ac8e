import django.contrib.postgres.indexes
import django.db.models.functions.comparison
import pgvector.django.halfvec
import pgvector.django.indexes
from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("memory", "0017_in_index_of_messages")]

    # Everybody goes on writing, and searching: without the index all vectors of a person are compared. Each is dropped
    # first, as an interrupted run may have left it incomplete.
    operations = [
        RemoveIndexConcurrently(model_name="conversationembedding", name="conversation_embedding_hnsw"),
        AddIndexConcurrently(
            model_name="conversationembedding",
            index=pgvector.django.indexes.HnswIndex(
                django.contrib.postgres.indexes.OpClass(
                    django.db.models.functions.comparison.Cast(
                        "embedding", pgvector.django.halfvec.HalfVectorField(dimensions=1536)
                    ),
                    name="halfvec_cosine_ops",
                ),
                condition=models.Q(("in_index", True)),
                ef_construction=64,
                m=16,
                name="conversation_embedding_hnsw",
            ),
        ),
        migrations.RunSQL(
            "DROP INDEX CONCURRENTLY IF EXISTS conversation_embedding_indexed", migrations.RunSQL.noop
        ),
        AddIndexConcurrently(
            model_name="conversationembedding",
            index=models.Index(fields=["user", "model", "in_index"], name="conversation_embedding_indexed"),
        ),
    ]
