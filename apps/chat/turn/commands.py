"""What a message tells the memory to do, within its turn (L9): done before the prompt is built, which says so.

The turn keeps of it references and words of its own message; texts are read from where they live.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import Any

from django.db import transaction
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.accounts.models import User
from apps.accounts.types import MemorySettings
from apps.chat.context.read import TurnInput
from apps.chat.context.types import ATOMIC, LONG_TERM, RecalledMemory
from apps.chat.models import Turn
from apps.chat.selectors import get_turn
from apps.conversations.sessions import lock_session
from apps.conversations.types import OpenRound
from apps.core.errors import NotFound
from apps.core.text.clean import estimate_tokens
from apps.core.text.commands import CommandKind
from apps.core.text.secrets import mask_secrets
from apps.core.text.segment import holds_chinese
from apps.core.words import word
from apps.memory import kinds as memory_kinds
from apps.memory.commands import (
    CommandResult,
    Outcome,
    describe_forgotten,
    forget_chosen,
    name_operation,
    run_commands,
)
from apps.memory.judge.types import Said
from apps.memory.models import AtomicMemory, LongTermMemory
from apps.profile.services import get_user_profile

# Memories that a model may end for one message: more are for the person to choose from.
MAX_CHOSEN = 5
# What the texts may take that the prompt lists under one outcome.
MAX_ACTION_TOKENS = 1_000
# Candidates of one request: those that the model named, and those that were only recalled.
MAX_SHOWN, MAX_RECALLED = 10, 3
_KINDS = (LONG_TERM, ATOMIC)
# The keys of the block `memory_actions`, in order.
_ACTIONS = (
    Outcome.STORED,
    Outcome.KNOWN,
    Outcome.WAITING,
    Outcome.FORGOTTEN,
    Outcome.NOT_FOUND,
    Outcome.PAUSED,
    Outcome.SECRET,
)
# Nothing was stored or ended: the words of the message are all there is.
_NOT_DONE = (Outcome.NOT_FOUND, Outcome.PAUSED, Outcome.SECRET)


def run_message_commands(given: TurnInput, *, opened: OpenRound) -> Sequence[CommandResult]:
    """Carry out what a stored message asks to remember and to forget; run again for a retry, it does nothing twice.

    Raises `NotFound` when the session was deleted meanwhile.
    """
    commands = given.asked.commands
    if all(command.kind is CommandKind.LIST for command in commands):
        return ()
    with transaction.atomic():
        lock_session(user=given.user, session_id=opened.session_id)
        said = Said(opened.message_id, opened.session_id, opened.create_time)
        return run_commands(
            user=given.user,
            learner=given.learner,
            commands=commands,
            said=said,
            settings=given.settings,
            now=given.now,
            paused=bool(given.paused_by),
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
    item = next((item for item in turn.commands if str(memory_id) in item["unclear"]), None)
    if item is not None:
        operation = name_operation(turn.pk, f"candidate {memory_id}")
        result = forget_chosen(
            user=user, memory_ids=[memory_id], said=item["said"], operation=operation, now=now, whole=True
        )
        if result.status is Outcome.FORGOTTEN:
            item["unclear"].remove(str(memory_id))
            turn.commands.append(_record(result, prompted=Outcome.LEFT_OUT))  # the prompt knew nothing of it
            turn.save(update_fields=["commands"])
            return
    raise NotFound("This memory is not one that the message may have meant.")


def describe_actions(results: Iterable[CommandResult]) -> dict[str, Any]:
    """Return what the prompt says was done: texts as they are stored, by outcome; {} for nothing.

    Of very many only the first; `not_listed` counts the others.
    """
    found: dict[str, dict[str, None]] = {str(outcome): {} for outcome in _ACTIONS}
    for result in results:
        if result.status in _ACTIONS:
            found[result.status] |= dict.fromkeys(list_texts(result))
    actions: dict[str, Any] = {name: _list_first(list(texts)) for name, texts in found.items() if texts}
    missing = {name: len(found[name]) - len(shown) for name, shown in actions.items()}
    if any(missing.values()):
        actions["not_listed"] = {name: count for name, count in missing.items() if count}
    return actions


def list_texts(result: CommandResult) -> Sequence[str]:
    """Return what was stored or forgotten; of what was not done, the words of the message, masked."""
    if result.status in _NOT_DONE:
        return [mask_secrets(result.said)] if result.said else []
    return result.texts


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


DELETED = "(deleted)"


def record_commands(results: Sequence[CommandResult], *, prompted: Sequence[CommandResult]) -> list[dict[str, Any]]:
    """Return what is kept. `prompted`: the results that the prompt had, before the model's answer."""
    statuses = [*(result.status for result in prompted), *[Outcome.LEFT_OUT] * (len(results) - len(prompted))]
    return [_record(result, prompted=status) for result, status in zip(results, statuses, strict=True)]


