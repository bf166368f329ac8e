"""The span of a call of a chat model, by OpenTelemetry's conventions for generative AI; never a word of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from apps.core.errors import ModelUnavailable
from apps.core.llm.types import PromptMessage
from apps.core.text.tokens import estimate_tokens
from apps.core.tracing import Span, is_on, span


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
