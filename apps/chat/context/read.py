"""Read from the database what may go into a turn's context; `apps.chat.context.build` decides what does."""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, tzinfo
from functools import cached_property
from itertools import islice
from typing import Any

from django.conf import settings as django_settings

from apps.accounts.models import User
from apps.accounts.types import MemorySettings
from apps.chat.context.build import build_context
from apps.chat.context.types import (
    ATOMIC,
    LONG_TERM,
    MESSAGE,
    CaseNotes,
    ClientLine,
    ClientPrompt,
    Context,
    ContextInput,
    Form,
    Profile,
    RecalledMemory,
    SessionNote,
)
from apps.chat.emotions import ReplyStrategy, StrategyTable, get_strategy
from apps.conversations.attachments import read_sent_files
from apps.conversations.types import Line, SessionSpace, Window
from apps.core import words
from apps.core.text.clean import readable_text
from apps.core.text.commands import Reading, read_message
from apps.core.text.fold import normalize_value
from apps.core.text.sentences import cut_client_blocks
from apps.core.times import MOMENT
from apps.core.tracing import span
from apps.memory import kinds as memory_kinds
from apps.memory.contexts import list_session_contexts
from apps.memory.models import AtomicMemory, LongTermMemory
from apps.memory.recall.both import RecalledMemories, recall_memories
from apps.memory.recall.former import REMOVED, FormerMemory, Shown, cut_ended, cut_replies, recall_former, tells_all
from apps.memory.recall.query import find_earlier
from apps.memory.recall.rounds import RecalledRound, cut_round
from apps.memory.types import AtomicCandidate, Candidate, KindName, ScoredAtomicMemory, ScoredMemory
from apps.memory.vectors.queries import QueryEmbedding, start_embedding
from apps.memory.working import WorkingMemorySnapshot, WorkingMemoryState
from apps.profile.services import get_user_profile
from apps.summaries.services import get_recent_session_summaries

# Memories of each kind that are read where a message asks for all; the token budget leaves fewer.
MAX_EVERYTHING = 500
# More than any text has, so that what is read of a file fills its budget.
MOST_CHARS_PER_TOKEN = 8

# Of a long-term memory's score, as a turn keeps them.
COMPONENTS = tuple(component.field for component in words.COMPONENTS)


@dataclass(frozen=True)
class TurnInput:
    """What a turn starts from: all that its prompt is made of besides what is remembered.

    `started`: when its opening began, as `time.perf_counter` says it. `window`: what was said before `message`.
    `recalls`: whether anything remembered may be read (not in a temporary session, C7). `paused_by`: what pauses
    remembering, "" for nothing (D5). `said_at`: when the message was
    said, if not `now`. `model`: the one that the session is set to. `space`: the one that it is in, from which `user`
    looks (P2). `submitted`: a form that was sent in the message's place (H1). `client`: what a client brings along; a
    history of its own takes the window's place (T3). `wait_for_embedding`: what `embed_message` gave, where the message
    is being embedded already.
    """

    user: User
    settings: MemorySettings
    table: StrategyTable
    now: datetime
    started: float = field(default_factory=time.perf_counter)
    session_id: uuid.UUID = field(default_factory=uuid.uuid4)
    message: str = ""
    window: Window = field(default_factory=Window)
    working: WorkingMemorySnapshot | None = None
    recalls: bool = True
    paused_by: str = ""
    said_at: datetime | None = None
    model: str = ""
    space: SessionSpace | None = None
    submitted: Form | None = None
    client: ClientPrompt | None = None
    wait_for_embedding: Callable[[], QueryEmbedding | None] | None = None

    @property
    def learner(self) -> User:
        """The person, as what is learned here is stored (P3)."""
        return self.user.within(self.space.id if self.space and self.space.learns else None)

    @property
    def strategy(self) -> ReplyStrategy | None:
        """The strategy of the reply (E3), None without the memory system (E6)."""
        if not django_settings.USE_MEMORY_EMOTION_SYSTEM:
            return None
        return get_strategy(self.working.last_emotion if self.working else None, table=self.table)

    @property
    def uses_memory(self) -> bool:
        """Whether memories are recalled for the message."""
        return self.recalls and self.strategy is not None and self.strategy.use_memory

    @property
    def keeps_window(self) -> bool:
        """Whether what is stored of the conversation is what was said before the message."""
        return self.client is None or self.client.history is None

    @cached_property
    def history(self) -> Sequence[Line | ClientLine]:
        """What was said before the message, oldest first."""
        if self.client and self.client.history is not None:
            return self.client.history
        return [line for exchange in self.window.rounds for line in exchange]

    @property
    def said(self) -> list[str]:
        """The texts of the history."""
        return [line.content for line in self.history]

    @property
    def shown_ids(self) -> list[uuid.UUID]:
        """The messages that the prompt has already: those of the window, and of a client's own history."""
        own = [line.id for line in (self.client.history or ()) if line.id is not None] if self.client else []
        return [*own, *(line.id for exchange in self.window.rounds for line in exchange)]

    @cached_property
    def asked(self) -> Reading:
        """What the message asks of the memory (L9)."""
        if self.submitted is not None:
            return Reading()
        return read_message(self.message, before=[line.content for line in self.history if line.role == "user"])


