"""Where an application may have people sent back to (RFC 8252, RFC 9700). Pure."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
APP_SCHEMES = frozenset({"cursor", "vscode", "vscode-insiders", "windsurf", "zed", "claude", "jiyi"})
"""Schemes of known applications that do not follow RFC 8252, which asks for a domain name turned round."""

MAX_URI_CHARACTERS = 2_000

_PRINTABLE = re.compile(r"[\x21-\x7e]+")
_OWN_SCHEME = re.compile(r"[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+")


def find_redirect_problem(uri: object) -> str | None:
    """Return why a redirect URI is not acceptable, None where it is.

    Acceptable are https, http of this very machine (any port then matches), and schemes of an application's own, such
    as ``com.example.app:/callback``.
    """
    if not isinstance(uri, str) or not _PRINTABLE.fullmatch(uri) or len(uri) > MAX_URI_CHARACTERS:
        return f"A redirect URI must be printable ASCII of at most {MAX_URI_CHARACTERS:,} characters."
    try:
        parts = urlsplit(uri)
        host = parts.hostname
        _port = parts.port
    except ValueError:
        return "A redirect URI must be a valid URI."
    if "#" in uri or "@" in parts.netloc or "\\" in uri:
        return "A redirect URI must have no fragment, no credentials and no backslash."
    if parts.scheme == "https":
        return None if host else "A redirect URI with https must have a host."
    if parts.scheme == "http":
        return None if host in LOOPBACK else "A redirect URI with http must be one of this machine: use https."
    if parts.scheme in APP_SCHEMES or _OWN_SCHEME.fullmatch(parts.scheme):
        return None
    return "A redirect URI must use https, http on localhost, or a scheme of the application's own."


def describe_target(uri: str) -> tuple[str, bool]:
    """Return where a redirect URI leads, for people (its host, or its scheme), and whether that is on their device."""
    parts = urlsplit(uri)
    if parts.scheme in ("http", "https"):
        return parts.netloc, parts.hostname in LOOPBACK
    return f"{parts.scheme}:", True
