"""A request to a webhook: its signature, and where it does not go."""

from __future__ import annotations

import json
import socket
import time
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from apps.accounts.models import User
from apps.webhooks import sending
from apps.webhooks.models import Delivery
from apps.webhooks.sending import read_secret, send, sign
from tests.webhooks.conftest import Receiver, make_hook

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)


def make_delivery(user: User, url: str) -> Delivery:
    return Delivery(webhook=make_hook(user, url), event="memory.changed", data={"user_id": 1}, created_at=NOW)


def test_the_signature_is_that_of_the_convention() -> None:
    # The example of the convention, which its own libraries test, too.
    content = 'msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}'
    signature = sign(content, secret="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_the_request_is_signed_over_its_id_its_time_and_its_body(mei: User, receiver: Receiver) -> None:
    delivery = make_delivery(mei, f"{receiver.url}hook?a=1")
    assert send([delivery], now=NOW) == ["204"]
    [(headers, body)] = receiver.requests
    assert UUID(headers["webhook-id"]) == delivery.id
    assert int(headers["webhook-timestamp"]) == NOW.timestamp()
    content = f"{delivery.id}.{headers['webhook-timestamp']}.{body}"
    assert headers["webhook-signature"] == sign(content, secret=read_secret(delivery.webhook))
    told = {"type": "memory.changed", "timestamp": "2026-11-20T08:30:00+00:00", "data": {"user_id": 1}}
    assert json.loads(body) == told


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "localhost", "[::1]", "10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "0.0.0.0",
        "100.64.0.1", "[fd00::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "2130706433", "0x7f.1",
    ],
)  # fmt: skip
def test_a_private_address_is_not_asked(mei: User, receiver: Receiver, settings: Any, host: str) -> None:
    settings.WEBHOOKS = "public"
    port = receiver.url.rpartition(":")[2]
    assert send([make_delivery(mei, f"http://{host}:{port}")], now=NOW) == ["private"]
    assert receiver.requests == []


def test_a_name_is_resolved_once_and_what_was_found_is_asked(
    mei: User, receiver: Receiver, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = ["93.184.216.34", "127.0.0.1"]  # as a server answers that wants to lead us astray

    def resolve(host: str, port: int, *_given: Any) -> list[Any]:
        assert host == "hook.test"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (found.pop(), port))]

    port = receiver.url.rpartition(":")[2].strip("/")
    delivery = make_delivery(mei, f"http://hook.test:{port}/")
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    assert send([delivery], now=NOW) == ["204"]
    assert [headers["host"] for headers, _body in receiver.requests] == [f"hook.test:{port}"]
    found[:] = ["127.0.0.1"]
    settings.WEBHOOKS = "public"
    assert send([delivery], now=NOW) == ["private"]


def test_a_redirect_is_not_followed(mei: User, receiver: Receiver) -> None:
    receiver.statuses = [302]
    assert send([make_delivery(mei, receiver.url)], now=NOW) == ["302"]
    assert len(receiver.requests) == 1


def test_one_that_does_not_answer_holds_up_nobody(
    mei: User, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "SECONDS", 0.3)
    receiver.goes_on.clear()
    start = time.monotonic()
    deliveries = [make_delivery(mei, receiver.url) for _ in range(3)]
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        deliveries.append(make_delivery(mei, f"http://127.0.0.1:{unheard.getsockname()[1]}/"))
        assert send(deliveries, now=NOW) == [*["TimeoutError"] * 3, "ConnectError"]
    assert time.monotonic() - start < 5


def test_a_secret_of_another_key_is_named(mei: User, receiver: Receiver, settings: Any) -> None:
    delivery = make_delivery(mei, receiver.url)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another", []
    assert send([delivery], now=NOW) == ["UnreadableSecret"]
