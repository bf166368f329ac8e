"""Reading what is connected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apps.connections.models import ConnectedModel, ModelKind, ModelServer
from apps.core.db import fetch_prepared
from apps.core.errors import ModelUnavailable
from apps.core.llm.client import DEFAULT, Endpoint, Kind
from apps.core.secret_key import UnreadableSecret, decrypt

KEY_PURPOSE = "model_server_key"

FIND = """
SELECT connected_model.name, model, is_default, base_url, encrypted_key
FROM connected_model JOIN model_server ON model_server.id = server_id
WHERE kind = %(kind)s AND (is_default OR connected_model.name = ANY(%(names)s::text[]))
"""


def find_endpoints(kind: Kind, names: Sequence[str]) -> Mapping[str, Endpoint]:
    """Return connected models by name, and the default one; see `apps.core.llm.client.Directory`. One query."""
    found: dict[str, Endpoint] = {}
    for name, model, is_default, base_url, encrypted in fetch_prepared(FIND, {"kind": kind, "names": list(names)}):
        endpoint = Endpoint(name=name, model=model, base_url=base_url, api_key=_read_key(encrypted, name=name))
        found[name] = endpoint
        if is_default:
            found[DEFAULT] = endpoint
    return found


def read_key(server: ModelServer) -> str:
    """Return the server's API key, "" where it has none. Raises `ModelUnavailable` where it cannot be decrypted."""
    return _read_key(server.encrypted_key, name=server.name)


def list_servers() -> list[ModelServer]:
    """Return all servers with their `models`, by name. Two queries."""
    return list(ModelServer.objects.prefetch_related("models"))


def list_chat_models() -> list[ConnectedModel]:
    """What one may choose from for a conversation, with their servers, by name. One query."""
    return list(ConnectedModel.objects.filter(kind=ModelKind.CHAT).select_related("server").order_by("name"))


def _read_key(encrypted: str, *, name: str) -> str:
    try:
        return decrypt(encrypted, purpose=KEY_PURPOSE) if encrypted else ""
    except UnreadableSecret:
        message = f'The stored API key of "{name}" was encrypted under another SECRET_KEY. Enter it again.'
        raise ModelUnavailable(message, fields={"reason": "refused", "status": 401}) from None
