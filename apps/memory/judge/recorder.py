"""Carrying out verdicts on a person's atomic memories, as they were given (A3). The caller holds `lock_memories`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.accounts.models import User
from apps.core.text.clean import clean_text, readable_text
from apps.core.text.fold import normalize_value, spell_value
from apps.core.text.grounding import is_grounded, is_said_by, read_told
from apps.core.text.secrets import find_secret, mask_secrets
from apps.core.text.sentences import cut_at_sentence
from apps.memory.entries import Ledger
from apps.memory.judge.types import (
    JudgedOperation,
    JudgedStatement,
    Operation,
    PendingVerdict,
    Reason,
    Relation,
    Said,
    Target,
    Verdict,
)
from apps.memory.keyed import Action, Decision, Mode, apply_mode
from apps.memory.kinds import ATOMIC, join_contents
from apps.memory.marks import sort_marks
from apps.memory.models import AtomicMemory, AtomicSource, Change, LongTermMemory, Source, Status
from apps.memory.types import KindName
from apps.memory.validation import (
    MAX_TAG_CHARACTERS,
    MAX_TAGS,
    STATED_CONFIDENCE,
    Proposal,
    extend_validity,
    find_event_problem,
)
from apps.memory.writer import Writer


class AtomicRecorder:
    """Takes judged statements into what is there, one after the other; `writer.save` writes it all."""

    def __init__(
        self, writer: Writer, user: User, *, targets: Sequence[Target], contents: Sequence[str], max_length: int
    ) -> None:
        """`targets`: all that the verdicts name; `contents`: of all statements. Two queries."""
        self._writer, self._max_length = writer, max_length
        shown = {target.memory_id: target.text for target in targets if target.kind is KindName.ATOMIC}
        forms = {normalize_value(content) for content in contents}
        mine = ATOMIC.active(user)
        # What was edited since the judge saw it is not what the verdict is about.
        self._rows = {row.id: row for row in mine.filter(id__in=shown) if row.content == shown[row.id]} if shown else {}
        same = ATOMIC.held(user).filter(normalized_content__in=forms).order_by("-create_time") if forms else []
        # The assistant's words and the person's are two memories, though they are the same (A6).
        self._same = {_name(row.content, row.source): self._rows.get(row.id, row) for row in same}
        self._made: dict[int, AtomicMemory] = {}

    def record(self, statement: JudgedStatement, *, targets: Sequence[Target]) -> None:
        """Carry out the verdict on a statement (see `Relation`): what it does not name stays as it is.

        What it says in the place of earlier statements of the same answer ends those.
        """
        verdict = statement.verdict
        rows = self._find(targets)
        same = self._same.get(_name(statement.content, _get_source(statement)))
        if verdict.relation is Relation.CONTRADICTS and rows:
            self._replace(statement, rows, same=same)
        elif same is not None:
            self._refresh(same, statement)
        elif verdict.relation is Relation.SAME and targets:
            if rows:
                self._note_again(rows[0], statement, content=None)
        elif verdict.relation is Relation.REFINES and rows and (content := self._join(rows[0], statement)):
            self._merge(rows[0], statement, content=content)
            self._same[_name(content, rows[0].source)] = rows[0]
            for row in rows[1:]:
                self._end(row, by=rows[0])
        else:
            self._create(statement)
        for number in statement.revises:
            earlier, by = self._made.get(number), self._made.get(statement.number)
            if earlier is not None and earlier is not by and earlier.status == Status.ACTIVE:
                self._end(earlier, by=by)

    def record_ended(self, statement: JudgedStatement, *, superseded_by: AtomicMemory | None = None) -> None:
        """Keep as history what was true when it was said, and has ended since."""
        self._insert(statement, status=Status.SUPERSEDED, superseded_by=superseded_by)

    def end(self, targets: Sequence[Target], *, left: str | None = None, said_at: datetime | None = None) -> None:
        """End memories without anything in their place but what is `left` of them; none that was said after that."""
        rows = self._find(targets)
        self._end_all([row for row in rows if said_at is None or row.timestamp <= said_at], by=None, left=left)

    def is_known(self, statement: JudgedStatement) -> bool:
        """Whether an active memory says this already."""
        return _name(statement.content, _get_source(statement)) in self._same

    def hold(self, judged: JudgedStatement | JudgedOperation, reason: Reason, *, targets: Sequence[Target]) -> None:
        """Let a statement or an operation wait for review, with what it would do."""
        if isinstance(judged, JudgedStatement):
            verdict, statement = judged.verdict, judged
            proposal = PendingVerdict(reason, verdict.relation, targets, left=verdict.left, merged=verdict.merged)
        else:
            relation = Relation.NEW if judged.operation is Operation.ADD else Relation.CONTRADICTS
            is_memory = judged.operation is not Operation.END
            proposal = PendingVerdict(reason, relation, targets, is_memory=is_memory)
            content = judged.text or cut_at_sentence(mask_secrets(judged.source.text.strip()), self._max_length)
            statement = JudgedStatement(content=content, source=judged.source, sensitive=judged.sensitive)
        self._insert(statement, status=Status.PENDING, proposal=proposal)

    def accept(self, pending: AtomicMemory, proposal: PendingVerdict) -> None:
        """Carry out what a pending memory proposes; it becomes the memory that its verdict speaks of."""
        rows = self._find(proposal.targets)
        same = self._same.get(_name(pending.content, pending.source))
        if proposal.relation is Relation.REFINES and rows and proposal.merged:
            source = Said(pending.message_id, pending.session_id, pending.timestamp, "")
            restated = JudgedStatement(
                content=pending.content, source=source, tags=pending.tags, sensitive=pending.sensitive
            )
            self._merge(rows[0], restated, content=proposal.merged)
            self._end_pending(pending, by=rows[0])
            return
        if proposal.relation is Relation.SAME and rows:
            same = rows[0]
        if same is not None or not proposal.is_memory:
            self._end_pending(pending, by=same)
        else:
            with self._writer.change(ATOMIC, pending, Change.Action.ACCEPT):
                pending.status, pending.superseded_by = Status.ACTIVE, None
                if any(row.space_id is None for row in rows) and proposal.relation is Relation.CONTRADICTS:
                    pending.space_id = None  # what takes the place of something that was everywhere is so, too (P3)
        if proposal.relation is Relation.CONTRADICTS:
            successor = same or pending
            self._end_all(
                [row for row in rows if row.id != successor.id],
                by=successor if proposal.is_memory else None,
                left=proposal.left,
            )

    def find_ended(self, proposal: PendingVerdict) -> list[AtomicMemory]:
        """Return the atomic memories that accepting a proposal would end or rewrite now."""
        return [] if proposal.relation in (Relation.NEW, Relation.SAME) else self._find(proposal.targets)

    def find_same(self, pending: AtomicMemory) -> AtomicMemory | None:
        """Return the active memory that says this already."""
        return self._same.get(_name(pending.content, pending.source))

    def _replace(self, statement: JudgedStatement, rows: Sequence[AtomicMemory], *, same: AtomicMemory | None) -> None:
        """Put a statement in the place of what it ends; what was said after it is not ended by it but ends it."""
        older = [row for row in rows if row.timestamp <= statement.source.said_at and row is not same]
        newer = [row for row in rows if row.timestamp > statement.source.said_at]
        if newer and same is None:
            self.record_ended(statement, superseded_by=newer[0])
            successor = newer[0]
        elif same is not None:
            self._refresh(same, statement)
            successor = same
        else:
            successor = self._create(statement)
        self._end_all(older, by=successor, left=statement.verdict.left)

    def _end_all(self, rows: Sequence[AtomicMemory], *, by: AtomicMemory | None, left: str | None) -> None:
        for row in rows:
            self._end(row, by=by)
        if not left or len(left) > self._max_length:
            return
        whole = next((row for row in rows if is_grounded(left, said=row.content) and _may_say(row.source, left)), None)
        if whole is None or (by and normalize_value(left) == normalize_value(by.content)):
            return
        if (name := _name(left, whole.source)) not in self._same:
            self._same[name] = self._create_remainder(whole, left)

    def _create_remainder(self, row: AtomicMemory, left: str) -> AtomicMemory:
        """Make an active memory of what of an ended one still holds; it was said where and when that was."""
        memory = AtomicMemory(
            session_id=row.session_id,
            message_id=row.message_id,
            tags=list(row.tags),
            sensitive=list(row.sensitive),
            timestamp=row.timestamp,
            source=row.source,
            left_of=row,
        )
        ATOMIC.assign(memory, {"content": left})
        self._writer.create(ATOMIC, memory, beside=row)
        return memory

    def _refresh(self, same: AtomicMemory, statement: JudgedStatement) -> None:
        """Note that a memory was said again; spelled otherwise, as 王泛森 for 王汎森, it takes the new spelling."""
        is_newer = statement.source.said_at >= same.timestamp
        self._note_again(same, statement, content=statement.content if is_newer else None)

    def _note_again(self, row: AtomicMemory, statement: JudgedStatement, *, content: str | None) -> None:
        respelled = content is not None and spell_value(content) != spell_value(row.content)
        action = Change.Action.EDIT if respelled else Change.Action.REFRESH
        with self._writer.change(ATOMIC, row, action):
            row.tags = _join_tags(row, statement.tags)
            row.sensitive = sort_marks([*row.sensitive, *statement.sensitive])
            if statement.source.said_at >= row.timestamp:
                _extend(row, statement)
            if respelled:
                ATOMIC.assign(row, {"content": content})

    def _merge(self, row: AtomicMemory, statement: JudgedStatement, *, content: str) -> None:
        """Give a memory the `content` that says both; of the two it keeps when and where the later was said."""
        with self._writer.change(ATOMIC, row, Change.Action.MERGE):
            ATOMIC.assign(row, {"content": content})
            row.tags = _join_tags(row, statement.tags)
            row.sensitive = sort_marks([*row.sensitive, *statement.sensitive])
            if statement.event_start and find_event_problem(statement.event_start, statement.event_end) is None:
                row.event_start, row.event_end = statement.event_start, statement.event_end
            if statement.source.said_at >= row.timestamp:
                source = statement.source
                row.timestamp, row.message_id, row.session_id = source.said_at, source.message_id, source.session_id
                _extend(row, statement)

    def _create(self, statement: JudgedStatement) -> AtomicMemory:
        memory = self._insert(statement, status=Status.ACTIVE)
        self._made[statement.number] = memory
        self._same[_name(memory.content, memory.source)] = memory
        return memory

    def _insert(
        self,
        statement: JudgedStatement,
        *,
        status: Status,
        superseded_by: AtomicMemory | None = None,
        proposal: PendingVerdict | None = None,
    ) -> AtomicMemory:
        is_event = find_event_problem(statement.event_start, statement.event_end) is None
        memory = AtomicMemory(
            session_id=statement.source.session_id,
            message_id=statement.source.message_id,
            tags=_clean_tags(statement.tags),
            sensitive=sort_marks(statement.sensitive),
            timestamp=statement.source.said_at,
            source=_get_source(statement),
            event_start=statement.event_start if is_event else None,
            event_end=statement.event_end if is_event else None,
            valid_until=statement.valid_until,
            status=status,
            superseded_by=superseded_by,
            proposal=proposal.to_json() if proposal else None,
        )
        ATOMIC.assign(memory, {"content": statement.content})
        self._writer.create(ATOMIC, memory)
        return memory

    def _end(self, row: AtomicMemory, *, by: AtomicMemory | None) -> None:
        self._writer.supersede(ATOMIC, row, by=by)
        self._rows.pop(row.id, None)
        self._same = {form: memory for form, memory in self._same.items() if memory.id != row.id}

    def _end_pending(self, row: AtomicMemory, *, by: AtomicMemory | None) -> None:
        self._writer.supersede(ATOMIC, row, by=by, action=Change.Action.ACCEPT)

    def _find(self, targets: Sequence[Target]) -> list[AtomicMemory]:
        return [self._rows[target.memory_id] for target in targets if target.memory_id in self._rows]

    def _join(self, row: AtomicMemory, statement: JudgedStatement) -> str | None:
        """The text that says both: the judge's, else one after the other; None where it is too long for one memory."""
        merged = statement.verdict.merged
        fits = merged and len(merged) <= self._max_length and _may_say(row.source, merged)
        if merged and fits and is_grounded(merged, said=row.content):
            return merged
        first, second = row.content, statement.content
        if row.timestamp > statement.source.said_at:
            first, second = second, first
        joined = join_contents(first, second)
        if find_secret(joined):  # what neither says by itself
            return None
        return joined if joined in (first, second) or len(joined) <= self._max_length else None


