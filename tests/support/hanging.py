"""A server that hangs: it takes connections, and nobody is answered."""

from __future__ import annotations

import socket
import threading


class HangingServer:
    """Takes connections, counts them and never says a word."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"
        self._held: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                self._held.append(self._listener.accept()[0])
            except OSError:
                return

    @property
    def asked(self) -> int:
        return len(self._held)

    def close(self) -> None:
        """Be gone: who connects is refused."""
        if self._thread.is_alive():
            self._listener.shutdown(socket.SHUT_RDWR)
            self._thread.join(10)
        self._listener.close()
        for held in self._held:
            held.close()
