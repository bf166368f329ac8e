"""Choose the chat model and the embedder that answer: connected in the panel, or selected by the environment.

Who keeps the connected ones is not known here: ``MODEL_DIRECTORY`` names the function that finds them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, Protocol, cast

from django.conf import settings
from django.utils.module_loading import import_string

from apps.core.errors import ModelUnavailable
from apps.core.llm.embedding import Embedder
from apps.core.llm.reading import read_json_object
from apps.core.llm.types import Blame, ChatModel, ModelRequest, PromptMessage
from apps.core.text.clean import estimate_tokens
from apps.core.tracing import Span, is_on, span

Kind = Literal["chat", "embedding"]

# The key of the model that is asked where none is named.
DEFAULT = ""

ENVIRONMENT = Blame()
CONNECTED = Blame(
    address="its URL (Settings › Models)", key="its API key (Settings › Models)", model="the model's name"
)
CONNECTED_EMBEDDER = replace(CONNECTED, answer="list of embeddings")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model and the server that has it. `name`: what it is called here; `model`: what its server calls it."""

    name: str
    model: str
    base_url: str
    api_key: str = field(repr=False)


class Directory(Protocol):
    """Finds connected models."""

    def __call__(self, kind: Kind, names: Sequence[str]) -> Mapping[str, Endpoint]:
        """Return those of `names` there are, and the default one under `DEFAULT`, if there is one. One query.

        Raises `ModelUnavailable` where the key of one cannot be decrypted.
        """
        ...


def find_endpoints(kind: Kind, *names: str) -> Mapping[str, Endpoint]:
    """Ask the directory; see `Directory`. Not from an event loop."""
    directory = cast(Directory, import_string(settings.MODEL_DIRECTORY))
    return directory(kind, [name for name in names if name])


@contextmanager
def trace_call(
    model: str, *, messages: Sequence[PromptMessage] = (), streamed: bool = False, max_tokens: int | None = None
) -> Iterator[Span]:
    """Trace the block as a call of `model`. A failure has the reason that `ModelUnavailable` tells."""
    name = f"chat {model}".strip()
    with span(name, kind="client", gen_ai__operation__name="chat", gen_ai__request__model=model) as call:
        call.set(gen_ai__request__stream=streamed)
        if max_tokens:
            call.set(gen_ai__request__max_tokens=max_tokens)
        if messages and is_on():
            call.set(jiyi__prompt__estimated_tokens=sum(estimate_tokens(message.content) for message in messages))
        try:
            yield call
        except ModelUnavailable as error:
            call.fail(str(error.fields.get("reason") or error.code))
            raise


OFFLINE = "offline"
# The name of the environment's model while nothing names it: its server lists it when it is first asked.
FROM_ENVIRONMENT = "environment"

# Reasons of failures that more tokens may help.
_CUT_OFF = ("cut_off", "reasoning_limit")


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """Who answers a turn. `other`: another model of the same server, as `ModelRequest.model`; "" for `model` itself."""

    model: ChatModel
    other: str = ""

    @property
    def name(self) -> str:
        """The name that is asked for; "" where the server has not been asked yet what it has."""
        return self.other or self.model.name


def get_chat_model() -> ChatModel:
    """Return the default model: the connected one, else that of the environment. One query; not from an event loop."""
    return choose_chat_model().model


def has_model() -> bool:
    """Whether a model answers that can be asked about anything, and not the offline rules. One query."""
    return get_chat_model().name != OFFLINE


def choose_chat_model(*, asked: str = "", preferred: str = "") -> ChosenModel:
    """Return the model for a turn. One query; not from an event loop.

    `asked`: as a client named it; a name that nobody knows here is one of the default model's server. `preferred`: what
    the session is set to, where a client names none; one that is no longer there counts as none.
    """
    found = find_endpoints("chat", asked, preferred)
    for name in filter(None, (asked, preferred)):
        if name in found:
            return ChosenModel(_connect(found[name]))
        if name == get_environment_name():
            return ChosenModel(get_environment_model())
        if name == asked:
            break
    default = _connect(found[DEFAULT]) if DEFAULT in found else get_environment_model()
    has_others = hasattr(default, "relay")  # without a server every name stands for the model there is
    return ChosenModel(default, other=asked if has_others and asked != default.name else "")


def get_environment_model() -> ChatModel:
    """Return the model that the environment selects: the remote one if there is a key or a base URL, else the rules.

    Reads ``OPENAI_API_KEY``, ``OPENAI_BASE_URL`` and ``CHAT_MODEL``; empty counts as none. The
    same settings give the same object, which keeps its connections. A server calls this once while it starts, so that
    no request waits for the imports.
    """
    return _make_chat_model(
        base_url=settings.OPENAI_BASE_URL.strip(),
        api_key=settings.OPENAI_API_KEY.strip(),
        model=settings.CHAT_MODEL.strip(),
    )


def get_environment_name() -> str:
    """Return what the environment's model is called where one chooses among models."""
    if not settings.OPENAI_BASE_URL.strip() and not settings.OPENAI_API_KEY.strip():
        return OFFLINE
    return settings.CHAT_MODEL.strip() or FROM_ENVIRONMENT


