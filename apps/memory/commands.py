"""Carrying out what a person tells their memory: remember …, forget … (L9). Undone with one click each (L7).

Both are done before the reply is made, so that it claims nothing that did not happen. Each command of a message is one
operation of the audit record, whose ID follows from the message: a turn that is retried does nothing twice (C6).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4, uuid5
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models import Q

from apps.accounts.models import User
from apps.accounts.spaces import held_by
from apps.accounts.types import MemorySettings
from apps.core.text.clean import json_text, readable_text
from apps.core.text.commands import Command, CommandKind, Meant, Statement, match_forget_targets, read_commands
from apps.core.text.fold import normalize_value
from apps.core.text.grounding import is_grounded
from apps.core.text.instructions import is_instruction
from apps.core.text.secrets import find_secret
from apps.core.text.segment import holds_chinese, pieces
from apps.core.text.sentences import split_sentences
from apps.core.text.time_expressions import find_times
from apps.memory.changes.records import ChangeDraft, changed_by, record_changes
from apps.memory.judge.types import Said
from apps.memory.keyed import list_items
from apps.memory.kinds import ATOMIC, CURRENT, KINDS, LONG_TERM, MemoryKind, get_kind
from apps.memory.lifecycle import create_atomic_memories
from apps.memory.locking import lock_memories
from apps.memory.models import AtomicMemory, AtomicSource, Change, Status
from apps.memory.tombstones import (
    add_tombstones,
    clear_tombstones,
    digest_content,
    digest_key,
    digest_values,
    find_tombstones,
)
from apps.memory.types import AtomicDraft, KindName
from apps.memory.validation import find_event_problem
from apps.memory.writer import Writer

_RECURS = re.compile(r"(?i)\b(?:birthday|anniversary|born|every|each|daily|weekly|yearly)\b|生日|周年|每|出生")
_RUN = re.compile(r"[\u3400-\u9fff]+|[^\s\u3400-\u9fff]+\s*|\s+")
_LISTED_UNCLEAR = 10


class Outcome(StrEnum):
    """What became of a command. `KNOWN`: remembered before. `WAITING`: for review. `LEFT_OUT`: deleted since.

    `PAUSED`: not stored, as remembering is paused (D5).
    `SECRET`: it holds one (D4).
    """

    STORED = "stored"
    KNOWN = "known"
    WAITING = "waiting"
    LEFT_OUT = "left_out"
    FORGOTTEN = "forgotten"
    NOT_FOUND = "not_found"
    UNDONE = "undone"
    PAUSED = "paused"
    SECRET = "secret"  # noqa: S105


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What was done about one command of a message.

    `texts`: what was stored, or removed. `operation`: by which it is undone, None where nothing changed. `memory_ids`:
    of the atomic memories that hold what was stored. `unclear`: long-term and atomic memories that may be meant.
    `said`: what the message asked to keep, or to forget, in its own words.
    """

    kind: CommandKind
    status: Outcome
    texts: tuple[str, ...] = ()
    operation: UUID | None = None
    memory_ids: tuple[UUID, ...] = ()
    unclear: tuple[UUID, ...] = ()
    said: str = ""


@dataclass(frozen=True, slots=True)
class StatementHolder:
    """Where an app above memory keeps statements of a kind that "forget …" can mean.

    `find`: the statements of a person, each with what names it. `remove`: take out the named ones in the caller's
    transaction; returns the changes for it to record. `describe`: the texts that such a change took out.
    """

    find: Callable[[User], Sequence[tuple[Any, Statement]]]
    remove: Callable[[User, Sequence[Any], datetime], list[ChangeDraft]]
    describe: Callable[[Mapping[str, Any], Mapping[str, Any]], list[str]]


_holders: dict[str, StatementHolder] = {}


def register_statement_holder(kind: str, holder: StatementHolder) -> None:
    """Let statements of a kind of `Change.Kind` be forgotten by command; said in an app's `ready`."""
    _holders[kind] = holder


