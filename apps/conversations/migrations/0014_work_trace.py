from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("conversations", "0013_through_programs")]

    operations = [
        migrations.AddField(
            model_name="work",
            name="trace",
            field=models.CharField(blank=True, db_default="", default="", editable=False, max_length=64),
        ),
    ]
