"""The ASGI entry point: what uvicorn serves."""

from __future__ import annotations

import gc
import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")

application = get_asgi_application()

# What takes a second to load is loaded before the first request, not during it.
from apps.core.llm.client import get_chat_model  # noqa: E402
from apps.core.text.segment import warm_up  # noqa: E402

warm_up()
get_chat_model()

# The dictionaries stay for good: the garbage collector need not walk their million objects again and again.
gc.collect()
gc.freeze()
