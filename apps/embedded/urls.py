"""Addresses of the embedded servers. They depend on the data folder alone, so every process finds the same ones."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from apps.embedded.layout import DataLayout

DATABASE_NAME = "jiyi"
DATABASE_ROLE = "jiyi"


def database_url(data_dir: Path | str) -> str:
    """URL of the embedded PostgreSQL as libpq reads it: the socket's folder, percent-encoded, is the host."""
    host = quote(str(DataLayout.at(data_dir).sockets), safe="")
    return f"postgresql://{DATABASE_ROLE}@{host}/{DATABASE_NAME}"


def redis_url(data_dir: Path | str) -> str:
    """URL of the embedded Valkey as redis-py (and Django's cache) reads it: ``unix://<path of the socket>``."""
    return f"unix://{quote(str(valkey_socket(DataLayout.at(data_dir))))}"


def broker_url(redis_url: str) -> str:
    """The same server as Celery wants it written.

    ``unix:///path?db=1`` is ``redis+socket:///path?virtual_host=1`` there; other schemes mean the same to both.
    """
    parts = urlsplit(redis_url)
    if parts.scheme != "unix":
        return redis_url
    database = parse_qs(parts.query).get("db", ["0"])[0]
    return f"redis+socket://{parts.path}?{urlencode({'virtual_host': database})}"


def valkey_socket(layout: DataLayout) -> Path:
    """The unix socket on which the embedded Valkey listens."""
    return layout.sockets / "valkey.sock"
