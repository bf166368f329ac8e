from django.apps import AppConfig
from django.core.signals import request_started
from django.db import close_old_connections, reset_queries


class CoreConfig(AppConfig):
    name = "apps.core"
    verbose_name = "Core"

    def ready(self) -> None:
        from apps.core import checks  # noqa: F401  # registers them

        # They tidy up after an earlier request of the same thread. Here each request that needs a thread has one of its
        # own, whose connection goes back to the pool with it; to call them, every request had to start one.
        request_started.disconnect(close_old_connections)
        request_started.disconnect(reset_queries)
