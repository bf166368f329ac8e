"""Connect model servers, and choose which of their models are used."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import count
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils.translation import gettext_noop

from apps.connections.models import ConnectedModel, ModelKind, ModelServer
from apps.connections.probing import Outcome, try_chat_model, try_embedding_model
from apps.connections.types import MAX_MODELS
from apps.core.db import fetch_prepared
from apps.core.errors import Conflict, InvalidInput, ModelUnavailable, NotFound
from apps.core.llm.client import DEFAULT, Endpoint, Kind
from apps.core.secret_key import UnreadableSecret, decrypt, encrypt

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


@transaction.atomic
def save_server(
    *,
    server_id: UUID | None = None,
    name: str,
    base_url: str,
    api_key: str | None,
    chat: Collection[str],
    embedding: Collection[str],
    kept: Collection[str] = (),
) -> ModelServer:
    """Connect a server, or change a connected one, with exactly these models of it; returns it.

    `api_key`: None leaves the stored one as it is. `chat`, `embedding`: as the server calls its models. `kept`: names
    of embedding models that stored vectors are of, which cannot be given up. A model whose name another server has here
    already is called ``<server>/<model>``. The first chat model that is ever connected becomes the default.

    Raises `NotFound`, `InvalidInput` for another server's name or too many models, `Conflict` about `kept`.
    """
    if len(chat) + len(embedding) > MAX_MODELS:
        raise InvalidInput(f"{MAX_MODELS} models of a server can be used.", fields={"models": "too many"})
    server = ModelServer() if server_id is None else _lock(server_id)
    server.name, server.base_url = name, base_url
    if api_key is not None:
        server.encrypted_key = encrypt(api_key, purpose=KEY_PURPOSE) if api_key else ""
    try:
        with transaction.atomic():
            server.save()
    except IntegrityError:
        raise InvalidInput(gettext_noop("Another server has this name."), fields={"name": "taken"}) from None
    is_first = not ConnectedModel.objects.filter(kind=ModelKind.CHAT).exists()
    _set_models(server, ModelKind.CHAT, chat)
    _set_models(server, ModelKind.EMBEDDING, embedding, kept=kept)
    if is_first and (first := next(iter(chat), None)):
        ConnectedModel.objects.filter(server=server, kind=ModelKind.CHAT, model=first).update(is_default=True)
    return server


@transaction.atomic
def remove_server(*, server_id: UUID, kept: Collection[str] = ()) -> None:
    """Forget a server, its key and its models. Raises `NotFound`, or `Conflict` about `kept` as `save_server` does."""
    server = _lock(server_id)
    _set_models(server, ModelKind.EMBEDDING, (), kept=kept)
    server.delete()


@transaction.atomic
def set_default(*, kind: Kind, model_id: UUID | None) -> None:
    """Make a connected model the default one of its kind; None: that of the environment. Raises `NotFound`."""
    rows = ConnectedModel.objects.filter(kind=kind).select_for_update()
    if model_id is not None and all(row.id != model_id for row in rows):
        raise NotFound("This model is not connected.")
    ConnectedModel.objects.filter(kind=kind, is_default=True).update(is_default=False)
    if model_id is not None:
        ConnectedModel.objects.filter(id=model_id).update(is_default=True)


def try_model(model_id: UUID) -> Outcome:
    """Ask a connected model for one word or one vector. Raises `NotFound`, or `ModelUnavailable` without its key."""
    model = ConnectedModel.objects.select_related("server").filter(id=model_id).first()
    if model is None:
        raise NotFound("This model is not connected.")
    ask = try_chat_model if model.kind == ModelKind.CHAT else try_embedding_model
    return ask(base_url=model.server.base_url, api_key=read_key(model.server), model=model.model)


def _lock(server_id: UUID) -> ModelServer:
    server = ModelServer.objects.select_for_update().filter(id=server_id).first()
    if server is None:
        raise NotFound("This server is not connected.")
    return server


def _set_models(server: ModelServer, kind: ModelKind, wanted: Iterable[str], *, kept: Collection[str] = ()) -> None:
    wanted = list(dict.fromkeys(wanted))
    here = {row.model: row for row in ConnectedModel.objects.filter(server=server, kind=kind)}
    for model, row in here.items():
        if model in wanted:
            continue
        if row.name in kept:
            raise Conflict(
                gettext_noop("Stored embeddings are of a model of this server. Choose another embedding model first.")
            )
        row.delete()
    taken = set(ConnectedModel.objects.filter(kind=kind).values_list("name", flat=True))
    for model in wanted:
        if model not in here:
            ConnectedModel.objects.create(server=server, kind=kind, name=_name(model, server, taken), model=model)


def _name(model: str, server: ModelServer, taken: Collection[str]) -> str:
    names = (f"{server.name}/{model}" + (f" {number}" if number > 1 else "") for number in count(1))
    return model if model not in taken else next(name for name in names if name not in taken)