def _record(result: CommandResult, *, prompted: Outcome) -> dict[str, Any]:
    return {
        "kind": str(result.kind),
        "status": str(result.status),
        "prompted": str(prompted),
        "said": mask_secrets(result.said) if _is_told_by_message(result) else "",
        "operation": str(result.operation) if result.operation else None,
        "memory_ids": [str(memory_id) for memory_id in result.memory_ids],
        "unclear": [str(memory_id) for memory_id in result.unclear],
    }


def _is_told_by_message(result: CommandResult) -> bool:
    """Whether it is told in words of its message, as no memory has them."""
    return result.kind is CommandKind.FORGET or result.status in (Outcome.SECRET, Outcome.PAUSED)


def restore_prompted(kept: Sequence[Mapping[str, Any]], *, user: User, texts: Mapping[str, str]) -> list[CommandResult]:
    """Return the results as the prompt had them. `texts`: of the atomic memories they name, as they were then."""
    results = [_restore(item, user=user, texts=texts) for item in kept]
    return [replace(result, status=Outcome(item["prompted"])) for result, item in zip(results, kept, strict=True)]


def describe_commands(turn: Turn) -> list[dict[str, Any]]:
    """Return a stored turn's commands on the wire, with what has become of them since: undone, accepted, deleted."""
    ids = {uuid.UUID(memory_id) for item in turn.commands for memory_id in item["memory_ids"]}
    rows = memory_kinds.ATOMIC.by_ids(turn.user, ids) if ids else {}
    texts = {str(memory_id): row.content for memory_id, row in rows.items()}
    results = []
    for item in turn.commands:
        result = _restore(item, user=turn.user, texts=texts)
        now = {rows[memory_id].status for memory_id in result.memory_ids if memory_id in rows}
        if result.status in (Outcome.STORED, Outcome.WAITING) and now == {"rejected"}:
            result = replace(result, status=Outcome.UNDONE)
        elif result.status is Outcome.WAITING and now and "pending" not in now:
            result = replace(result, status=Outcome.STORED)
        results.append(result)
    return commands_to_wire(results, user=turn.user)


def _restore(item: Mapping[str, Any], *, user: User, texts: Mapping[str, str]) -> CommandResult:
    kind, status = CommandKind(item["kind"]), Outcome(item["status"])
    operation = item["operation"] and uuid.UUID(item["operation"])
    shown = tuple(texts.get(memory_id, DELETED) for memory_id in item["memory_ids"])
    if status is Outcome.FORGOTTEN:
        now = describe_forgotten(user=user, operation=operation)
        status, shown = now.status, now.texts or (DELETED,)
    return CommandResult(
        kind=kind,
        status=status,
        texts=shown,
        operation=operation,
        memory_ids=tuple(map(uuid.UUID, item["memory_ids"])),
        unclear=tuple(map(uuid.UUID, item["unclear"])),
        said=item["said"],
    )


def commands_to_wire(results: Sequence[CommandResult], *, user: User) -> list[dict[str, Any]]:
    """Return the results on the wire; memories that may be meant with their texts."""
    unclear = {memory_id for result in results for memory_id in result.unclear}
    known = _read_candidates(user, unclear) if unclear else {}
    return [
        {
            "kind": str(result.kind),
            "status": str(result.status),
            "texts": list(list_texts(result)),
            "operation": str(result.operation) if result.operation else None,
            "memory_ids": [str(memory_id) for memory_id in result.memory_ids],
            "unclear": [known[memory_id] for memory_id in result.unclear if memory_id in known],
        }
        for result in results
    ]


def _read_candidates(user: User, ids: set[uuid.UUID]) -> dict[uuid.UUID, dict[str, str]]:
    """The active memories of these IDs, of both kinds."""
    return {
        row.id: {"id": str(row.id), "kind": str(kind.name), "text": kind.say(vars(row))}
        for kind in (memory_kinds.LONG_TERM, memory_kinds.ATOMIC)
        for row in kind.by_ids(user, ids).values()
        if row.status == "active"
    }