def run_commands(
    *,
    user: User,
    commands: Sequence[Command],
    said: Said,
    settings: MemorySettings,
    now: datetime,
    learner: User | None = None,
    paused: bool = False,
) -> list[CommandResult]:
    """Carry out what a message of the person asks to remember and to forget; run again, it does nothing twice.

    `learner`: the person as they look from where what is to be remembered goes, if not from where they look (P3). What
    is to be forgotten may be everywhere as well: they say so themselves. `paused`: nothing is stored (D5).
    """
    results = []
    for command, operation in _name_operations(said.message_id, commands):
        with changed_by(origin=Change.Origin.TURN, actor=user):
            if command.kind is CommandKind.REMEMBER and paused:
                result = CommandResult(CommandKind.REMEMBER, Outcome.PAUSED)
            elif command.kind is CommandKind.REMEMBER:
                result = remember_statement(learner or user, command.text, said, settings, operation=operation, now=now)
            else:
                result = forget_stated(user=user, command=command, operation=operation, now=now)
        # What may not have been meant for the memory, and matches nothing in it, was not.
        if not command.doubtful or result.unclear:
            results.append(replace(result, said=command.text))
    return results


def name_operation(message_id: UUID, name: str) -> UUID:
    """Return the ID of the operation that a command of a message is."""
    return uuid5(message_id, f"command {name}")


def _name_operations(message_id: UUID | None, commands: Iterable[Command]) -> Iterator[tuple[Command, UUID]]:
    """What is to be done, with its operation: by its place among those of its kind."""
    seen = Counter[CommandKind]()
    assert message_id is not None
    for command in commands:
        if command.kind is not CommandKind.LIST:
            yield command, name_operation(message_id, f"{command.kind} {seen[command.kind]}")
            seen[command.kind] += 1


@transaction.atomic
def remember_statement(
    user: User, text: str, said: Said, settings: MemorySettings, *, operation: UUID, now: datetime
) -> CommandResult:
    """Keep a sentence word for word as an atomic memory, as its owner asked (L9).

    One that is too long becomes several, cut where sentences, else words, end. What reads as an instruction to the
    system waits for review. What is remembered already stays as it is. What its owner deleted or turned down before
    they said this may be learned again; since then, it is left out. What holds a secret is not kept at all (D4): it
    stays in the message alone.
    """
    if find_secret(text):
        return CommandResult(CommandKind.REMEMBER, Outcome.SECRET)
    lock_memories(user)
    chunks = split_statement(text, limit=settings.atomic_content_max_length)
    status = Status.PENDING if is_instruction(text) else Status.ACTIVE
    normal = {chunk: normalize_value(chunk) for chunk in chunks}
    digests = {chunk: digest_content(user, chunk) for chunk in chunks}
    forgotten = find_tombstones(user, digests.values())
    mine = ATOMIC.rows(user).filter(held_by(user), source=AtomicSource.USER_STATED)
    known = mine.filter(normalized_content__in=set(normal.values()))
    rows = list(known.defer("terms", "term_count").order_by("create_time"))
    kept: list[AtomicMemory] = []
    drafts: list[AtomicDraft] = []
    for chunk in chunks:
        same = [row for row in rows if row.normalized_content == normal[chunk]]
        ended = [*(row.updated_at for row in same), *filter(None, [forgotten.get(digests[chunk])])]
        if held := [row for row in same if row.status in CURRENT]:
            kept.append(held[0])
        elif all(time < said.said_at for time in ended):
            start, end = _find_event(chunk, said_at=said.said_at, zone=settings.zone)
            drafts.append(
                AtomicDraft(chunk, (), said.said_at, start, end, said.session_id, said.message_id, status=status)
            )
    clear_tombstones(user=user, digests=[digests[draft.content] for draft in drafts])
    made = create_atomic_memories(user=user, drafts=drafts, now=now, operation=operation) if drafts else []
    rows_of_it = [*kept, *made]
    # A retried turn finds what its first attempt made: that is what this command stored.
    done = bool(made) or any(row.message_id == said.message_id for row in kept)
    return CommandResult(
        CommandKind.REMEMBER,
        _name_outcome(rows_of_it, is_new=done),
        tuple(row.content for row in rows_of_it),
        operation if done and Change.objects.filter(user=user, operation=operation).exists() else None,
        tuple(row.id for row in rows_of_it),
    )


def _name_outcome(rows: Sequence[AtomicMemory], *, is_new: bool) -> Outcome:
    if not rows:
        return Outcome.LEFT_OUT
    if all(row.status == Status.PENDING for row in rows):
        return Outcome.WAITING
    return Outcome.STORED if is_new else Outcome.KNOWN


def split_statement(text: str, *, limit: int) -> list[str]:
    """Return `text` in parts of at most `limit` characters: whole sentences, else whole words; a longer word stays."""
    parts: list[str] = []
    room = ""
    for sentence in split_sentences(text.strip()):
        for piece in [sentence] if len(sentence.rstrip()) <= limit else _split_words(sentence):
            if room and len((room + piece).rstrip()) > limit:
                parts.append(room.strip())
                room = ""
            room += piece
    parts.append(room.strip())
    return [part for part in parts if part]


