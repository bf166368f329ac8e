from django.db import migrations

from apps.core.same_owner import TieToOwner


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("conversations", "0014_work_trace")]

    operations = [
        TieToOwner(
            owned=["message", "session"],
            references={
                "attachment": ["session", "message"],
                "message": ["session", "reply_to", "summarized_by"],
                "recording": ["session"],
                "work": ["session", "message"],
            },
        ),
    ]