def _extend(row: AtomicMemory, statement: JudgedStatement) -> None:
    row.valid_until = extend_validity(row.valid_until, given=statement.valid_until, said_at=statement.source.said_at)


def _get_source(statement: JudgedStatement) -> AtomicSource:
    return AtomicSource.ASSISTANT if statement.by_assistant else AtomicSource.USER_STATED


def _name(content: str, source: str) -> tuple[str, str]:
    """What no two active memories that a judge made have in common."""
    return normalize_value(content), str(source)


def _may_say(source: str, text: str) -> bool:
    """Whether a judge's text may stand in a memory of this source: in the assistant's nothing about the person (A6)."""
    return source != AtomicSource.ASSISTANT or bool(read_told(text))


def _clean_tags(tags: Sequence[str]) -> list[str]:
    cleaned = (" ".join(clean_text(tag).split())[:MAX_TAG_CHARACTERS] for tag in tags)
    return [tag for tag in dict.fromkeys(cleaned) if tag][:MAX_TAGS]


def _join_tags(row: AtomicMemory, tags: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*row.tags, *_clean_tags(tags)]))[:MAX_TAGS]


Ending = tuple[Target, str | None]  # A long-term memory, or an item of one, that ends, and what takes its place


def carry_out_long_term(
    *, user: User, targets: Sequence[Target], verdict: Verdict, said: Said, operation: UUID, now: datetime
) -> None:
    """Carry out a verdict on the long-term ones among targets: end them, or write what is left or corrected of them."""
    endings: list[Ending] = []
    for target in keep_long_term(targets):
        if verdict.relation is Relation.CONTRADICTS:
            endings.append((target, _find_left(target, verdict.left, targets=targets, said=said)))
        elif verdict.relation is Relation.REFINES and (text := _find_correction(target, verdict.merged, said=said)):
            endings.append((target, text))
    if endings:
        end_memories(user=user, endings=endings, said=said, operation=operation, now=now)


