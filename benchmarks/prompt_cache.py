"""How much of a turn's prompt a model's server has seen before: the share that equals the last prompt's beginning (C4).

    python -m benchmarks.prompt_cache [--turns 30] [--json FILE]

Two people, one in each language, with a profile, memories, and summaries of earlier conversations, talk for a while: a
turn every two minutes, each about something else, so that other memories are recalled, and replies of 800 characters.
What workers learn and summarise is done after each turn, by the offline model. *Layers in order* is the same prompt
with all layers in the system message by their numbers, as it was before.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import count, islice, pairwise, takewhile
from operator import eq
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from rich.table import Table

from benchmarks.running import make_console, run_in_new_data_folder
from benchmarks.sentences import LANGUAGES, make_question, make_sentence
from benchmarks.turn_overhead import create_memories, create_messages

if TYPE_CHECKING:
    from apps.chat.context.types import Context
    from apps.core.llm.types import PromptMessage

REPLY_CHARACTERS = 800
MEMORIES, MESSAGES = 100, 200


def talk(user: Any, language: str, *, turns: int) -> Iterator[Context]:
    """Yield the context of each turn of a long conversation; each turn is stored, and workers do what it leaves."""
    from django.utils import timezone

    from apps.chat.emotions import Emotion
    from apps.chat.prompts import Analysis
    from apps.chat.turn.close import close_turn
    from apps.chat.turn.open import open_message_turn
    from apps.conversations.sessions import create_session
    from apps.extraction.tasks import embed, extract, summarize

    numbers = count(LANGUAGES.index(language), len(LANGUAGES))
    sentences = map(make_sentence, numbers)
    _prepare(user, sentences)
    session, began = create_session(user=user), timezone.now() - timedelta(minutes=2 * turns)
    for turn_number in range(turns):
        now = began + timedelta(minutes=2 * turn_number)
        question = make_question(next(numbers))
        content = f"{question} {next(sentences)}"
        turn = open_message_turn(user=user, session_id=session.id, content=content, idempotency_key=None, now=now)
        yield turn.context
        felt = list(turn.given.table.values())[turn_number % len(turn.given.table)]
        emotion = Emotion(primary=felt.emotion, category=felt.category, confidence=0.9, indicators=())
        analysis = Analysis(emotion=emotion, topic=question[:20], variables={"turn": turn_number}, entries=())
        reply = " ".join(islice(sentences, 50))[:REPLY_CHARACTERS]
        close_turn(turn, reply_id=uuid4(), reply=reply, analysis=analysis, model="", timings={}, now=now)
        for task in (embed, extract, summarize):
            task.apply().get()


def _prepare(user: Any, sentences: Iterator[str]) -> None:
    """Give a new user a profile, memories of both kinds, and earlier conversations with their summaries."""
    from django.utils import timezone

    from apps.conversations.models import Session
    from apps.memory.lifecycle import create_atomic_memories
    from apps.memory.types import AtomicDraft
    from apps.profile.services import update_profile
    from apps.summaries.services import create_session_summary

    now = timezone.now()
    update_profile(user=user, changes={"background": " ".join(islice(sentences, 5))}, now=now)
    create_memories(user, MEMORIES)
    drafts = [AtomicDraft(content=content) for content in islice(sentences, MEMORIES)]
    create_atomic_memories(user=user, drafts=drafts, now=now)
    create_messages(user, MESSAGES)
    for session in Session.objects.filter(user=user):
        title, snippet = next(sentences)[:20], " ".join(islice(sentences, 3))
        create_session_summary(user=user, session_id=session.id, title=title, snippet=snippet, now=now)


def put_in_order(context: Context) -> list[PromptMessage]:
    """Return the prompt with the layers by their numbers, all of them before the window."""
    from apps.chat.context.build import render_summary
    from apps.core.llm.types import PromptMessage

    texts = [*(layer.content for layer in context.layers[:5]), render_summary(context.given.summary)]
    system = PromptMessage("system", "\n\n".join(filter(None, texts)))
    return [system, *context.messages[1:-1], PromptMessage("user", context.given.message)]


def measure_share(prompts: Sequence[Sequence[PromptMessage]]) -> float:
    """Return the share of the characters of all prompts but the first that equal the beginning of the one before."""
    texts = ["".join(f"<|{message.role}|>{message.content}" for message in prompt) for prompt in prompts]
    same = sum(len(list(takewhile(bool, map(eq, before, text)))) for before, text in pairwise(texts))
    return round(same / sum(map(len, texts[1:])), 3)


def main() -> None:
    """Measure, print the table, and write the figures where a file is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=30, help="of each conversation (default: 30)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = parser.parse_args()
    table, report = Table("language", "seen before, layers in order", "seen before, as sent"), {}
    with run_in_new_data_folder():
        from apps.accounts.models import User

        for language in LANGUAGES:
            user = User.objects.create_user(f"benchmark-{language}")
            contexts = list(talk(user, language, turns=options.turns))
            arranged = (list(map(put_in_order, contexts)), [context.messages for context in contexts])
            report[language] = [measure_share(prompts) for prompts in arranged]
            table.add_row(language, *map(str, report[language]))
    make_console().print(table)
    if options.json:
        options.json.write_text(json.dumps(report), encoding="utf-8")


if __name__ == "__main__":
    main()
