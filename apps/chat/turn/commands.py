"""What a message tells the memory to do, within its turn (L9): done before the prompt is built, which says so.

The turn keeps of it references and words of its own message; texts are read from where they live.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import translation
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.accounts.types import MemorySettings
from apps.chat.context.types import ATOMIC, LONG_TERM, RecalledMemory
from apps.chat.models import Turn
from apps.chat.selectors import get_turn
from apps.chat.turn.command_record import record_choice
from apps.conversations.sessions import lock_session
from apps.conversations.types import OpenRound
from apps.core.errors import NotFound
from apps.core.text.commands import Command, CommandKind
from apps.core.text.scripts import holds_chinese
from apps.core.text.tokens import estimate_tokens
from apps.memory.services import CommandResult, Outcome, forget_chosen, name_operation, run_commands

MAX_CHOSEN = 5
"""Memories that a model may end for one message: more are for the person to choose from."""

MAX_ACTION_TOKENS = 1_000
"""Of the texts that the prompt lists as stored, or as forgotten."""

MAX_SHOWN, MAX_RECALLED = 10, 3
"""Candidates of one request: those that the model named, and those that were only recalled."""

_KINDS = (LONG_TERM, ATOMIC)

_ACTIONS = (Outcome.STORED, Outcome.KNOWN, Outcome.WAITING, Outcome.FORGOTTEN, Outcome.NOT_FOUND)
"""The keys of the block `memory_actions`, in order."""


def run_message_commands(
    *, user: User, opened: OpenRound, commands: Sequence[Command], settings: MemorySettings, now: datetime
) -> list[CommandResult]:
    """Carry out what a stored message asks to remember and to forget; run again for a retry, it does nothing twice.

    Raises `NotFound` when the session was deleted meanwhile.
    """
    if all(command.kind is CommandKind.LIST for command in commands):
        return []
    with transaction.atomic():
        lock_session(user=user, session_id=opened.session_id)
        return run_commands(
            user=user,
            message_id=opened.message_id,
            session_id=opened.session_id,
            commands=commands,
            said_at=opened.create_time,
            max_length=settings.atomic_content_max_length,
            zone=settings.zone,
            now=now,
        )


@transaction.atomic
def forget_candidate(*, user: User, message_id: uuid.UUID, memory_id: uuid.UUID, now: datetime) -> None:
    """End a memory that a request to forget may have meant, as its owner chose it: all of it, undone as any (L9).

    `message_id`: of the request, or of its reply. Raises `NotFound` without such a turn, and where the memory is none
    of its candidates or has ended since.
    """
    turn = get_turn(user, message_id)
    lock_session(user=user, session_id=turn.session_id)
    turn = Turn.objects.select_for_update(of=("self",)).get(pk=turn.pk)
    for at, item in enumerate(turn.commands):
        if str(memory_id) in item["unclear"]:
            operation = name_operation(turn.pk, f"candidate {memory_id}")
            result = forget_chosen(
                user=user, memory_ids=[memory_id], said=item["said"], operation=operation, now=now, whole=True
            )
            if result.status is not Outcome.FORGOTTEN:
                break
            turn.commands = record_choice(turn.commands, at=at, result=result, chosen=memory_id)
            turn.save(update_fields=["commands"])
            return
    raise NotFound("This memory is not one that the message may have meant.")


def describe_actions(results: Iterable[CommandResult]) -> dict[str, Any]:
    """Return what the prompt says was done: texts as they are stored, by outcome; {} for nothing.

    Of very many only the first; `not_listed` counts the others.
    """
    found: dict[str, list[str]] = {str(outcome): [] for outcome in _ACTIONS}
    for result in results:
        if result.status in _ACTIONS:
            found[result.status] += [result.said] if result.status is Outcome.NOT_FOUND else result.texts
    actions: dict[str, Any] = {}
    for name, texts in found.items():
        if texts:
            actions[name] = _list_first(list(dict.fromkeys(texts)))
    missing = {name: len(set(found[name])) - len(shown) for name, shown in actions.items()}
    if any(missing.values()):
        actions["not_listed"] = {name: count for name, count in missing.items() if count}
    return actions


def _list_first(texts: Sequence[str]) -> list[str]:
    """The first texts, as many as fit in `MAX_ACTION_TOKENS`, but always one."""
    room, shown = MAX_ACTION_TOKENS, list[str]()
    for text in texts:
        room -= estimate_tokens(text)
        if shown and room < 0:
            break
        shown.append(text)
    return shown


def forget_numbered(
    *,
    user: User,
    opened: OpenRound,
    results: Sequence[CommandResult],
    memories: Sequence[RecalledMemory],
    numbers: Sequence[int],
    now: datetime,
) -> list[CommandResult]:
    """End the memories of the prompt that the model named for what was not plainly matched; returns all results.

    Without such a command nothing ends, nor do more than `MAX_CHOSEN`: they are shown for the person to choose.
    """
    chosen = [uuid.UUID(memory.id) for memory in list_named(memories, numbers)]
    changed = list(results)
    for at, result in enumerate(results):
        if result.kind is not CommandKind.FORGET or result.status is not Outcome.NOT_FOUND or not chosen:
            continue
        if len(chosen) > MAX_CHOSEN:
            changed[at] = replace(result, unclear=tuple(dict.fromkeys([*chosen, *result.unclear])))
            return changed
        # Each to the request whose words it shares; the last one gets the rest.
        is_last = not any(later.status is Outcome.NOT_FOUND for later in results[at + 1 :])
        mine = chosen if is_last else [memory_id for memory_id in chosen if memory_id in result.unclear]
        if mine:
            operation = name_operation(opened.message_id, f"chosen {at}")
            done = forget_chosen(user=user, memory_ids=mine, said=result.said, operation=operation, now=now)
            left = [memory_id for memory_id in result.unclear if memory_id not in mine]
            changed[at] = replace(done, unclear=tuple(dict.fromkeys([*done.unclear, *left])))
        chosen = [memory_id for memory_id in chosen if memory_id not in mine]
    if chosen:
        changed.append(CommandResult(CommandKind.FORGET, Outcome.NOT_FOUND, unclear=tuple(chosen[:MAX_SHOWN])))
    return changed


def show_recalled(results: Sequence[CommandResult], memories: Sequence[RecalledMemory]) -> list[CommandResult]:
    """Return the results, with the best of what was recalled as candidates where no memory has words of a request."""
    recalled = tuple(uuid.UUID(memory.id) for memory in memories if memory.kind in _KINDS)[:MAX_RECALLED]
    is_bare = [one.status is Outcome.NOT_FOUND and not one.unclear for one in results]
    return [replace(one, unclear=recalled) if bare else one for one, bare in zip(results, is_bare, strict=True)]


def list_named(memories: Sequence[RecalledMemory], numbers: Sequence[int]) -> list[RecalledMemory]:
    """Return the memories of the prompt that have these numbers, each once."""
    named = [memories[number - 1] for number in dict.fromkeys(numbers) if 1 <= number <= len(memories)]
    return [memory for memory in named if memory.kind in _KINDS]


def ask_what_to_forget(
    *, message: str, results: Sequence[CommandResult], memories: Sequence[RecalledMemory], numbers: Sequence[int]
) -> str:
    """Return what a reply says besides where its model named memories to forget that do not end; "" where they do."""
    named = list_named(memories, numbers)
    is_asked = any(one.kind is CommandKind.FORGET and one.status is Outcome.NOT_FOUND for one in results)
    if not named or (is_asked and len(named) <= MAX_CHOSEN):
        return ""
    with translation.override("zh-hans" if holds_chinese(message) else "en"):
        texts = "\n".join(f"- {' '.join(memory.text.split())}" for memory in named[:MAX_SHOWN])
        said = _("Nothing has been forgotten yet. Choose below what to forget, or say “forget that …” in its words:")
        return f"\n\n{said}\n\n{texts}"
