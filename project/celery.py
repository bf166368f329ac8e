"""The Celery application: what the worker and the beat of ``manage.py up`` run."""

from __future__ import annotations

import os
import warnings

from celery import Celery
from celery.exceptions import SecurityWarning

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")

# Celery warns of root for the sake of pickle. Messages here are JSON, and whoever is root in a container chose so.
warnings.filterwarnings("ignore", category=SecurityWarning)

app = Celery("jiyi")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
