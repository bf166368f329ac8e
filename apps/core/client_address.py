"""Where a request comes from: the address of its connection or, behind proxies that are trusted, what they noted."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest

IPV6_PREFIX = 64
"""One household or server has at least a /64 of IPv6, and could come from another address with every attempt."""


def get_client_address(request: HttpRequest) -> str | None:
    """Return the client's IP address, None where there is none (a unix socket without a proxy).

    Each of the `TRUSTED_PROXIES` appends to ``X-Forwarded-For`` whom it was asked by, so the client is that many places
    from the right: what stands left of it, the client wrote itself. Without trusted proxies the header is not read.
    """
    proxies: int = settings.TRUSTED_PROXIES
    if proxies:
        noted = [part for part in request.headers.get("X-Forwarded-For", "").split(",") if part.strip()]
        if len(noted) >= proxies and (found := _parse(noted[-proxies])):
            return str(found)
    direct = _parse(request.META.get("REMOTE_ADDR", ""))
    return str(direct) if direct else None


def get_client_network(request: HttpRequest) -> str | None:
    """Return by what attempts of one client are counted: its IPv4 address, or the first of its /64 of IPv6."""
    address = get_client_address(request)
    if address is None or ":" not in address:
        return address
    return str(ip_network(f"{address}/{IPV6_PREFIX}", strict=False).network_address)


def _parse(text: str) -> IPv4Address | IPv6Address | None:
    """The address in ``1.2.3.4``, ``1.2.3.4:567``, ``2001:db8::1`` or ``[2001:db8::1]:567``; None for anything else."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