def ask_for_object(request: ModelRequest) -> dict[str, Any]:
    """Return the JSON object that the model answers `request` with: for background work, outside any event loop.

    The answer may have ``BACKGROUND_MAX_TOKENS`` tokens; one that was cut off there is asked for once more, with twice
    as many, so that nothing is lost without a word. Words around the one object with the keys of the request's schema
    do not matter. Raises `ModelUnavailable` as `ChatModel.stream` does, with the
    reason ``cut_off`` where that was not enough either, and with ``bad_answer`` for anything but valid JSON: what had
    to be guessed must not be remembered (E5).
    """
    model = get_chat_model()
    limit = request.max_tokens or settings.BACKGROUND_MAX_TOKENS
    keys = request.response_format.schema.get("properties", {}) if request.response_format else {}
    for tokens in (limit, limit and limit * 2):
        with trace_call(model.name, messages=request.messages, max_tokens=tokens):
            text, cut_off = asyncio.run(_complete(model, replace(request, max_tokens=tokens, whole=True)))
        result = read_json_object(text, keys=keys)
        if result.value is not None and not result.repaired:
            return result.value
        if cut_off is None:
            raise ModelUnavailable("The model's answer is not the requested JSON.", fields={"reason": "bad_answer"})
    assert cut_off is not None
    raise cut_off


async def _complete(model: ChatModel, request: ModelRequest) -> tuple[str, ModelUnavailable | None]:
    """Return the answer and, where it reached its limit, the error that says so."""
    pieces: list[str] = []
    try:
        async for piece in model.stream(request):
            pieces.append(piece)  # noqa: PERF401 - what came before an error is wanted, too
    except ModelUnavailable as error:
        if error.fields.get("reason") not in _CUT_OFF:
            raise
        return "".join(pieces), error
    return "".join(pieces), None


def _connect(endpoint: Endpoint) -> ChatModel:
    return _make_chat_model(
        base_url=endpoint.base_url,
        api_key=endpoint.api_key,
        model=endpoint.model,
        called=endpoint.name,
        blame=CONNECTED,
    )


@lru_cache(maxsize=64)
def _make_chat_model(
    *, base_url: str, api_key: str, model: str, called: str = "", blame: Blame = ENVIRONMENT
) -> ChatModel:
    # Imported here as each takes long to import (OpenAI's library 0.7 s), and a process needs one of them at most.
    if base_url or api_key:
        from apps.core.llm.openai import OpenAIChatModel

        return OpenAIChatModel(base_url=base_url, api_key=api_key, model=model, called=called, blame=blame)
    offline: type[ChatModel] = import_string(settings.OFFLINE_CHAT_MODEL)
    return offline()


LOCAL = "local"
# The embedder where there is a key for OpenAI and nothing else is said (V2).
OPENAI_MODEL = "text-embedding-3-small"


def get_embedder_name() -> str:
    """Return the name of the chosen embedder: the connected one, else the environment's. One query; loads nothing."""
    found = find_endpoints("embedding")
    return found[DEFAULT].name if DEFAULT in found else get_environment_embedder_name()


def is_local(embedder: str) -> bool:
    """Whether the embedder of this name runs in this process."""
    return embedder.startswith(f"{LOCAL}/")


def get_environment_embedder_name() -> str:
    """Return the name of the embedder that the environment selects; loads nothing."""
    name: str = settings.EMBEDDING_MODEL.strip()
    elsewhere = settings.EMBEDDING_BASE_URL.strip() or settings.OPENAI_BASE_URL.strip()
    if not name and settings.OPENAI_API_KEY.strip() and not elsewhere:
        return OPENAI_MODEL
    if not name or name == LOCAL:
        from apps.core.llm.embedding_local import LOCAL_NAME

        return LOCAL_NAME
    return name


def get_embedder(name: str | None = None) -> Embedder:
    """Return the embedder of that name; without one, the chosen one. One query, unless it is a local one by name.

    The same name and settings give the same object, which keeps what it loaded. Raises `ModelUnavailable` for a model
    that is not connected, where the environment has neither a key nor an address.
    """
    if name is None or not is_local(name):
        found = find_endpoints("embedding", name or "")
        endpoint = found.get(name or DEFAULT)
        if endpoint is not None:
            return _connect_embedder(
                endpoint.name, asks_for=endpoint.model, base_url=endpoint.base_url, api_key=endpoint.api_key
            )
    return _make_embedder(
        name or get_environment_embedder_name(),
        base_url=settings.EMBEDDING_BASE_URL.strip() or settings.OPENAI_BASE_URL.strip(),
        api_key=settings.OPENAI_API_KEY.strip(),
    )


@lru_cache(maxsize=8)
def _connect_embedder(name: str, *, asks_for: str, base_url: str, api_key: str) -> Embedder:
    from apps.core.llm.embedding_openai import OpenAIEmbedder

    return OpenAIEmbedder(model=name, asks_for=asks_for, base_url=base_url, api_key=api_key, blame=CONNECTED_EMBEDDER)


@lru_cache(maxsize=8)
def _make_embedder(name: str, *, base_url: str, api_key: str) -> Embedder:
    # Imported here as each takes long to import, and a process needs one of them at most.
    if is_local(name):
        from apps.core.llm.embedding_local import LOCAL_NAME, LocalEmbedder

        if name != LOCAL_NAME:
            message = f'There is no local embedder "{name}"; "{LOCAL}" is {LOCAL_NAME}. Check EMBEDDING_MODEL.'
            raise ModelUnavailable(message, fields={"reason": "no_model"})
        return LocalEmbedder()
    if not base_url and not api_key:
        message = f'The embedding model "{name}" needs OPENAI_API_KEY or EMBEDDING_BASE_URL.'
        raise ModelUnavailable(message, fields={"reason": "no_model"})
    from apps.core.llm.embedding_openai import OpenAIEmbedder

    return OpenAIEmbedder(model=name, base_url=base_url, api_key=api_key)


def warm_up() -> None:
    """Load the local embedder, if the environment selects it, so that no request waits for it (it takes a second)."""
    name = get_environment_embedder_name()
    if is_local(name):
        get_embedder(name).embed(["."])
