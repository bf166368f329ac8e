"""Configuration and entry points. The Celery application is loaded with it, so that tasks find their broker."""

from project.celery import app as celery_app

__all__ = ["celery_app"]
