"""One request to the address of a webhook, signed by the convention of Standard Webhooks.

The address is a stranger's: its host is resolved once and the request goes to what was found, no redirect is followed,
nothing of the answer but its status is read, and all of it has one deadline.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import socket
from collections.abc import Sequence
from datetime import datetime

from django.conf import settings

from apps.core.access import is_public
from apps.core.secret_key import decrypt
from apps.webhooks.models import Delivery, Webhook

SECONDS = 10.0
SECRET_PREFIX = "whsec_"  # noqa: S105 (what all secrets of the convention begin with)
SECRET_PURPOSE = "webhook_secret"  # noqa: S105 (names what is encrypted)
PRIVATE = "private"


def read_secret(webhook: Webhook) -> str:
    """Return the secret, ``whsec_`` and base64. Raises `UnreadableSecret` where the key of the installation changed."""
    return decrypt(webhook.encrypted_secret, purpose=SECRET_PURPOSE)


def sign(content: str, *, secret: str) -> str:
    """Return the header ``webhook-signature`` of ``<webhook-id>.<webhook-timestamp>.<body>``."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    return f"v1,{base64.b64encode(hmac.digest(key, content.encode(), hashlib.sha256)).decode()}"


def send(deliveries: Sequence[Delivery], *, now: datetime) -> list[str]:
    """Send all at once; return for each its result: the status of the answer, `PRIVATE`, or the name of an error."""

    async def send_all() -> list[str]:
        return await asyncio.gather(*(_send(delivery, now=now) for delivery in deliveries))

    return asyncio.run(send_all())


async def _send(delivery: Delivery, *, now: datetime) -> str:
    hook, timestamp = delivery.webhook, int(now.timestamp())
    body = json.dumps({"type": delivery.event, "timestamp": delivery.created_at.isoformat(), "data": delivery.data})
    try:
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "Jiyi",
            "webhook-id": str(delivery.id),
            "webhook-timestamp": str(timestamp),
            "webhook-signature": sign(f"{delivery.id}.{timestamp}.{body}", secret=read_secret(hook)),
        }
        return await asyncio.wait_for(_post(hook.url, headers=headers, body=body), SECONDS)
    except Exception as error:  # whatever it is, the others are sent
        return type(error).__name__


async def _post(url: str, *, headers: dict[str, str], body: str) -> str:
    import httpx2  # takes a while to load, and most processes send nothing

    target = httpx2.URL(url)
    port = target.port or {"http": 80, "https": 443}[target.scheme]
    found = await asyncio.get_running_loop().getaddrinfo(target.host, port, type=socket.SOCK_STREAM)
    addresses = [str(address[0]) for *_kind, address in found]
    if settings.WEBHOOKS != "private" and not all(map(is_public, addresses)):
        return PRIVATE
    # The certificate is that of the host, which is no longer in the URL. With a transport of its own a client asks no
    # proxy, which would look the host up again.
    async with (
        httpx2.AsyncClient(transport=httpx2.AsyncHTTPTransport(), timeout=SECONDS) as client,
        client.stream(
            "POST",
            target.copy_with(host=addresses[0]),
            headers={**headers, "Host": target.netloc.decode()},
            content=body,
            extensions={"sni_hostname": target.host},
        ) as response,
    ):
        return str(response.status_code)
