"""The Celery application: what the worker and the beat of ``manage.py up`` run."""

from __future__ import annotations

import os
import signal
import warnings
from typing import Any

from celery import Celery
from celery.beat import PersistentScheduler
from celery.exceptions import SecurityWarning
from celery.signals import (
    beat_init,
    setup_logging,
    worker_init,
    worker_process_init,
    worker_process_shutdown,
    worker_ready,
)

from apps.embedded.process import die_with_parent

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")

# Celery warns of root for the sake of pickle. Messages here are JSON, and whoever is root in a container chose so.
warnings.filterwarnings("ignore", category=SecurityWarning)


_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Scheduler(PersistentScheduler):
    """Holds back the signals that stop beat from before its file is opened until it runs.

    On such a signal Celery closes the scheduler, and makes one for that where there is none yet: of a file that was
    half made it said, with a traceback, that it was corrupted.
    """

    def setup_schedule(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
        super().setup_schedule()


@beat_init.connect
def heed_stop_signals(**_options: Any) -> None:
    """Let beat be stopped from here on, also by a signal that was held back."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)


@setup_logging.connect
def keep_logging(**_options: Any) -> None:
    """Leave logging as the settings have it: Celery's own would write the values that database errors quote (R3)."""


@worker_init.connect
def note_worker(**_options: Any) -> None:
    """Note the worker's process ID before it makes its children."""
    os.environ["JIYI_WORKER_PID"] = str(os.getpid())


@worker_init.connect
def load(**_options: Any) -> None:
    """Load what all children of this worker use, before it makes them."""
    from apps.core.preload import preload  # once Django is set up

    preload()


@worker_process_init.connect
def die_with_worker(**_options: Any) -> None:
    """Leave no child behind when the worker is killed: it would wait for work for ever."""
    die_with_parent(int(os.environ["JIYI_WORKER_PID"]), death_signal=signal.SIGKILL)


@worker_process_init.connect
def clear_caches_with_erasures(**_options: Any) -> None:
    """Clear the text caches of this process when somebody is erased (R3)."""
    from apps.core.cache import start_cache_invalidation  # once Django is set up

    start_cache_invalidation()


@worker_process_init.connect
def trace(**_options: Any) -> None:
    """Trace this process where that is configured: not its parent, whose threads a fork would not take along."""
    from apps.core.tracing import start_tracing  # once .env was read

    start_tracing("worker")


@worker_process_shutdown.connect
def stop_trace(**_options: Any) -> None:
    """Send what was not sent yet."""
    from apps.core.tracing import stop_tracing

    stop_tracing()


@worker_ready.connect
def free_former_claims(sender: Any, **_options: Any) -> None:
    """Free what this worker held when it was killed the last time."""
    from apps.conversations.worker import take_up_name  # once Django is set up

    take_up_name(sender.hostname)


app = Celery("jiyi")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