def embed_message(message: str, *, said: Sequence[str]) -> Callable[[], QueryEmbedding | None]:
    """Start to embed a message, and return what waits for its vector. `said`: what was said before it."""
    own = cut_client_blocks(message)
    return start_embedding(own, earlier=find_earlier(own, said))


def read_context(
    given: TurnInput,
    *,
    actions: Mapping[str, Any] | None = None,
    candidates: Sequence[uuid.UUID] = (),
    recalled: RecalledMemories | None = None,
    tools: Sequence[str] = (),
) -> Context:
    """Return the context of a turn; writes and counts nothing.

    `actions`: what was done in memory because the message asked for it (L9). `candidates`: memories that a request to
    forget may mean, which the model is shown also where they are not recalled. `recalled`: what was recalled for the
    message already, under the same settings. `tools`: names of those that the model may call (T1).
    """
    user, settings, working, said = given.user, given.settings, given.working, given.said
    remembers = given.recalls and given.strategy is not None
    everything = remembers and recalled is None and given.asked.lists
    own = cut_client_blocks(given.message)
    wait_for_embedding = None
    if recalled is None and given.uses_memory and not everything:
        # It continues while PostgreSQL reads the layers before the memories.
        wait_for_embedding = given.wait_for_embedding or embed_message(given.message, said=said)
    profile = _read_profile(user) if remembers and settings.enable_user_profile else None
    cases = _read_cases(user, given.session_id) if remembers else []
    session_notes = _read_session_notes(given) if remembers else []
    summary = given.window.summary if given.keeps_window else None
    if remembers and summary:
        summary = _leave_out_ended(user, summary)
    query_embedding = None
    if wait_for_embedding is not None:
        with span("retrieve"):
            query_embedding = wait_for_embedding()
            recalled = recall_memories(
                user=user,
                message=own,
                earlier=find_earlier(own, said),
                settings=settings,
                query_embedding=query_embedding,
                working_memory=working,
                rounds_without=given.shown_ids,
                now=given.now,
            )
    memories = list[RecalledMemory]()
    if everything:
        memories = _read_memories(given, muted=False)
    elif given.uses_memory and recalled:
        former = recall_former(user=user, message=own, limit=settings.retrieval_limit, query_embedding=query_embedding)
        memories = _list_recalled(user, recalled, former=former, message=own, said=said, settings=settings)
        shown = {memory.id for memory in memories}
        if asked_about := [memory_id for memory_id in candidates if str(memory_id) not in shown]:
            memories = [*_read_memories(given, id__in=asked_about), *memories]
    temporary = not given.recalls and given.strategy is not None
    return build_context(
        ContextInput(
            message=given.message,
            now=(given.said_at or given.now).astimezone(settings.zone),
            budget=settings.token_budget,
            context_limit=settings.context_limit,
            strategy=given.strategy,
            emotions=tuple(given.table),
            topic=working.current_topic if working else None,
            variables=working.variables.plain if working else {},
            forms=read_forms(working),
            submitted=given.submitted,
            files=read_sent_files(user, given.session_id, chars=settings.token_budget * MOST_CHARS_PER_TOKEN),
            actions=list_refused(given.asked) if temporary else actions or {},
            temporary=temporary,
            paused_by=given.paused_by if remembers else "",
            guarded=settings.sensitive.guarded,
            profile=profile,
            cases=cases,
            session_notes=session_notes,
            memories=memories,
            everything=everything,
            rounds=given.window.rounds if given.keeps_window else (),
            summary=summary,
            client=given.client,
            instructions=given.space.instructions if given.space else "",
            tools=tools,
            masked=settings.mask_secrets,
        )
    )


