"""Where a request comes from: a header of the client's own making is never believed."""

from __future__ import annotations

import pytest
from django.test import RequestFactory

from apps.core.access import get_client_address, get_client_network


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
