"""Imports from elsewhere: the file, its items, and their outcomes."""

import apps.core.json
import django.db.models.deletion
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('conversations', '0007_fair_work'),
        ('doors', '0002_stored_responses'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='PastImport',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('format', models.CharField(choices=[('chatgpt', 'chatgpt'), ('claude', 'claude'), ('mem0', 'mem0'), ('letta', 'letta'), ('zep', 'zep'), ('plain', 'plain'), ('jiyi', 'jiyi')], max_length=10, verbose_name='format')),
                ('file_name', models.CharField(blank=True, default='', max_length=200, verbose_name='file name')),
                ('size', models.BigIntegerField(verbose_name='size')),
                ('digest', models.BinaryField(max_length=32)),
                ('state', models.CharField(choices=[('queued', 'queued'), ('reading', 'reading the file'), ('running', 'importing'), ('done', 'done'), ('cancelled', 'cancelled'), ('failed', 'failed'), ('undoing', 'undoing'), ('undone', 'undone')], default='queued', max_length=10, verbose_name='state')),
                ('problem', models.CharField(blank=True, default='', max_length=300, verbose_name='problem')),
                ('total', models.PositiveIntegerField(default=0, verbose_name='items')),
                ('done', models.PositiveIntegerField(default=0, verbose_name='items done')),
                ('counts', models.JSONField(blank=True, default=dict, encoder=apps.core.json.ReadableJSONEncoder, verbose_name='counts')),
                ('operation', models.UUIDField(default=uuid.uuid4, editable=False, verbose_name='operation')),
                ('undo_before', models.BigIntegerField(editable=False, null=True)),
                ('claim', models.CharField(blank=True, editable=False, max_length=64, null=True)),
                ('lease_until', models.DateTimeField(editable=False, null=True)),
                ('attempts', models.PositiveSmallIntegerField(default=0, editable=False)),
                ('served_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='created at')),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='updated at')),
                ('finished_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='finished at')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='past_imports', to=settings.AUTH_USER_MODEL, verbose_name='user')),
            ],
            options={
                'verbose_name': 'import',
                'verbose_name_plural': 'imports',
                'db_table': 'past_import',
                'ordering': ['-created_at', '-id'],
            },
        ),
        migrations.CreateModel(
            name='ImportPart',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('data', models.BinaryField()),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='import_parts', to=settings.AUTH_USER_MODEL)),
                ('past_import', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='parts', to='doors.pastimport')),
            ],
            options={
                'verbose_name': 'part of an imported file',
                'verbose_name_plural': 'parts of imported files',
                'db_table': 'past_import_part',
            },
        ),
        migrations.CreateModel(
            name='ImportItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField(verbose_name='number')),
                ('kind', models.CharField(choices=[('conversation', 'conversation'), ('memory', 'memory'), ('other', 'other')], max_length=12, verbose_name='kind')),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('imported', 'imported'), ('skipped', 'skipped'), ('failed', 'failed')], default='waiting', max_length=8, verbose_name='state')),
                ('label', models.CharField(blank=True, default='', max_length=200, verbose_name='label')),
                ('reason', models.CharField(blank=True, default='', max_length=20, verbose_name='reason')),
                ('detail', models.CharField(blank=True, default='', max_length=300, verbose_name='detail')),
                ('count', models.PositiveIntegerField(default=0, verbose_name='count')),
                ('payload', models.JSONField(editable=False, encoder=apps.core.json.ReadableJSONEncoder, null=True)),
                ('made_session', models.BooleanField(default=False, editable=False)),
                ('memory_id', models.UUIDField(blank=True, editable=False, null=True, verbose_name='memory')),
                ('session', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='conversations.session', verbose_name='session')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='import_items', to=settings.AUTH_USER_MODEL)),
                ('past_import', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='items', to='doors.pastimport', verbose_name='import')),
            ],
            options={
                'verbose_name': 'imported item',
                'verbose_name_plural': 'imported items',
                'db_table': 'past_import_item',
                'ordering': ['past_import', 'number'],
            },
        ),
        migrations.AddIndex(
            model_name='pastimport',
            index=models.Index(fields=['user', '-created_at', '-id'], name='past_import_list'),
        ),
        migrations.AddIndex(
            model_name='pastimport',
            index=models.Index(condition=models.Q(('state__in', ['queued', 'reading', 'running', 'undoing'])), fields=['served_at'], name='past_import_due'),
        ),
        migrations.AddConstraint(
            model_name='importpart',
            constraint=models.UniqueConstraint(fields=('past_import', 'number'), name='past_import_part_unique'),
        ),
        migrations.AddIndex(
            model_name='importitem',
            index=models.Index(condition=models.Q(('state', 'waiting')), fields=['past_import', 'number'], name='past_import_item_waiting'),
        ),
        migrations.AddConstraint(
            model_name='importitem',
            constraint=models.UniqueConstraint(fields=('past_import', 'number'), name='past_import_item_unique'),
        ),
    ]