def _split_words(text: str) -> list[str]:
    """Words with the blanks after them, addresses whole; of Chinese those of the segmenter."""
    return [word for run in _RUN.findall(text) for word in (pieces(run) if holds_chinese(run) else [run])]


def _find_event(text: str, *, said_at: datetime, zone: ZoneInfo) -> tuple[datetime | None, datetime | None]:
    """When what is said happens, if it names one time; a date that recurs has no year (a birthday)."""
    times = [] if _RECURS.search(text) else list(find_times(text, said_at=said_at, zone=zone))
    if len(times) != 1 or find_event_problem(times[0].start, times[0].end) is not None:
        return None, None
    return times[0].start, times[0].end


@dataclass(frozen=True, slots=True)
class _Known:
    """A statement and where it stands: `part` is the sentence of a content, the item of a list, or a holder's name."""

    kind: str
    row_id: UUID | None
    part: Any
    statement: Statement


# What is to end, and the memories that may be meant but stay.
Chosen = tuple[list[_Known], tuple[UUID, ...]]


def forget_stated(*, user: User, command: Command, operation: UUID, now: datetime) -> CommandResult:
    """End what a command plainly means, of every kind: sentences, values, items of lists, lines of the profile (L9).

    Not deleted: it is superseded by nothing, in one operation, and comes back when that is undone. It is not learned
    again from what was said before. What only may be meant stays, and is named in the result.
    """

    def choose(known: Sequence[_Known]) -> Chosen:
        meant = _match(command, known)
        unclear = dict.fromkeys(row_id for at in meant.unclear if (row_id := known[at].row_id))
        return [known[at] for at in meant.plain], tuple(unclear)[:_LISTED_UNCLEAR]

    return _forget(user, choose, operation=operation, now=now)


@transaction.atomic
def _forget(
    user: User, choose: Callable[[Sequence[_Known]], Chosen], *, operation: UUID, now: datetime
) -> CommandResult:
    lock_memories(user)
    if Change.objects.filter(user=user, operation=operation).exists():
        return describe_forgotten(user=user, operation=operation)
    ended, unclear = choose(list(_list_known(user)))
    if not ended:
        return CommandResult(CommandKind.FORGET, Outcome.NOT_FOUND, unclear=unclear)
    with changed_by(origin=Change.Origin.TURN, actor=user):
        _end(user, ended, operation=operation, now=now)
    return replace(describe_forgotten(user=user, operation=operation), unclear=unclear)


def _match(command: Command, known: Sequence[_Known]) -> Meant:
    statements = [one.statement for one in known]
    if command.everything:
        # All of it is deleted in the panel, which asks for a confirmation.
        return Meant(unclear=tuple(range(len(statements))))
    return match_forget_targets(command.text, statements, doubtful=command.doubtful)


@transaction.atomic
def forget_learned(*, user: User, message_id: UUID, text: str, learned_from: Collection[UUID], now: datetime) -> None:
    """End what was learned from earlier messages only after `text` said that it is to be forgotten (L9).

    Extraction runs later than the turn that carries a command out. `learned_from`: the messages before this one. What
    its owner undid stays undone.
    """
    for command, operation in _name_operations(message_id, read_commands(text)):
        undone = Change.objects.filter(user=user, operation=operation, undone_by__isnull=False)
        if command.kind is not CommandKind.FORGET or undone.exists():
            continue
        lock_memories(user)
        known = list(_list_known(user, learned_from=learned_from))
        meant = _match(command, known)
        if meant.plain:
            with changed_by(origin=Change.Origin.TURN, actor=user):
                _end(user, [known[at] for at in meant.plain], operation=uuid4(), now=now)


def forget_chosen(
    *, user: User, memory_ids: Sequence[UUID], said: str, operation: UUID, now: datetime, whole: bool = False
) -> CommandResult:
    """End memories that a model, or their owner, chose for what a message said is to be forgotten (L9).

    IDs of long-term and atomic memories. Unless `whole`, of a list only the items that `said` names end, and all of
    them only where it names their key. What is left out is in the result as unclear.
    """

    def choose(known: Sequence[_Known]) -> Chosen:
        rows: dict[UUID, list[_Known]] = {}
        for one in known:
            if one.row_id is not None and one.row_id in memory_ids:
                rows.setdefault(one.row_id, []).append(one)
        ended = {row_id: parts if whole else _choose_parts(parts, said=said) for row_id, parts in rows.items()}
        left = tuple(row_id for row_id, parts in ended.items() if not parts)
        return [one for parts in ended.values() for one in parts], left

    return replace(_forget(user, choose, operation=operation, now=now), said=said)


