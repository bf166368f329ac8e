from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("memory", "0006_kinds_index"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="conversationembedding",
            index=models.Index(
                fields=["user", "-created_at", "-id"],
                include=["message_type", "model", "part"],
                name="conversation_embedding_list",
            ),
        ),
    ]
