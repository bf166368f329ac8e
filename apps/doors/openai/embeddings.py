"""``/v1/embeddings``: what a request asks for, and vectors as OpenAI's API has them (T3, V2, V3)."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from apps.core.llm.embedding import DIMENSIONS, Embedder, Vector, split_text
from apps.core.text.clean import estimate_tokens
from apps.doors.openai.base import ModelNotFound, read_model, refuse

# Names of clients' defaults: they mean the model that embeds here, whatever it is.
STANDS_FOR_ACTIVE = frozenset({"", "text-embedding-3-small"})

# OpenAI's limits: of inputs, of an input, and of all inputs together. Tokens are estimated.
MAX_INPUTS = 2_048
MAX_INPUT_TOKENS = 8_192
MAX_TOKENS = 300_000

_FIELDS = frozenset({"input", "model", "encoding_format", "dimensions", "user", "safety_identifier"})
# How the names of models begin whose vectors mean something when cut off (OpenAI's; Matryoshka embeddings).
_SHORTENED = "text-embedding-3"


@dataclass(frozen=True, slots=True)
class EmbeddingRequest:
    """What is to be embedded. `dimensions`: numbers of each vector. `tokens`: estimated, of all texts."""

    texts: tuple[str, ...]
    dimensions: int
    as_base64: bool
    tokens: int


def read_embedding_request(body: Any, *, active: str) -> EmbeddingRequest:
    """Return what `body` asks for; `active` is the name of the model that embeds here.

    Raises `InvalidInput` naming the parameter, and `ModelNotFound` for another model than the active one.
    """
    if not isinstance(body, Mapping):
        refuse("The body must be a JSON object.", "body")
    for name in body:
        if name not in _FIELDS:
            refuse(f"Unknown parameter: {name!r}.", str(name))
    model = read_model(body)
    texts = _read_texts(body.get("input"))
    encoding = body.get("encoding_format") or "float"
    if encoding not in ("float", "base64"):
        refuse("encoding_format must be float or base64.", "encoding_format")
    dimensions = body.get("dimensions")
    if dimensions is None:
        dimensions = DIMENSIONS
    elif isinstance(dimensions, bool) or not isinstance(dimensions, int) or not 1 <= dimensions <= DIMENSIONS:
        refuse(f"dimensions must be a whole number from 1 to {DIMENSIONS}.", "dimensions")
    tokens = [estimate_tokens(text) for text in texts]
    for at, count in enumerate(tokens):
        if count > MAX_INPUT_TOKENS:
            refuse(f"input[{at}] has about {count} tokens; {MAX_INPUT_TOKENS} are allowed.", "input")
    if sum(tokens) > MAX_TOKENS:
        refuse(f"The inputs have about {sum(tokens)} tokens together; {MAX_TOKENS} are allowed.", "input")
    if model not in STANDS_FOR_ACTIVE and model != active:
        raise ModelNotFound(model)
    return EmbeddingRequest(texts=texts, dimensions=dimensions, as_base64=encoding == "base64", tokens=sum(tokens))


def _read_texts(given: Any) -> tuple[str, ...]:
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts:
        refuse("input must be a string or a list of at least one string.", "input")
    if len(texts) > MAX_INPUTS:
        refuse(f"input has {len(texts)} items; {MAX_INPUTS} are allowed.", "input")
    for at, text in enumerate(texts):
        if isinstance(text, int | list):
            refuse("input must be text: arrays of tokens are not supported, as tokens differ by model.", "input")
        if not isinstance(text, str):
            refuse(f"input[{at}] must be a string.", "input")
        if not text.strip():
            refuse(f"input[{at}] must not be blank.", "input")
    return tuple(texts)


def embed_texts(request: EmbeddingRequest, embedder: Embedder) -> list[Vector]:
    """Return a vector for each text, in order.

    A text longer than the model reads is embedded in parts, whose mean by length it gets. Raises `InvalidInput` for a
    text that the model refuses and for dimensions that it does not have, and `ModelUnavailable`.
    """
    parts = [
        [part for part in split_text(text, max_characters=embedder.max_characters) if part.strip()]
        for text in request.texts
    ]
    found = iter(embedder.embed([part for pieces in parts for part in pieces]))
    vectors: list[Vector] = []
    for at, pieces in enumerate(parts):
        rows = [next(found) for _piece in pieces]
        kept = [(len(piece), row) for piece, row in zip(pieces, rows, strict=True) if row is not None]
        if not kept:
            refuse(f"The embedding model refuses input[{at}].", "input")
        mean = sum(length * row for length, row in kept)
        vectors.append(_shorten(np.asarray(mean, dtype=np.float32), request.dimensions, model=embedder.name))
    return vectors


def _shorten(vector: Vector, dimensions: int, *, model: str) -> Vector:
    """Return the first numbers of a vector, of length 1. A model with fewer than all has zeros at the end (V2)."""
    if vector[dimensions:].any() and not model.startswith(_SHORTENED):
        refuse(f"The vectors of {model} cannot be shortened to {dimensions} dimensions.", "dimensions")
    kept = vector[:dimensions]
    length = np.linalg.norm(kept)
    return np.asarray(kept / length if length > 0 else kept, dtype=np.float32)


def render_embeddings(request: EmbeddingRequest, vectors: Sequence[Vector], *, model: str) -> dict[str, Any]:
    """Return the answer: OpenAI's list of embeddings."""
    data = [
        {
            "object": "embedding",
            "index": at,
            "embedding": _encode_base64(vector) if request.as_base64 else vector.tolist(),
        }
        for at, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": request.tokens, "total_tokens": request.tokens}
    return {"object": "list", "data": data, "model": model, "usage": usage}


def _encode_base64(vector: Vector) -> str:
    """The numbers as 32-bit floats, the lowest byte first."""
    return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")
