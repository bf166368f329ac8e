"""Any OpenAI-compatible server as an `Embedder`: OpenAI, Ollama, vLLM, llama.cpp (V2, V3).

Texts go in requests of at most 100. A request that the server refuses is halved until the text is found that it will
not have: the others get their vectors. That text is halved, too, as it may be too long for the model, and has the mean
of its parts. What passes (no connection, 5xx, 429) is tried again, a few times.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import httpx2
import structlog
from openai import OpenAI

from apps.core.llm.connecting import make_client
from apps.core.llm.embedding import DIMENSIONS, BadVector, Vector, average, fit, split_text
from apps.core.llm.failures import Failure, describe_failure, show_address
from apps.core.llm.metering import measure, read_usage
from apps.core.llm.openai import Retries
from apps.core.llm.types import Blame
from apps.core.llm.wire import DEFAULT_BASE_URL

BATCH = 100
RETRIES = Retries()
BLAME = Blame(address="EMBEDDING_BASE_URL", model="EMBEDDING_MODEL", answer="list of embeddings")

# Answers that may be about one of the texts. 401 or 404 are about all of them.
_REFUSED_TEXT = (400, 413, 422)

# Characters of a text that is not halved any more: what is refused then is not its length.
_SHORTEST = 250

logger = structlog.get_logger(__name__)


class OpenAIEmbedder:
    """An embedding model behind an OpenAI-compatible HTTP interface. Cheap to make; connections are kept.

    `base_url`: with its ``/v1``; "" is OpenAI's. `model`: what its vectors are stored under; `asks_for`: what the
    server calls it, if not that. `blame`: what an error tells to check. `seconds`: for one call with all its
    requests and attempts. `sleep`: waits between attempts.
    """

    local = False
    dimensions: int | None = None  # of its vectors, once it has answered
    max_characters = 4_000
    min_similarity = 0.4

    def __init__(
        self,
        *,
        model: str,
        base_url: str = "",
        api_key: str = "",
        asks_for: str = "",
        blame: Blame = BLAME,
        seconds: float = 120.0,
        retries: Retries = RETRIES,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = model
        self._model = asks_for or model
        self._blame = blame
        self._base_url = base_url or DEFAULT_BASE_URL
        self._api_key = api_key
        self._seconds = seconds
        self._retries = retries
        self._sleep = sleep
        self._client = OpenAI(
            api_key=api_key or "none",  # the library insists on one; servers without keys ignore it
            base_url=self._base_url,
            max_retries=0,
            http_client=make_client(),
        )
        weakref.finalize(self, self._client.close)

    @property
    def server(self) -> str:
        """The base URL as it may be shown: without user name, password and query."""
        return show_address(self._base_url)

    def close(self) -> None:
        """Close the connections; for who asks once."""
        self._client.close()

    def focus(self, vector: Vector) -> Vector:
        """Return the vector as it is: larger models tell questions apart by what they ask."""
        return vector

    def embed(self, texts: Sequence[str], *, seconds: float | None = None) -> list[Vector | None]:
        """Return a vector for each text; see `Embedder.embed`."""
        deadline = time.monotonic() + (self._seconds if seconds is None else seconds)
        vectors: list[Vector | None] = []
        try:
            for start in range(0, len(texts), BATCH):
                vectors += self._embed(list(texts[start : start + BATCH]), deadline)
        except Failure as failure:
            raise failure.as_error() from None
        return vectors

    def _embed(self, texts: list[str], deadline: float) -> list[Vector | None]:
        """Embed one request's worth of texts, and where the server refuses it each half of them, or of the one."""
        try:
            return self._ask(texts, deadline)
        except Failure as failure:
            if failure.status not in _REFUSED_TEXT and failure.reason != "too_long":
                raise
            if len(texts) == 1:
                if len(texts[0]) >= 2 * _SHORTEST:
                    parts = split_text(texts[0], max_characters=(len(texts[0]) + 1) // 2)
                    return [average(self._embed(parts, deadline))]
                logger.warning("text_refused_by_embedding_model", model=self.name, status=failure.status)
                return [None]
        middle = len(texts) // 2
        return self._embed(texts[:middle], deadline) + self._embed(texts[middle:], deadline)

    def _ask(self, texts: list[str], deadline: float) -> list[Vector | None]:
        """Send one request, again where it may help. Raises `Failure`."""
        attempt = 1
        while True:
            try:
                with measure("embedding", model=self.name, sent=lambda: texts) as meter:
                    answer = self._post(texts, deadline)
                    meter.hear("", read_usage(answer))
                    return self._read(answer, count=len(texts))
            except Failure as caught:
                failure = caught
            delay = self._retries.get_delay(failure, attempt=attempt)
            if delay is None or time.monotonic() + delay >= deadline:
                raise failure
            logger.info("embedding_failed", model=self.name, reason=failure.reason, seconds=round(delay, 1))
            self._sleep(delay)
            attempt += 1

    def _post(self, texts: list[str], deadline: float) -> object:
        body: dict[str, Any] = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._model.startswith("text-embedding-3"):
            body["dimensions"] = DIMENSIONS  # the large one has more than can be stored
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            raise describe_failure(TimeoutError(), server=self.server, secret=self._api_key, blame=self._blame)
        timeout = httpx2.Timeout(seconds, connect=min(seconds, 5.0))
        try:
            # Not embeddings.create: it asks for base64 and makes a model object of every vector.
            return self._client.post("/embeddings", cast_to=object, body=body, options={"timeout": timeout})
        except Exception as error:
            raise describe_failure(error, server=self.server, secret=self._api_key, blame=self._blame) from None

    def _read(self, answer: object, *, count: int) -> list[Vector | None]:
        """Return the vectors of an answer in the order of the texts; None for one that is none, if others are."""
        try:
            by_index = {row["index"]: row["embedding"] for row in answer["data"]}  # type: ignore[index]
            rows = [by_index[index] for index in range(count)]
            more = len(answer["data"]) - count  # type: ignore[index]
        except (TypeError, KeyError):
            more = -1
        if more:
            message = (
                f"What the server at {self.server} sent is no list of {count} embeddings. Check {self._blame.address}."
            )
            raise Failure("bad_answer", message)
        vectors: list[Vector | None] = []
        problem, length = "", 0
        for row in rows:
            try:
                [vector] = fit([row])
                if length not in (0, len(row)):
                    raise BadVector(f"A vector has {len(row)} dimensions, those before have {length}.")
            except BadVector as error:
                vectors.append(None)
                problem = str(error)
            else:
                self.dimensions = length = len(row)
                vectors.append(vector)
        if all(vector is None for vector in vectors):
            raise Failure("bad_answer", f'The embedding model "{self.name}": {problem}')
        return vectors
