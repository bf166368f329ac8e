"""Ask this machine's web process for a path and fail unless it answers 200: the health check of containers.

    python deploy/probe.py PATH [PORT]

It names a host that ``ALLOWED_HOSTS`` allows, since a probe of 127.0.0.1 would be refused where that is not listed.
"""

from __future__ import annotations

import http.client
import os
import sys


def find_host(allowed: str) -> str:
    """Return a host name that `allowed`, the value of ``ALLOWED_HOSTS``, lets in."""
    first = next((name for name in map(str.strip, allowed.split(",")) if name), "127.0.0.1")
    return "127.0.0.1" if first == "*" else first.removeprefix(".")


def probe(path: str, *, port: int) -> int:
    """Return the status of the answer, 0 without one."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=4)
    try:
        connection.request("GET", path, headers={"Host": find_host(os.environ.get("ALLOWED_HOSTS", ""))})
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(probe(sys.argv[1], port=int(sys.argv[2]) if len(sys.argv) > 2 else 8000) != 200)
