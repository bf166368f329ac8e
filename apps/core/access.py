"""Where a request comes from, where one may go, and who may read what an installation tells of itself."""

from __future__ import annotations

from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Self

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest
from django.http.request import split_domain_port


class Access(StrEnum):
    """Each value allows what the one before it does, and more."""

    CLOSED = "closed"
    """Nobody: as if there were no such address."""

    STAFF = "staff"
    """Staff, with a session or an API token."""

    LOCAL = "local"
    """Direct requests of programs on this machine, too."""

    USERS = "users"
    """Everybody who has an account, too."""

    OPEN = "open"
    """Everybody."""

    @classmethod
    def read(cls, name: str, value: str) -> Self:
        """Return the access that the environment variable `name` asks for."""
        try:
            return cls(value.strip().lower())
        except ValueError:
            allowed = ", ".join(cls)
            raise ImproperlyConfigured(f"{name} is {value!r}. It must be one of: {allowed}.") from None


# Beginnings of the headers in which proxies name themselves, or the client they ask for.
_FORWARDED = ("HTTP_FORWARDED", "HTTP_X_FORWARDED", "HTTP_X_REAL_IP", "HTTP_X_CLIENT_IP", "HTTP_VIA", "HTTP_CF_")


def may_read(request: HttpRequest, access: Access, *, user: Any) -> bool:
    """Whether the setting `access` lets this request read, made by this user (None and an anonymous one: nobody)."""
    if access is Access.CLOSED:
        return False
    if access is Access.OPEN or (access in (Access.LOCAL, Access.USERS) and is_local(request)):
        return True
    return bool(user and user.is_authenticated and (user.is_staff or access is Access.USERS))


def offer_api_docs(request: HttpRequest) -> dict[str, Any]:
    """A context processor: whether a page may link to the API's description, asked only if the page does."""
    user = getattr(request, "user", None)
    return {"may_read_api_docs": lambda: may_read(request, settings.API_DOCS_ACCESS, user=user)}


def is_local(request: HttpRequest) -> bool:
    """Whether a program on this machine asks directly, not a proxy on this machine for somebody else.

    A proxy that adds no header at all, as nginx does unless told otherwise, still passes on the name that the browser
    asked for (without it nobody could log in): so a direct request is one to this machine's own name, too.
    """
    if any(header.startswith(_FORWARDED) for header in request.META):
        return False
    host, _port = split_domain_port(request.get_host())
    return _is_loopback(request.META.get("REMOTE_ADDR", "")) and (host == "localhost" or _is_loopback(host.strip("[]")))


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


# One household or server has at least a /64 of IPv6, and could come from another address with every attempt.
IPV6_PREFIX = 64


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


# The IPv6 addresses that the Internet has handed out, and those in which a network's gateway wraps IPv4 ones (NAT64).
_UNICAST, _WRAPPED = IPv6Network("2000::/3"), IPv6Network("64:ff9b::/96")
# Not of the Internet either; early releases of Python 3.11 do not know it.
_SPECIAL = (ip_network("192.0.0.0/24"), ip_network("3fff::/20"))


def is_public(address: str) -> bool:
    """Whether an IP address is one of the Internet's: not private, local, reserved, of several hosts, or none at all.

    An IPv6 address that leads to an IPv4 one (mapped, NAT64, 6to4) is judged by that.
    """
    found = _parse(address)
    if isinstance(found, IPv6Address):
        found = found.sixtofour or (IPv4Address(found.packed[-4:]) if found in _WRAPPED else found)
    if found is None or (found.version == 6 and found not in _UNICAST):
        return False
    return found.is_global and not found.is_multicast and not any(found in special for special in _SPECIAL)
