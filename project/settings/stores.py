"""PostgreSQL and Redis (or Valkey): the servers that `apps.embedded` starts, unless others are named."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from apps.embedded import layout as embedded
from project.settings.environment import DATA_DIR, env

DATABASE_URL = env.str("DATABASE_URL", default="") or embedded.database_url(DATA_DIR)
REDIS_URL = env.str("REDIS_URL", default="") or embedded.redis_url(DATA_DIR)


def _configure_database(url: str) -> dict[str, Any]:
    read: dict[str, Any] = env.db_url_config(url)
    return {
        **read,
        "HOST": unquote(read["HOST"]),  # a socket's folder stands percent-encoded in the URL
        "ENGINE": "apps.core.postgresql",
        "CONN_MAX_AGE": 0,
        "OPTIONS": {
            **read.get("OPTIONS", {}),
            "prepared_statements": env.bool("DATABASE_PREPARED", default=True),
        },
    }


DATABASES = {"default": _configure_database(DATABASE_URL)}
DATABASES["default"]["OPTIONS"]["pool"] = {
    "min_size": 2,
    "max_size": env.int("DATABASE_POOL_SIZE", default=16),
    "timeout": 10,  # seconds until a request that finds no connection is told to try again
}

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CACHES = {
    "default": {
        "BACKEND": "apps.core.cache.BreakingCache",
        "LOCATION": REDIS_URL,
        "OPTIONS": {"socket_timeout": 2},  # a server that hangs is given up, and then not asked for a while
    }
}
