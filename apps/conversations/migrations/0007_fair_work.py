"""Recorded work has a place in the queue, after the work of turns; claims find it by an index."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('conversations', '0006_replaced_messages'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='work',
            name='work_due',
        ),
        migrations.RemoveIndex(
            model_name='work',
            name='work_session',
        ),
        migrations.AddField(
            model_name='work',
            name='place',
            field=models.BigIntegerField(db_default=0, default=0, editable=False),
        ),
        migrations.AlterField(
            model_name='work',
            name='user',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='work', to=settings.AUTH_USER_MODEL, verbose_name='user'),
        ),
        migrations.AddIndex(
            model_name='work',
            index=models.Index(condition=models.Q(('state', 'due')), fields=['kind', 'place', 'due_at', 'id'], name='work_due'),
        ),
        migrations.AddIndex(
            model_name='work',
            index=models.Index(fields=['user', 'kind', 'place'], name='work_place'),
        ),
        migrations.AddIndex(
            model_name='work',
            index=models.Index(condition=models.Q(('lease_until__isnull', False)), fields=['kind', 'session'], name='work_held'),
        ),
        migrations.AddIndex(
            model_name='work',
            index=models.Index(fields=['session', 'kind', 'id'], name='work_session'),
        ),
    ]
