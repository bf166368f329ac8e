"""Read from the database what may go into a turn's context; `apps.chat.context.build` decides what does."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from itertools import islice
from typing import Any

from apps.accounts.models import User
from apps.accounts.types import MemorySettings
from apps.chat.context.build import build_context
from apps.chat.context.types import (
    ATOMIC,
    LONG_TERM,
    MESSAGE,
    AttachedFile,
    CaseNotes,
    ClientPrompt,
    Context,
    ContextInput,
    Form,
    Profile,
    RecalledMemory,
    SessionNote,
)
from apps.chat.types import ReplyStrategy, StrategyTable
from apps.conversations.selectors import read_sent_files
from apps.conversations.types import Line, Window
from apps.core.text.client_blocks import cut_client_blocks
from apps.core.text.commands import Reading, read_message
from apps.core.text.fold import normalize_value
from apps.core.text.json_text import readable_text
from apps.core.tracing import span
from apps.memory.models import AtomicMemory, LongTermMemory
from apps.memory.selectors import (
    REMOVED,
    FormerMemory,
    QueryEmbedding,
    RecalledMemories,
    RecalledRound,
    Shown,
    WorkingMemorySnapshot,
    cut_ended,
    cut_round,
    find_earlier,
    list_atomic_memories,
    list_memories,
    list_session_contexts,
    recall_former,
    recall_memories,
    start_embedding,
    tells_all,
)
from apps.memory.types import AtomicCandidate, Candidate, MemoryKind, ScoredAtomicMemory, ScoredMemory
from apps.profile.selectors import get_user_profile
from apps.summaries.selectors import get_recent_session_summaries

MAX_EVERYTHING = 500
"""Memories of each kind that are read where a message asks for all; the token budget leaves fewer."""

MOST_CHARS_PER_TOKEN = 8
"""More than any text has, so that what is read of a file fills its budget."""

COMPONENTS = (
    "keyword_score",
    "semantic_score",
    "category_boost",
    "recency_score",
    "frequency_score",
    "confidence",
    "topic_boost",
)


def read_context(
    user: User,
    *,
    message: str,
    session_id: uuid.UUID,
    window: Window,
    strategy: ReplyStrategy | None,
    table: StrategyTable,
    working: WorkingMemorySnapshot | None,
    settings: MemorySettings,
    now: datetime,
    recalls: bool,
    asked: Reading | None = None,
    said_at: datetime | None = None,
    submitted: Form | None = None,
    actions: Mapping[str, Any] | None = None,
    candidates: Sequence[uuid.UUID] = (),
    wait_for_embedding: Callable[[], QueryEmbedding | None] | None = None,
    recalled: RecalledMemories | None = None,
    client: ClientPrompt | None = None,
    tools: Sequence[str] = (),
    files: Sequence[AttachedFile] | None = None,
) -> Context:
    """Return the context of a turn with `message`; writes and counts nothing.

    `window`: what was said before the message. `recalls`: whether anything remembered may be read (not in a temporary
    session, C7). `asked`: what the message asks of the memory (L9); None reads it. `said_at`: when the message was
    said, if not now. `actions`: what was done in memory because it asked for it. `candidates`: memories that a request
    to forget may mean, which the model is shown also where they are not recalled. `wait_for_embedding`: what
    `start_embedding` gave, where the message is being embedded already. `recalled`: what was recalled for it already,
    under the same settings. `client`: what a client brings along; a history of its own takes the window's place (T3).
    `tools`: names of those that the model may call (T1). `files`: None reads those of the session.
    """
    remembers = recalls and strategy is not None
    uses_memory = remembers and strategy is not None and strategy.use_memory
    asked = read_message(message) if asked is None else asked
    everything = remembers and recalled is None and asked.lists
    history = client.history if client else None
    keeps_window = history is None
    said = list_said(window) if history is None else [line.content for line in history]
    own = cut_client_blocks(message)
    earlier = find_earlier(own, said)
    if recalled is not None or not uses_memory or everything:
        wait_for_embedding = None
    elif wait_for_embedding is None:
        # It continues while PostgreSQL reads the layers before it.
        wait_for_embedding = start_embedding(own, earlier=earlier)
    profile = _read_profile(user) if remembers and settings.enable_user_profile else None
    cases = _read_cases(user, session_id) if remembers else []
    session_notes = _read_session_notes(user, session_id, settings=settings) if remembers else []
    summary = window.summary if keeps_window else None
    if remembers and summary:
        summary = _leave_out_ended(user, summary)
    query_embedding = None
    if wait_for_embedding is not None:
        with span("retrieve"):
            query_embedding = wait_for_embedding()
            recalled = recall_memories(
                user=user,
                message=own,
                earlier=earlier,
                settings=settings,
                query_embedding=query_embedding,
                working_memory=working,
                rounds_without=list_shown_ids(window, client),
                now=now,
            )
    temporary = not recalls and strategy is not None
    memories = list[RecalledMemory]()
    if uses_memory and recalled:
        former = recall_former(user=user, message=own, limit=settings.retrieval_limit, query_embedding=query_embedding)
        memories = _list_recalled(recalled, former=former, message=own, said=said, settings=settings)
        shown = {memory.id for memory in memories}
        asked_about = [memory_id for memory_id in candidates if str(memory_id) not in shown]
        memories = [*_read_memories(user, asked_about, settings=settings), *memories]
    return build_context(
        ContextInput(
            message=message,
            now=(said_at or now).astimezone(settings.zone),
            budget=settings.token_budget,
            context_limit=settings.context_limit,
            strategy=strategy,
            emotions=tuple(table),
            topic=working.current_topic if working else None,
            variables=working.variables.plain if working else {},
            forms=_read_forms(working),
            submitted=submitted,
            files=_read_files(user, session_id, budget=settings.token_budget) if files is None else files,
            actions=list_refused(asked) if temporary else actions or {},
            temporary=temporary,
            profile=profile,
            cases=cases,
            session_notes=session_notes,
            memories=_list_everything(user, settings=settings) if everything else memories,
            everything=everything,
            rounds=window.rounds if keeps_window else (),
            summary=summary,
            client=client,
            tools=tools,
        )
    )


def list_said(window: Window) -> list[str]:
    """What was said before, oldest first."""
    return [line.content for exchange in window.rounds for line in exchange]


def list_shown_ids(window: Window, client: ClientPrompt | None = None) -> list[uuid.UUID]:
    """The messages that the prompt has already: those of the window, or of a client's own history."""
    own = [line.id for line in (client.history or ()) if line.id is not None] if client else []
    return [*own, *(line.id for exchange in window.rounds for line in exchange)]