def _choose_parts(parts: Sequence[_Known], *, said: str) -> Sequence[_Known]:
    """All of a memory, but of a list with several items those that `said` names."""
    if len(parts) == 1 or parts[0].kind == KindName.ATOMIC:
        return parts
    named = [one for one in parts if is_grounded(one.statement.text, said=said)]
    return named or (parts if is_grounded(parts[0].statement.key, said=said) else [])


def _list_known(user: User, *, learned_from: Collection[UUID] | None = None) -> Iterable[_Known]:
    """All active statements; with `learned_from` only the memories that come from these messages."""
    of_messages = Q() if learned_from is None else Q(message__in=learned_from)
    for row in ATOMIC.active(user).filter(of_messages).order_by("create_time", "id"):
        for at, sentence in enumerate(split_sentences(row.content)):
            yield _Known(KindName.ATOMIC, row.id, at, Statement(sentence.strip()))
    for row in LONG_TERM.active(user).filter(of_messages).order_by("created_at", "id"):
        for at, item in enumerate(list_items(row.value)):
            yield _Known(KindName.LONG_TERM, row.id, at, Statement(json_text(item), row.key))
    for kind, holder in sorted(_holders.items()) if learned_from is None else ():
        for part, statement in holder.find(user):
            yield _Known(kind, None, part, statement)


def _end(user: User, ended: Sequence[_Known], *, operation: UUID, now: datetime) -> None:
    parts: dict[str, dict[UUID | None, list[Any]]] = {}
    for one in ended:
        parts.setdefault(one.kind, {}).setdefault(one.row_id, []).append(one.part)
    writer, gone = Writer(user, now=now, operation=operation), set[str]()
    for kind in KINDS:
        named = parts.pop(kind.name.value, {})
        for row in kind.by_ids(user, [row_id for row_id in named if row_id]).values():
            pieces = kind.split(vars(row))
            left = kind.join([piece for at, piece in enumerate(pieces) if at not in named[row.id]])
            gone |= _digest_ended(user, kind, row, [pieces[at] for at in named[row.id]], is_whole=left is None)
            writer.rewrite(kind, row, left)
    add_tombstones(user=user, digests=gone, now=now)
    writer.save()
    changes = [change for kind, named in parts.items() for change in _holders[kind].remove(user, named[None], now)]
    record_changes(user=user, changes=[replace(change, operation=operation) for change in changes], now=now)


def _digest_ended(user: User, kind: MemoryKind, row: Any, pieces: Sequence[Any], *, is_whole: bool) -> set[str]:
    if kind is ATOMIC:
        return {digest_content(user, text) for text in (row.content, *(piece.strip() for piece in pieces))}
    return {*digest_values(user, list(pieces)), *([digest_key(user, row.normalized_key)] if is_whole else [])}


def describe_forgotten(*, user: User, operation: UUID) -> CommandResult:
    """Return what an operation of `forget_stated` removed; nothing of what has been deleted since."""
    texts: list[str] = []
    changes = list(Change.objects.filter(user=user, operation=operation).order_by("id"))
    for change in changes:
        if change.before is not None and change.after is not None:
            texts += _describe(change.kind, change.before, change.after)
    undone = any(change.undone_by for change in changes)
    status = Outcome.UNDONE if undone else Outcome.FORGOTTEN if changes else Outcome.NOT_FOUND
    return CommandResult(CommandKind.FORGET, status, tuple(dict.fromkeys(texts)), operation if changes else None)


def _describe(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    if name in _holders:
        return _holders[name].describe(before, after)
    kind, is_ended = get_kind(name), after.get("status") == Status.SUPERSEDED
    if kind is ATOMIC and is_ended:
        return [before["content"]]
    left = [] if is_ended else [_strip(piece) for piece in kind.split(after)]
    gone = [piece for piece in map(_strip, kind.split(before)) if piece not in left]
    title, _text = kind.describe(before)
    return [f"{title}: {readable_text(piece)}" if title else piece for piece in gone]


def _strip(piece: Any) -> Any:
    return piece.strip() if isinstance(piece, str) else piece
