"""What a real server evaluates of the prompts of a long conversation, by its own count (C4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import httpx2
import pytest

from apps.core.llm.types import PromptMessage
from benchmarks.prompt_cache import put_in_order, talk
from tests.support.factories import UserFactory
from tests.support.llama import run_llama

pytestmark = [pytest.mark.llm, pytest.mark.long, pytest.mark.django_db(transaction=True), pytest.mark.timeout(3_600)]

FIRST, LAST = 20, 30
# Twice what other tests need: the prompts with all layers in order are nearly as long.
CONTEXT_TOKENS = 8_192


@pytest.mark.spec("C4")
def test_a_server_evaluates_less_than_with_the_layers_in_order() -> None:
    contexts = list(talk(UserFactory.create(), "en", turns=LAST))[FIRST - 2 :]
    with run_llama(context_tokens=CONTEXT_TOKENS) as base_url:
        in_order = count_evaluated(base_url, map(put_in_order, contexts))
        sent = count_evaluated(base_url, [context.messages for context in contexts])
    print(f"prompt tokens evaluated in turns {FIRST} to {LAST}: with layers in order {in_order}, as sent {sent}")
    assert sum(sent) <= sum(in_order) * 0.42


def count_evaluated(base_url: str, prompts: Iterable[Sequence[PromptMessage]]) -> list[int]:
    """Return how many prompt tokens the server evaluated for each prompt but the first, which fills its cache."""
    evaluated = []
    for prompt in prompts:
        messages = [{"role": message.role, "content": message.content} for message in prompt]
        body = {"messages": messages, "max_tokens": 1, "id_slot": 0}
        answer = httpx2.post(f"{base_url}/chat/completions", json=body, timeout=600).raise_for_status().json()
        evaluated.append(answer["timings"]["prompt_n"])
    return evaluated[1:]
