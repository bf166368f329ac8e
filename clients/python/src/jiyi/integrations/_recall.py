"""What the adapters have in common: recalling memories of both kinds, and messages that the server takes."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice, zip_longest
from typing import Any

from jiyi._client import AsyncJiyi, Jiyi
from jiyi._decoding import to_readable
from jiyi.errors import APIError, ConnectionFailed, JiyiError, Throttled
from jiyi.resources.conversations import PastMessage
from jiyi.types import ScoredAtomic, ScoredMemory

# Characters that a message may have.
MAX_CONTENT = 32_000
# Messages that one recording may have.
MAX_RECORDED = 1_000
# An application that a person waits for waits so long for its memory, and then goes on without it.
WAIT_SECONDS = 5.0
# Recordings that are kept while the server does not answer; the oldest are lost beyond that.
MAX_UNRECORDED = 200

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recalled:
    """A memory as other libraries see one: a text, and what is known about it."""

    id: str
    text: str
    metadata: dict[str, Any]


def recall(client: Jiyi, query: str, *, limit: int) -> list[Recalled]:
    """Return what a query recalls; nothing where the server does not answer in time: the caller goes on without."""
    quick = client.with_options(timeout=WAIT_SECONDS / 2, retries=0)
    try:
        return merge(quick.long_term.search(query, limit=limit), quick.atomic.search(query, top_n=limit), limit=limit)
    except JiyiError as error:
        warn_or_raise(error, "Nothing is recalled")
        return []


async def recall_async(client: AsyncJiyi, query: str, *, limit: int) -> list[Recalled]:
    """Do as `recall` does."""
    quick = client.with_options(timeout=WAIT_SECONDS / 2, retries=0)
    try:
        long_term = await quick.long_term.search(query, limit=limit)
        return merge(long_term, await quick.atomic.search(query, top_n=limit), limit=limit)
    except JiyiError as error:
        warn_or_raise(error, "Nothing is recalled")
        return []


class Recorder:
    """Records in order; what the server did not take for a while waits for the next time. For several threads."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], object]] = deque(maxlen=MAX_UNRECORDED)
        self._lock = threading.Lock()

    def record(self, client: Jiyi, act: Callable[[Jiyi], object]) -> None:
        """Do `act` with a client of short patience, after all that waits."""
        quick = client.with_options(timeout=WAIT_SECONDS, retries=0)
        with self._lock:
            self._waiting.append(partial(act, quick))
            while self._waiting:
                try:
                    self._waiting[0]()
                except JiyiError as error:
                    if is_refused(error):
                        self._waiting.popleft()
                    if not is_passing(error):
                        raise
                    logger.warning("Jiyi does not answer: %d recordings wait. %s", len(self._waiting), error)
                    return
                self._waiting.popleft()


def warn_or_raise(error: JiyiError, what: str) -> None:
    """A wrong token or URL is said aloud; what passes is not worth the caller's answer."""
    if not is_passing(error):
        raise error
    logger.warning("%s: %s", what, error)


def is_passing(error: JiyiError) -> bool:
    """Whether the same request may go well later."""
    return isinstance(error, ConnectionFailed | Throttled) or (isinstance(error, APIError) and error.status >= 500)


def is_refused(error: JiyiError) -> bool:
    """Whether the request itself is what the server does not take: it would refuse it again."""
    return isinstance(error, APIError) and error.status in (400, 404, 409, 413, 422)


def merge(long_term: Iterable[ScoredMemory], atomic: Iterable[ScoredAtomic], *, limit: int) -> list[Recalled]:
    """Return the best of both kinds in turn: their scores cannot be compared, their ranks can."""
    pairs = zip_longest(map(_read_long_term, long_term), map(_read_atomic, atomic))
    return [*islice((memory for pair in pairs for memory in pair if memory is not None), limit)]


def cut(text: str) -> str:
    """Return as much of a text as a message may have."""
    return text[:MAX_CONTENT]


def in_portions(messages: list[PastMessage]) -> Iterator[list[PastMessage]]:
    """Yield messages in portions that the server takes at once."""
    for start in range(0, len(messages), MAX_RECORDED):
        yield messages[start : start + MAX_RECORDED]


def _read_long_term(found: ScoredMemory) -> Recalled:
    memory = found.memory
    return Recalled(
        id=memory.id,
        text=f"{memory.key}: {to_readable(memory.value)}",
        metadata={
            "kind": "long_term",
            "score": found.score,
            "category": memory.category,
            "confidence": memory.confidence,
            "created_at": memory.created_at.isoformat(),
        },
    )


def _read_atomic(found: ScoredAtomic) -> Recalled:
    memory = found.memory
    return Recalled(
        id=memory.id,
        text=memory.content,
        metadata={
            "kind": "atomic",
            "score": found.score,
            "tags": memory.tags,
            "created_at": memory.timestamp.isoformat(),
        },
    )
