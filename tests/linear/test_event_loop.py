"""What a long message costs is not done in the event loop, which serves everybody: no step of it takes long.

Processor time of the loop's own thread is measured, so it matters little how busy the machine is. Collecting garbage
does matter, and comes when it comes; what takes long by itself does so each time, so once in three times is enough.

Texts of every kind are answered by the offline model, which works in the web process, a connected model answers with
what has to be repaired, and a client sends a body of many values.
"""

from __future__ import annotations

import asyncio.events
import io
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from apps.accounts.models import User
from apps.core.errors import TooLarge
from apps.core.fields import MAX_COMMAS, StrictJSONParser
from tests.linear.hostile import LENGTH, repeat
from tests.support.http_server import SERVER_THREAD, ApiClient, HttpServer
from tests.support.scripted_model import MODEL, ScriptedModel

# Seconds of processor time: half of what another person's request may be delayed by (issue 16).
LONGEST_STEP = 0.1


class Steps:
    """The longest step of the server's event loop, and what took it."""

    longest = 0.0
    callback = ""

    def check(self, act: Callable[[], object]) -> None:
        """Fail if `act` has a step that takes long, each time it is done."""
        for _attempt in range(3):
            self.longest = 0.0
            act()
            assert self.longest > 0
            if self.longest < LONGEST_STEP:
                return
        pytest.fail(f"{self.longest:.3f} s of {self.callback}")


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    found = Steps()
    run = asyncio.events.Handle._run

    def run_measured(handle: Any) -> None:
        start = time.thread_time()
        run(handle)
        taken = time.thread_time() - start
        if taken > found.longest and threading.current_thread().name == SERVER_THREAD:
            found.longest, found.callback = taken, repr(handle)[:300]

    monkeypatch.setattr(asyncio.events.Handle, "_run", run_measured)
    return found


@pytest.fixture
def alice(transactional_db: None, steps: Steps) -> Iterator[ApiClient]:
    """A client of a server whose event loop is asyncio's own, which can be looked into."""
    with HttpServer(loop="asyncio") as server:
        with ApiClient(server, User.objects.create_user("alice")) as client:
            client.timeout = 120
            yield client
        server.wait_until_idle()


def say(client: ApiClient, text: str) -> None:
    client.say(client.new_session(), text).raise_for_status()


UNITS = ("中 a1, ", "1", "a", "中", "我喜欢和", " a", "\n", ".,;:!?", "\"'“", "([{《", "and ", "12月3日")
BROKEN = ('{"response": "' + repeat('a\\" ', 40_000), '{"a": ' + repeat("{[", 40_000), repeat('{"', 40_000))


@pytest.mark.long
def test_no_request_holds_the_event_loop(
    subtests: pytest.Subtests, alice: ApiClient, steps: Steps, scripted_model: ScriptedModel, settings: Any
) -> None:
    say(alice, "你好")  # what is loaded at first use
    with subtests.test("a long name"):
        steps.check(lambda: say(alice, "My name is " + repeat("中 a1, ", 8_000)))
    for unit in UNITS:
        with subtests.test("a long message", unit=unit):
            steps.check(lambda unit=unit: say(alice, "记住a" + repeat(unit, LENGTH - 4) + "a"))  # type: ignore[misc]
    body = {"content": "hello", "attachments": ["a"] * 400_000}
    path = f"/chat/sessions/{alice.new_session()}/messages"

    def be_refused() -> None:
        assert alice.post(path, json=body).status_code == 400

    with subtests.test("a large body"):
        steps.check(be_refused)
    settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL, settings.CHAT_MODEL = "test", scripted_model.base_url, MODEL
    for answer in BROKEN:

        def be_answered(answer: str = answer) -> None:
            scripted_model.script(answer)
            alice.say(alice.new_session(), "hello")

        with subtests.test("an answer that has to be repaired", answer=answer[:20]):
            steps.check(be_answered)


def test_a_body_of_millions_of_values_is_refused_before_it_is_read() -> None:
    body = io.BytesIO(b"[" + b"1," * (MAX_COMMAS + 1) + b"1]")
    with pytest.raises(TooLarge):
        StrictJSONParser().parse(body)
