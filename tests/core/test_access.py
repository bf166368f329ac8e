"""Where a request comes from (a header of the client's own making is never believed), and where one may go."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest
from django.test import RequestFactory

from apps.core.access import get_client_address, get_client_network, is_public


@pytest.mark.parametrize(
    ("proxies", "noted", "expected"),
    [
        (0, "203.0.113.9", "127.0.0.1"),
        (1, "203.0.113.9", "203.0.113.9"),
        (1, "1.2.3.4, 203.0.113.9", "203.0.113.9"),
        (2, "1.2.3.4, 203.0.113.9, 10.0.0.2", "203.0.113.9"),
        (2, "203.0.113.9", "127.0.0.1"),
        (1, "203.0.113.9:4711", "203.0.113.9"),
        (1, "[2001:db8::1]:4711", "2001:db8::1"),
        (1, "::ffff:203.0.113.9", "203.0.113.9"),
        (1, "mallory", "127.0.0.1"),
        (1, "", "127.0.0.1"),
    ],
)
def test_the_client_stands_as_many_places_from_the_right_as_there_are_proxies(settings, proxies, noted, expected):
    settings.TRUSTED_PROXIES = proxies
    assert get_client_address(RequestFactory().get("/", headers={"X-Forwarded-For": noted})) == expected


def test_addresses_of_one_household_are_counted_together():
    request = RequestFactory().get("/", REMOTE_ADDR="2001:db8:1:2:3:4:5:6")
    assert get_client_network(request) == "2001:db8:1:2::"
    assert get_client_address(request) == "2001:db8:1:2:3:4:5:6"


def test_a_unix_socket_has_no_address():
    assert get_client_network(RequestFactory().get("/", REMOTE_ADDR="")) is None


PUBLIC = ["1.1.1.1", "93.184.216.34", "223.5.5.5", "2606:4700::1111", "2400:3200::1"]
NOT_PUBLIC = {
    "loopback": ["127.0.0.1", "127.255.255.254", "::1"],
    "unspecified": ["0.0.0.0", "0.1.2.3", "::"],
    "private": ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fd12:3456::1"],
    "link-local, where clouds keep credentials": ["169.254.169.254", "fe80::1", "fe80::1%eth0"],
    "of a provider's network": ["100.64.0.1", "100.127.255.255"],
    "for documents and measurements": ["192.0.2.1", "203.0.113.9", "198.18.0.1", "2001:db8::1", "3fff::1"],
    "multicast and broadcast": ["224.0.0.1", "239.255.255.250", "255.255.255.255", "ff02::1", "ff0e::1"],
    "reserved": ["240.0.0.1", "192.0.0.8", "fec0::1", "100::1", "4000::1", "64:ff9b:1::1"],
    "tunnels that end who knows where": ["2001:0:4136:e378:8000:63bf:3fff:fdd2", "::127.0.0.1", "::93.184.216.34"],
    "no address": ["", "localhost", "1.2.3", "::g"],
}


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_of_the_internet_is_public_however_it_is_wrapped(address):
    assert is_public(address)
    if "." in address:
        assert all(map(is_public, wrap(address)))


@pytest.mark.parametrize("address", [address for addresses in NOT_PUBLIC.values() for address in addresses])
def test_any_other_address_is_not_public_however_it_is_wrapped(address):
    assert not is_public(address)
    if address.count(".") == 3 and ":" not in address:
        assert not any(map(is_public, wrap(address)))


def wrap(address):
    """The IPv6 addresses that lead to an IPv4 one: mapped, through NAT64, and 6to4."""
    first, second = (f"{int(IPv4Address(address)) >> bits & 0xFFFF:x}" for bits in (16, 0))
    return f"::ffff:{address}", f"64:ff9b::{address}", f"2002:{first}:{second}::1"
