"""One try of the playground: a message, somewhere, under some settings, and all that came of it (M6). Reads only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from apps.accounts.models import User
from apps.accounts.types import MemorySettings
from apps.chat.context.read import TurnInput
from apps.chat.context.types import LAYER_NAMES, Context
from apps.chat.inspect.rebuild import try_context
from apps.memory.retrieval.explain.selectors import explain_recall
from apps.memory.retrieval.explain.types import Asked, RecallExplanation
from apps.memory.selectors import QueryEmbedding, embed_query, find_active_model, find_earlier

_MEMORIES = LAYER_NAMES.index("memories")


class Outcome(StrEnum):
    """What became of a memory that was found."""

    USED = "used"
    RANK = "rank"
    UNREMARKABLE = "unremarkable"
    BUDGET = "budget"
    REPEATED = "repeated"
    NOT_ASKED = "not_asked"


class Embedding(StrEnum):
    """Whether the query has a vector, and why it has none."""

    USED = "used"
    NO_MODEL = "no_model"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class Try:
    """What a message gets under `settings`."""

    settings: MemorySettings
    explanation: RecallExplanation
    context: Context

    @property
    def layer(self) -> str:
        """Layer 3 as the model would read it."""
        return self.context.layers[_MEMORIES].content

    @property
    def tokens(self) -> int:
        return self.context.layers[_MEMORIES].tokens

    def find_outcome(self, memory_id: UUID, *, rank: int, limit: int, stands_out: bool = True) -> Outcome:
        """What became of the memory of this place, from 1, in its kind's ranking."""
        if not stands_out:
            return Outcome.UNREMARKABLE
        if str(memory_id) in {memory.id for memory in self.context.memories}:
            return Outcome.USED
        if rank > limit:
            return Outcome.RANK
        cut = {reference for cut in self.context.cut for reference in cut.refs}
        if str(memory_id) in cut:
            return Outcome.BUDGET
        return Outcome.REPEATED if self.context.memories else Outcome.NOT_ASKED


def embed_message(message: str, *, stage: TurnInput) -> tuple[QueryEmbedding | None, Embedding]:
    """The vector of a message, by the same deadline as in a turn (A4), and whether there is one."""
    found = embed_query(message, earlier=find_earlier(message, stage.said))
    if found is not None:
        return found, Embedding.USED
    return None, Embedding.NO_MODEL if find_active_model() is None else Embedding.LATE


def try_message(
    *,
    user: User,
    message: str,
    stage: TurnInput,
    settings: MemorySettings,
    query_embedding: QueryEmbedding | None,
    asked: Asked,
    now: datetime,
) -> Try:
    """Recall for a message as a turn would under `settings`, with the reasons for everything.

    `asked`: what earlier tries of the message have asked the database.
    """
    explanation = explain_recall(
        user=user,
        message=message,
        earlier=find_earlier(message, stage.said),
        settings=settings,
        query_embedding=query_embedding,
        working_memory=stage.working,
        asked=asked,
        rounds_without=stage.shown_ids,
        now=now,
    )
    context = try_context(message=message, stage=stage, settings=settings, recalled=explanation.recalled)
    return Try(settings=settings, explanation=explanation, context=context)