def _list_everything(user: User, *, settings: MemorySettings) -> list[RecalledMemory]:
    """All that is remembered and not muted, the newest of each kind first and at most `MAX_EVERYTHING` of it."""
    entries = list_memories(user).filter(status="active", muted=False)[:MAX_EVERYTHING]
    contents = list_atomic_memories(user).filter(status="active", muted=False)[:MAX_EVERYTHING]
    return [*map(_from_entry, entries), *(_from_content(row, settings=settings) for row in contents)]


def _read_memories(user: User, ids: Collection[uuid.UUID], *, settings: MemorySettings) -> list[RecalledMemory]:
    if not ids:
        return []
    entries = list_memories(user).filter(status="active", id__in=ids)
    contents = list_atomic_memories(user).filter(status="active", id__in=ids)
    return [*map(_from_entry, entries), *(_from_content(row, settings=settings) for row in contents)]


def _read_profile(user: User) -> Profile | None:
    found = get_user_profile(user=user)
    if found is None or found.is_empty:
        return None
    return Profile(version=found.version, sections=found.texts)


def _read_cases(user: User, session_id: uuid.UUID) -> list[CaseNotes]:
    return [
        CaseNotes(
            id=str(context.id),
            title=context.title,
            content=context.content,
            entries=[f"{entry.author}: {entry.text}" if entry.author else entry.text for entry in context.entries],
        )
        for context in list_session_contexts(user, session_id)
    ]


def _read_files(user: User, session_id: uuid.UUID, *, budget: int) -> list[AttachedFile]:
    found = read_sent_files(user, session_id, chars=budget * MOST_CHARS_PER_TOKEN)
    return [AttachedFile(str(file.id), file.name, file.text, file.length) for file in found]


def _read_session_notes(user: User, session_id: uuid.UUID, *, settings: MemorySettings) -> list[SessionNote]:
    if not settings.session_summary_limit:
        return []
    found = get_recent_session_summaries(user=user, limit=settings.session_summary_limit, exclude_session_id=session_id)
    return [
        SessionNote(
            id=str(summary.id),
            title=summary.title,
            snippet=summary.snippet,
            day=summary.last_active_at.astimezone(settings.zone).date(),
        )
        for summary in found
    ]


def _leave_out_ended(user: User, summary: Line) -> Line | None:
    """The summary of this conversation without what was corrected or forgotten since."""
    (content,) = cut_ended(user, [summary.content])
    return None if content == REMOVED else replace(summary, content=content)


