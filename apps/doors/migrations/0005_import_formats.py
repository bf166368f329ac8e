from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("doors", "0004_same_owner")]

    operations = [
        migrations.AlterField("pastimport", "format", models.CharField(max_length=10, verbose_name="format")),
    ]
