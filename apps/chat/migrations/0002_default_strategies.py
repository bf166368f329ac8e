from dataclasses import asdict

from django.db import migrations

from apps.chat.emotions import DEFAULT_STRATEGIES


def add_defaults(apps, schema_editor):
    strategy = apps.get_model("chat", "Strategy")
    strategy.objects.bulk_create(strategy(**asdict(one)) for one in DEFAULT_STRATEGIES)


class Migration(migrations.Migration):
    dependencies = [("chat", "0001_initial")]
    operations = [migrations.RunPython(add_defaults, migrations.RunPython.noop)]