def _list_recalled(
    found: RecalledMemories,
    *,
    former: Sequence[FormerMemory],
    message: str,
    said: Sequence[str],
    settings: MemorySettings,
) -> list[RecalledMemory]:
    """What is remembered of the message's matter: long-term memories, atomic ones, what used to be, then past rounds.

    Their scores have different scales (K5, A4, A5), so none is ranked against another kind. What says only what was
    said in this conversation, or what a memory before it says, leaves its place to the next. A summary never takes a
    memory's place: it tells less.
    """
    long_term = [_from_long_term(memory) for memory in found.long_term]
    shown = Shown([*said, *(memory.text for memory in long_term)])
    kept = list(islice((memory for memory in found.atomic if shown.add(memory.candidate.content)), settings.rag_top_n))
    told: defaultdict[uuid.UUID | None, list[str]] = defaultdict(list)
    for entry, shown_entry in zip(found.long_term, long_term, strict=True):
        told[entry.candidate.message_id].append(shown_entry.text)
    for memory in kept:
        told[memory.candidate.message_id].append(memory.candidate.content)
    # A past round that repeats the message itself ("Thanks!") says nothing, either.
    shown.add(message)
    asked = normalize_value(message)

    def adds(past: RecalledRound) -> bool:
        repeats = normalize_value(past.said) == asked
        is_told = tells_all(told.get(past.message_id, ()), past.said)
        return not is_told and not repeats and shown.add(past.said)

    rounds = filter(adds, (_cut(past, message=message) for past in found.rounds))
    return [
        *long_term,
        *(_from_atomic(memory, settings=settings) for memory in kept),
        *(_from_former(memory, settings=settings) for memory in former),
        *(_from_round(past, settings=settings) for past in islice(rounds, settings.rounds_top_n)),
    ]


def _cut(past: RecalledRound, *, message: str) -> RecalledRound:
    said, reply = cut_round(past.said, past.reply, message=message)
    return replace(past, said=said, reply=reply)


def _from_long_term(memory: ScoredMemory) -> RecalledMemory:
    components = {name: getattr(memory, name) for name in COMPONENTS}
    return replace(_from_entry(memory.candidate), score=memory.score, components=components)


def _from_entry(entry: LongTermMemory | Candidate) -> RecalledMemory:
    """A long-term memory that nothing was scored of."""
    value = readable_text(entry.value)
    return RecalledMemory(
        id=str(entry.id),
        kind=LONG_TERM,
        text=f"{entry.key}: {value}",
        line={"category": entry.category, "key": entry.key, "value": value},
        score=0.0,
        components=dict.fromkeys(COMPONENTS, 0.0),
    )


def _from_atomic(memory: ScoredAtomicMemory, *, settings: MemorySettings) -> RecalledMemory:
    components = {
        "keyword_score": round(memory.keyword_score, 4),
        "semantic_score": round(memory.semantic_score, 4),
        "parts": {name: round(points, 4) for name, points in memory.parts.items()},
    }
    return replace(_from_content(memory.candidate, settings=settings), score=memory.score, components=components)


def _from_former(memory: FormerMemory, *, settings: MemorySettings) -> RecalledMemory:
    """What held `until` a day: recalled only where the message asks what used to be."""
    until = str(memory.until.astimezone(settings.zone).date())
    said = {"day": str(memory.said_at.astimezone(settings.zone).date())} if memory.said_at else {}
    scores = {"keyword_score": 0.0, "semantic_score": 0.0, "parts": {}}
    components = dict.fromkeys(COMPONENTS, 0.0) if memory.kind is MemoryKind.LONG_TERM else scores
    return RecalledMemory(
        id=str(memory.id),
        kind=str(memory.kind),
        text=memory.text,
        line={**memory.line, **said, "until": until},
        score=memory.score,
        components={**components, "until": until},
    )


def _from_round(past: RecalledRound, *, settings: MemorySettings) -> RecalledMemory:
    day = past.create_time.astimezone(settings.zone).date()
    return RecalledMemory(
        id=str(past.message_id),
        kind=MESSAGE,
        text=past.said,
        line=describe_round(past.said, past.reply, day=day),
        score=past.score,
        components={
            "keyword_score": round(past.keyword_score, 4),
            "semantic_score": round(past.semantic_score, 4),
            "message_id": str(past.message_id),
            "session_id": str(past.session_id),
            "role": "user",
            "created_at": past.create_time.isoformat(),
        },
    )


def describe_round(said: str, reply: str, *, day: date) -> dict[str, str]:
    """What layer 3 says of a past round."""
    return {"day": str(day), "user": said, "assistant": reply} if reply else {"day": str(day), "user": said}


def _from_content(memory: AtomicMemory | AtomicCandidate, *, settings: MemorySettings) -> RecalledMemory:
    """An atomic memory that nothing was scored of."""
    day = (memory.event_start or memory.timestamp).astimezone(settings.zone).date()
    return RecalledMemory(
        id=str(memory.id),
        kind=ATOMIC,
        text=memory.content,
        line={"text": memory.content, "day": str(day)},
        score=0.0,
        components={"keyword_score": 0.0, "semantic_score": 0.0, "parts": {}},
    )


def list_refused(asked: Reading) -> dict[str, list[str]]:
    """What a message of a temporary session asks of the memory: none of it is done (C7), and the prompt says so."""
    return {"temporary": [command.text for command in asked.commands if command.text]}


def _read_forms(working: WorkingMemorySnapshot | None) -> list[Form]:
    if working is None:
        return []
    return [Form(title=title, fields=value["fields"]) for title, value in working.variables.forms.items()]
