from django.db import migrations

from apps.core.same_owner import TieToOwner


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("profile", "0001_initial"), ("conversations", "0015_same_owner")]

    operations = [
        TieToOwner(
            owned=["userprofile"],
            references={
                "profileproposal": ["message"],
                "profileversion": ["profile"],
            },
        ),
    ]
