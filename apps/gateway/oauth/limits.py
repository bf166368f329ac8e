"""How often strangers may register applications. If the cache cannot be asked, nothing is refused."""

from __future__ import annotations

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from redis.exceptions import RedisError

from apps.core.client_address import get_client_network

PERIOD_SECONDS = 3_600


def allow_registration(request: HttpRequest) -> bool:
    """Count a registration from this address; False for more than `OAUTH_REGISTRATIONS_PER_HOUR`."""
    key = f"oauth:registrations:{get_client_network(request)}"
    try:
        cache.add(key, 0, PERIOD_SECONDS)
        return bool(cache.incr(key) <= settings.OAUTH_REGISTRATIONS_PER_HOUR)
    except (ValueError, RedisError, OSError):  # it expired in between, or the cache cannot be asked
        return True
