"""The ASGI entry point: what uvicorn serves."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")

django.setup(set_prefix=False)

# What takes a second to load is loaded before the first request, not during it.
from django.urls import get_resolver  # noqa: E402

from apps.chat.turn.process import fail_left_turns_soon  # noqa: E402
from apps.chat.turn.run import stop_turns  # noqa: E402
from apps.core.asgi import Handler  # noqa: E402
from apps.core.cache import start_cache_invalidation  # noqa: E402
from apps.core.preload import preload  # noqa: E402
from apps.core.tracing import start_tracing, stop_tracing  # noqa: E402

start_tracing("web")

serve = Handler()
get_resolver().url_patterns  # noqa: B018 (reading them imports every view)
preload()

# A thread that works on a long message lets the others go on after this many seconds, each time they have waited for
# something: a small request waits twenty times. Python's own 5 ms would add up to more than people notice.
sys.setswitchinterval(0.001)


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Django, with the server's lifespan, which Django does not know."""
    if scope["type"] != "lifespan":
        await serve(scope, receive, send)
        return
    await receive()
    start_cache_invalidation()
    left = asyncio.create_task(fail_left_turns_soon())
    await send({"type": "lifespan.startup.complete"})
    await receive()
    left.cancel()
    await stop_turns()
    stop_tracing()
    await send({"type": "lifespan.shutdown.complete"})