def keep_long_term(targets: Sequence[Target]) -> list[Target]:
    """Return the long-term memories among targets."""
    return [target for target in targets if target.kind is KindName.LONG_TERM]


def _find_left(one: Target, left: str | None, *, targets: Sequence[Target], said: Said) -> str | None:
    """What is left of a long-term memory: of an item of a list nothing where an atomic memory is named beside it."""
    if not left or not is_grounded(left, said=f"{one.text}\n{said.text}"):
        return None
    beside = one.item is not None and any(target.kind is KindName.ATOMIC for target in targets)
    return None if beside else _drop_key(left, of=one)


def _find_correction(one: Target, merged: str | None, *, said: Said) -> str | None:
    """The text that takes the place of a value which a refinement corrects: one that does not say it all any more."""
    value = one.text.partition(": ")[2]
    if not merged or not is_grounded(merged, said=f"{one.text}\n{said.text}") or is_said_by(value, said=merged):
        return None
    return _drop_key(merged, of=one)


def _drop_key(text: str, *, of: Target) -> str:
    return text.removeprefix(f"{of.text.partition(': ')[0]}:").strip() or text


def list_shown(*, key: str, value: Any) -> Iterator[tuple[int | None, str]]:
    """The texts as which a judge is shown a memory: one, or of a list one for each item, with the item's index."""
    if isinstance(value, list) and value:
        yield from ((index, f"{key}: {readable_text(item)}") for index, item in enumerate(value))
    else:
        yield None, f"{key}: {readable_text(value)}"


