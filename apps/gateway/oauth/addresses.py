"""Where this server is, as clients see it: the issuer of tokens, and the resources that they are for."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest

MCP_PATH = "/mcp"
RESOURCE_METADATA_PATH = "/.well-known/oauth-protected-resource"


def get_base_url(request: HttpRequest) -> str:
    """Return `PUBLIC_URL`, or else scheme and host of the request, without a slash at the end."""
    return settings.PUBLIC_URL or f"{request.scheme}://{request.get_host()}"


def list_resources(base_url: str) -> tuple[str, ...]:
    """What a token can be for: everything here, or MCP alone (RFC 8707). The same with a slash counts, too."""
    return (base_url, f"{base_url}/", f"{base_url}{MCP_PATH}", f"{base_url}{MCP_PATH}/")


def get_resource_metadata_url(base_url: str) -> str:
    """Where the metadata of the MCP server is, as RFC 9728 derives it from the address of the resource."""
    return f"{base_url}{RESOURCE_METADATA_PATH}{MCP_PATH}"
