"""Hosts with networks of their own: namespaces of Linux on a bridge, whose cables are pulled and put back."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.networks import Host, Network

# Kept for trials of networks (RFC 2544), so nobody is here.
ADDRESSES = "198.18.0.0/15"


class Bridge:
    """Adds hosts to a network that have an address of their own, and reach each other and us over a bridge."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.name = f"jy{os.getpid()}"
        self.hosts: dict[str, Host] = {}
        self._prefix = f"198.{18 + os.getpid() % 2}.{os.getpid() // 2 % 256}"
        run_ip("link", "add", self.name, "type", "bridge")
        run_ip("address", "add", f"{self._prefix}.1/24", "dev", self.name)
        run_ip("link", "set", self.name, "up")

    def make_host(self, name: str, *, user: str = "") -> Host:
        """Add a host, whose processes run as `user`, or as an account of its own that has no name."""
        number = len(self.hosts) + 2
        namespace, cable, address = f"{self.name}-{number}", f"{self.name}v{number}", f"{self._prefix}.{number}"
        run_ip("netns", "add", namespace)
        self.hosts[cable] = host = self.network.make_host(name, user=user, address=address, namespace=namespace)
        run_ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        run_ip("link", "set", cable, "master", self.name, "up")
        run_ip("-netns", namespace, "address", "add", f"{address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            run_ip("-netns", namespace, "link", "set", device, "up")
        return host

    def cut(self, host: Host, *, off: list[Host] | None = None) -> None:
        """Take the network from a host, or only what it sends to the hosts `off`: nobody is told."""
        if off is None:
            run_ip("link", "set", self._find_cable(host), "down")
        for other in off or ():
            run_ip("-netns", host.namespace, "route", "add", "blackhole", f"{other.address}/32")

    def mend(self, host: Host, *, off: list[Host] | None = None) -> None:
        """Undo `cut`."""
        if off is None:
            run_ip("link", "set", self._find_cable(host), "up")
        for other in off or ():
            run_ip("-netns", host.namespace, "route", "delete", "blackhole", f"{other.address}/32")

    def _find_cable(self, host: Host) -> str:
        return next(cable for cable, other in self.hosts.items() if other is host)

    def close(self) -> None:
        """End all hosts and take the network away."""
        for cable, host in self.hosts.items():
            host.close()
            # What a connection has still to send keeps a namespace for a while, with its cable: so that goes first.
            run_ip("link", "delete", cable)
            run_ip("netns", "delete", host.namespace)
        run_ip("link", "delete", self.name)


@contextmanager
def make_bridge(network: Network) -> Iterator[Bridge]:
    """A bridge that is gone with its hosts after the block; skips the test where there can be none."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("network namespaces need root on Linux")
    try:
        run_ip("netns", "add", tried := f"jy{os.getpid()}-tried")
        run_ip("netns", "delete", tried)
        bridge = Bridge(network)
    except (OSError, RuntimeError) as error:
        pytest.skip(f"network namespaces cannot be made here: {error}")
    try:
        yield bridge
    finally:
        bridge.close()


def run_ip(*arguments: str) -> None:
    """Run the program ip of Debian's iproute2."""
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