def end_memories(*, user: User, endings: Sequence[Ending], said: Said, operation: UUID, now: datetime) -> None:
    """End long-term memories, or put their replacements in the place of what ends.

    Left alone: what says something else by now than the judge was shown, and what was said after this. Five queries.
    """
    targets = [target for target, _text in endings]
    for ledger, rows in _read_active(user, targets, said=said, operation=operation, now=now):
        _end_in_ledger(ledger, rows, endings, said=said)


def _end_in_ledger(
    ledger: Ledger, rows: Mapping[UUID, LongTermMemory], endings: Sequence[Ending], *, said: Said
) -> None:
    ended: defaultdict[UUID, list[tuple[Target, Any, str | None]]] = defaultdict(list)
    for target, replacement in endings:
        row = rows.get(target.memory_id)
        value = None if row is None else _find_shown(row, target)
        if row is not None and value is not None and not ledger.is_stale(row.normalized_key, said_at=said.said_at):
            ended[row.id].append((target, value, replacement))
    by_id = {row.id: row for row in rows.values()}
    for row_id, parts in ended.items():
        row = by_id[row_id]
        texts = list(dict.fromkeys(text for _target, _value, text in parts if text))
        if any(target.item is None for target, _value, _text in parts):
            result: Any = texts[0] if texts else None
        else:
            items = [value for _target, value, _text in parts]
            result = apply_mode(mode=Mode.REMOVE, current=row.value, proposed=items)
            for text in texts:
                result = apply_mode(mode=Mode.ADD, current=result, proposed=text)
        _write(ledger, row, result, said=said)
    ledger.save(with_twins=False)


