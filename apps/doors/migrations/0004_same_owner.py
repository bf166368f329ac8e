from django.db import migrations

from apps.core.same_owner import TieToOwner


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("doors", "0003_past_imports"), ("conversations", "0015_same_owner")]

    operations = [
        TieToOwner(
            owned=["pastimport"],
            references={
                "importitem": ["past_import", "session"],
                "importpart": ["past_import"],
                "storedresponse": ["message"],
            },
        ),
    ]
