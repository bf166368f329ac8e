"""Nobody is called before a request is dealt with: whoever is no coroutine would have a thread started for each."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.workers import PROJECT

BEGIN = """
import asyncio
from django.core.asgi import get_asgi_application
from django.core.signals import request_started

handler = get_asgi_application()
called = asyncio.run(request_started.asend(sender=type(handler), scope={}))
print([receiver.__name__ for receiver, _answer in called])
"""


@pytest.mark.long
def test_nobody_is_called_when_a_request_begins():
    """In a process of its own: here Django's test client has connected `close_old_connections` again."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "project.settings"}
    command = [sys.executable, "-c", BEGIN]
    output = subprocess.check_output(command, cwd=PROJECT, env=environment, text=True, timeout=200)
    assert output == "[]\n"
