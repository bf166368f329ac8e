from django.db import migrations

from apps.core.same_owner import TieToOwner


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("chat", "0008_edits"), ("conversations", "0015_same_owner")]

    operations = [
        TieToOwner(
            references={
                "edit": ["message", "session"],
                "turn": ["assistant_message", "user_message", "session"],
            },
        ),
    ]