def _read_memories(given: TurnInput, **only: Any) -> list[RecalledMemory]:
    """Active memories of both kinds, the newest of each first and at most `MAX_EVERYTHING` of it."""
    entries, contents = (
        kind.active(given.user).filter(**only)[:MAX_EVERYTHING]
        for kind in (memory_kinds.LONG_TERM, memory_kinds.ATOMIC)
    )
    return [
        *(_from_entry(row, settings=given.settings) for row in entries),
        *(_from_content(row, settings=given.settings) for row in contents),
    ]


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


def _read_session_notes(given: TurnInput) -> list[SessionNote]:
    limit, zone = given.settings.session_summary_limit, given.settings.zone
    if not limit:
        return []
    found = get_recent_session_summaries(user=given.user, limit=limit, exclude_session_id=given.session_id)
    return [
        SessionNote(
            id=str(summary.id),
            title=summary.title,
            snippet=summary.snippet,
            day=summary.last_active_at.astimezone(zone).date(),
        )
        for summary in found
    ]


def _leave_out_ended(user: User, summary: Line) -> Line | None:
    """The summary of this conversation without what was corrected or forgotten since."""
    (content,) = cut_ended(user, [summary.content])
    return None if content == REMOVED else replace(summary, content=content)


def _list_recalled(
    user: User,
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
    long_term = [_from_long_term(memory, settings=settings) for memory in found.long_term]
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
        is_told = tells_all(told.get(past.message_id, ()), past.said)
        return not is_told and shown.add(past.said) and normalize_value(past.said) != asked

    rounds = list(islice(filter(adds, (_cut(past, message=message) for past in found.rounds)), settings.rounds_top_n))
    return [
        *long_term,
        *(_from_atomic(memory, settings=settings) for memory in kept),
        *(_from_former(memory, settings=settings) for memory in former),
        *(_from_round(past, settings=settings) for past in _leave_out_ended_replies(user, rounds)),
    ]


def _leave_out_ended_replies(user: User, rounds: Sequence[RecalledRound]) -> list[RecalledRound]:
    """The rounds, their replies without what no longer holds or is not to come up: they repeat what others taught."""
    replies = cut_replies(user, [(past.reply, past.create_time) for past in rounds])
    return [replace(past, reply=reply) for past, reply in zip(rounds, replies, strict=True)]


def _cut(past: RecalledRound, *, message: str) -> RecalledRound:
    said, reply = cut_round(past.said, past.reply, message=message)
    return replace(past, said=said, reply=reply)


def _from_long_term(memory: ScoredMemory, *, settings: MemorySettings) -> RecalledMemory:
    components = {name: getattr(memory, name) for name in COMPONENTS}
    return replace(_from_entry(memory.candidate, settings=settings), score=memory.score, components=components)


def _from_entry(entry: LongTermMemory | Candidate, *, settings: MemorySettings) -> RecalledMemory:
    """A long-term memory that nothing was scored of."""
    value = readable_text(entry.value)
    return RecalledMemory(
        id=str(entry.id),
        kind=LONG_TERM,
        text=f"{entry.key}: {value}",
        line={
            "category": entry.category,
            "key": entry.key,
            "value": value,
            **describe_until(entry.valid_until, zone=settings.zone),
        },
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
    components = dict.fromkeys(COMPONENTS, 0.0) if memory.kind is KindName.LONG_TERM else scores
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
        line={"text": memory.content, "day": str(day), **describe_until(memory.valid_until, zone=settings.zone)},
        score=0.0,
        components={"keyword_score": 0.0, "semantic_score": 0.0, "parts": {}},
    )


def describe_until(valid_until: datetime | None, *, zone: tzinfo) -> dict[str, str]:
    """What layer 3 says of when a memory ceases to hold: the last day on which it does (D3)."""
    return {"until": str((valid_until.astimezone(zone) - MOMENT).date())} if valid_until else {}


def list_refused(asked: Reading) -> dict[str, list[str]]:
    """What a message of a temporary session asks of the memory: none of it is done (C7), and the prompt says so."""
    return {"temporary": [command.text for command in asked.commands if command.text]}


def read_forms(working: WorkingMemorySnapshot | WorkingMemoryState | None) -> list[Form]:
    """Return the forms of a working memory, in order of submission."""
    forms = working.variables.forms if working else {}
    return [Form(title=title, fields=value["fields"]) for title, value in forms.items()]
