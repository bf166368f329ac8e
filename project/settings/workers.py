"""Work behind the turn: leases and retries of the queue, and Celery, which carries it out."""

from __future__ import annotations

from datetime import timedelta

from kombu import Queue

from apps.embedded import layout as embedded
from apps.embedded.machine import choose_sizes, read_memory
from project.settings.environment import DATA_DIR, env
from project.settings.stores import REDIS_URL

# How long a claim on work holds, and how long a task may take. Work of a worker that was lost and never came back is
# due again after it; a model that needs longer for a call needs more.
WORK_LEASE_SECONDS = env.int("WORK_LEASE_SECONDS", default=300)

# How long work that came to nothing is put off the first time; then twice as long each time, up to an hour.
WORK_RETRY_SECONDS = env.float("WORK_RETRY_SECONDS", default=30)

_SIZES = choose_sizes(read_memory())

# How many processes `manage.py up` gives to work that waits for the chat model.
MODEL_WORKERS = env.int("MODEL_WORKERS", default=_SIZES.model_workers)

# How many tokens of known memories the extracting model is shown: all of about a hundred, else the nearest.
EXTRACTION_KNOWN_TOKENS = env.int("EXTRACTION_KNOWN_TOKENS", default=5_000)

CELERY_BROKER_URL = embedded.broker_url(REDIS_URL)
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_TIME_LIMIT = 600
CELERY_TASK_SOFT_TIME_LIMIT = 540
CELERY_TASK_DEFAULT_QUEUE = "celery"
# Periodic work, embedding, and what waits for the chat model: a slow model holds up only its own.
CELERY_TASK_QUEUES = [Queue(name) for name in ("celery", "embedding", "model")]

CELERY_TASK_ROUTES = {
    "apps.extraction.tasks.embed": {"queue": "embedding"},
    "apps.extraction.tasks.extract": {"queue": "model"},
    "apps.extraction.tasks.summarize": {"queue": "model"},
    "apps.tidying.tasks.tidy": {"queue": "model"},
    "apps.memory.tasks.embed_memories": {"queue": "embedding"},
    "apps.memory.tasks.change_embedding_model": {"queue": "embedding"},
}
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# KiB. A child that has grown beyond it is replaced after its task.
CELERY_WORKER_MAX_MEMORY_PER_CHILD = _SIZES.child_memory

CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 3600,  # above the task time limit, or a long task would be delivered twice
    "socket_connect_timeout": 5,
    "socket_timeout": 15,  # a broker that hangs is given up; workers ask it for tasks every second
    "unacked_restore_interval": 2,
    "unacked_restore_throttle": 1,
}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULER = "project.celery:Scheduler"
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA_DIR / "celerybeat-schedule")
CELERY_BEAT_SCHEDULE = {
    task.rpartition(".")[2]: {
        "task": task,
        "schedule": timedelta(seconds=seconds),
        "options": {"expires": seconds},  # a worker that was away does not find a heap of them
    }
    for task, seconds in (
        ("apps.chat.tasks.fail_abandoned_turns", 30),
        ("apps.memory.tasks.expire_working_memory", 60),
        ("apps.memory.tasks.embed_memories", 30),
        ("apps.memory.tasks.change_embedding_model", 10),
        ("apps.memory.tasks.evict_memories", 600),
        ("apps.memory.tasks.index_large_collections", 600),
        ("apps.memory.tasks.apply_retention", 86_400),
        ("apps.chat.tasks.delete_idle_temporary_sessions", 60),
        ("apps.extraction.tasks.sweep", 10),
        ("apps.doors.tasks.clear_oauth", 86_400),
        ("apps.accounts.tasks.tidy_logins", 86_400),
        ("apps.costs.tasks.sum_up_old_calls", 86_400),
        ("apps.doors.tasks.run_imports", 10),
        ("apps.tidying.tasks.tidy_for_idle", 300),
        ("apps.webhooks.tasks.deliver", 10),
        ("apps.webhooks.tasks.delete_old_deliveries", 86_400),
    )
}