def add_items(*, user: User, targets: Sequence[Target], text: str, said: Said, operation: UUID, now: datetime) -> None:
    """Add an item to each of the memories, which become lists."""
    for ledger, rows in _read_active(user, targets, said=said, operation=operation, now=now):
        for row in {row.id: row for row in rows.values()}.values():
            _write(ledger, row, apply_mode(mode=Mode.ADD, current=row.value, proposed=text), said=said)
        ledger.save(with_twins=False)


def _read_active(
    user: User, targets: Sequence[Target], *, said: Said, operation: UUID, now: datetime
) -> Iterator[tuple[Ledger, dict[UUID, LongTermMemory]]]:
    """By space, the active memory of the key of each that is named: another verdict of the answer may have written it.

    What a verdict from a space does to what is everywhere has been accepted by the owner (P3).
    """
    mine = LongTermMemory.objects.filter(user=user, id__in={target.memory_id for target in targets})
    spaces: defaultdict[UUID | None, dict[UUID, str]] = defaultdict(dict)
    for row_id, key, where in mine.values_list("id", "normalized_key", "space_id"):
        spaces[where][row_id] = key
    for space_id, keys in spaces.items():
        there = user.within(space_id)
        ledger = Ledger(there, keys.values(), now=now, operation=operation, message_id=said.message_id)
        yield ledger, {row_id: row for row_id, key in keys.items() if (row := ledger.get(key).active) is not None}


def _find_shown(row: LongTermMemory, target: Target) -> Any:
    """The value, or the item of it, that was shown; None where the memory says something else by now."""
    for item, text in list_shown(key=row.key, value=row.value):
        if text == target.text and (item is None) == (target.item is None):
            return row.value if item is None else row.value[item]
    return None


def _write(ledger: Ledger, active: LongTermMemory, result: Any, *, said: Said) -> None:
    proposal = Proposal(
        category=active.category,
        key=active.key,
        value=result,
        source=Source.USER_STATED,
        confidence=max(STATED_CONFIDENCE, active.confidence),
        mode=Mode.REPLACE,
        normalized_key=active.normalized_key,
    )
    ledger.apply(Decision(Action.SUPERSEDED, result), proposal, said)