# Memories of each kind that the reply lists; the panel shows them all.
LISTED = 50

_DONE = {
    Outcome.STORED: gettext_lazy("Stored: %(text)s"),
    Outcome.KNOWN: gettext_lazy("Already remembered: %(text)s"),
    Outcome.WAITING: gettext_lazy("Stored, waiting for your review: %(text)s"),
    Outcome.FORGOTTEN: gettext_lazy("Forgotten: %(text)s"),
    Outcome.SECRET: gettext_lazy("Not stored, as it holds a secret: %(text)s"),
    Outcome.NOT_FOUND: gettext_lazy("Not forgotten, as no single memory plainly says it: %(text)s"),
    Outcome.PAUSED: gettext_lazy("Not stored, as remembering is paused: %(text)s"),
}
# In the order in which the reply lists them.
_CATEGORIES = ("fact", "preference", "pattern")


def compose_memory_list_reply(given: TurnInput, *, results: Sequence[CommandResult]) -> str:
    """Return the reply to "what do you remember about me?", in Markdown: everything active, from the store.

    The turn composes it, so that it is complete and true whatever model answers otherwise. `results`: what else the
    message asked of the memory, and what was done.
    """
    with translation.override("zh-hans" if holds_chinese(given.message) else "en"):
        if not given.recalls:
            return _("This is a temporary conversation: nothing is read from memory here, and nothing is stored.")
        done = [line for result in results for line in _list_done(result)]
        user, settings = given.user, given.settings
        groups = [*_list_profile(user), *_list_long_term(user), *_list_atomic(user, settings)]
        if groups:
            groups.insert(0, _("This is everything I remember about you:"))
        else:
            groups = [_("I do not remember anything about you yet.")]
        return "\n\n".join([*done, *groups])


def _list_done(result: CommandResult) -> Iterator[str]:
    if result.status not in _DONE:
        return
    for text in list_texts(result)[:LISTED]:
        yield _DONE[result.status] % {"text": text}


def _list_profile(user: User) -> Iterator[str]:
    profile = get_user_profile(user=user)
    if profile is not None and not profile.is_empty:
        lines = [f"{word('section', name)}: {text}" for name, text in profile.texts.items()]
        yield _write_group(_("Profile"), lines)


def _list_long_term(user: User) -> Iterator[str]:
    active = memory_kinds.LONG_TERM.active(user)
    shown = list(active[:LISTED])
    for category in _CATEGORIES:
        lines = [
            _mark(memory_kinds.LONG_TERM.say(vars(memory)), memory) for memory in shown if memory.category == category
        ]
        if lines:
            yield _write_group(word("categories", category), lines)
    if len(shown) == LISTED:
        yield from _count_more(active.count() - LISTED, page="admin:memory_longtermmemory_changelist")


def _list_atomic(user: User, settings: MemorySettings) -> Iterator[str]:
    active = memory_kinds.ATOMIC.active(user).order_by("-timestamp", "-id")
    shown = list(active[:LISTED])
    days = groupby(shown, key=lambda memory: memory.timestamp.astimezone(settings.zone).date())
    for at, (day, memories) in enumerate(days):
        group = _write_list([_mark(memory.content, memory) for memory in memories])
        yield "\n".join([*([f"**{_('From your conversations')}**\n"] if at == 0 else []), f"{day}\n", group])
    if len(shown) == LISTED:
        yield from _count_more(active.count() - LISTED, page="admin:memory_atomicmemory_changelist")


def _count_more(count: int, *, page: str) -> Iterator[str]:
    if count > 0:
        yield ngettext(
            "… and %(count)s more. All of them are in the memory panel: %(address)s",
            "… and %(count)s more. All of them are in the memory panel: %(address)s",
            count,
        ) % {"count": count, "address": reverse(page)}


def _mark(text: str, memory: LongTermMemory | AtomicMemory) -> str:
    is_over = memory.valid_until is not None and memory.valid_until <= timezone.now()
    marks = [_("(muted)")] * memory.muted + [_("(over)")] * is_over
    return " ".join([text, *marks])


def _write_group(title: str, lines: Sequence[str]) -> str:
    return f"**{title}**\n\n{_write_list(lines)}"


def _write_list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {' '.join(line.split())}" for line in lines)
