from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0003_end_users'),
    ]

    operations = [
        migrations.CreateModel(
            name='LoginAttempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('username', models.CharField(max_length=255, verbose_name='username')),
                ('ip_address', models.GenericIPAddressField(null=True, verbose_name='IP address')),
                ('failures_since_start', models.PositiveIntegerField(verbose_name='failures')),
                ('attempt_time', models.DateTimeField(db_index=True, verbose_name='last attempt')),
            ],
            options={
                'verbose_name': 'failed login',
                'verbose_name_plural': 'failed logins',
                'indexes': [models.Index(fields=['ip_address'], name='login_attempt_address')],
                'constraints': [models.UniqueConstraint(fields=('username', 'ip_address'), name='login_attempt_unique', nulls_distinct=False)],
            },
        ),
    ]
