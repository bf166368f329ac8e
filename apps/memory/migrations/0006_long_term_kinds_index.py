from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memory", "0005_working_memory_revisions")]

    operations = [
        migrations.AddIndex(
            model_name="longtermmemory",
            index=models.Index(fields=["user", "status", "category", "source"], name="long_term_memory_kinds"),
        ),
    ]
