from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("chat", "0004_turns_by_memory"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="turn",
            index=models.Index(fields=["user", "-created_at", "-assistant_message"], name="turn_newest"),
        ),
        RemoveIndexConcurrently(model_name="turn", name="turn_user_created"),
    ]
