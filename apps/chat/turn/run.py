"""Run a turn: open, ask the model, store; reported as typed events while it runs. The one engine of every door.

A turn runs in a task of its own: a client that leaves does not stop it, and no database connection or lock is held
while the model answers (C6).
"""

from __future__ import annotations

import asyncio
import contextvars
import time
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import structlog
from django.conf import settings
from django.core.cache import cache
from django.db import IntegrityError, InterfaceError, OperationalError
from django.utils import timezone
from prometheus_client import Counter, Histogram

from apps.chat.prompts import NO_ANALYSIS, Analysis, decode_answer, get_turn_format, read_analysis
from apps.chat.turn.clients import FinishReason, RelayedAnswer, ReplyLimit, add_layers
from apps.chat.turn.close import (
    FAILED,
    Answer,
    close_turn,
    describe_unstored,
    get_stored_turn,
    user_message_to_wire,
)
from apps.chat.turn.commands import ask_what_to_forget
from apps.chat.turn.open import milliseconds_since
from apps.chat.turn.process import SECONDS_BETWEEN_ATTEMPTS, journal
from apps.chat.turn.tools import ToolRounds, ToolRunner, as_tool_calling
from apps.chat.turn.types import Delta, Done, Failed, OpenTurn, Relayed, Started, TurnEvent
from apps.conversations.histories import await_tools
from apps.conversations.models import MessageStatus
from apps.conversations.rounds import fail_round
from apps.conversations.types import OpenRound
from apps.core.db import in_database
from apps.core.errors import Conflict, JiyiError, ModelUnavailable, NotFound
from apps.core.http import run_in_thread_if_large
from apps.core.llm.client import trace_call
from apps.core.llm.metering import ModelCall, collect_calls
from apps.core.llm.reading import TextStream
from apps.core.llm.relaying import relay
from apps.core.llm.types import ModelRequest
from apps.core.outages import describe_outage
from apps.core.text.clean import estimate_tokens
from apps.core.tracing import Span, get_traceparent, span
from apps.costs.ledger import record_rest

_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160)
TURN_SECONDS = Histogram("jiyi_turn_seconds", "Turns from beginning to end", ["outcome"], buckets=_SECONDS)
FIRST_TOKEN_SECONDS = Histogram(
    "jiyi_turn_first_token_seconds", "Turns from beginning to the first piece of the reply", buckets=_SECONDS
)
TURN_FAILURES = Counter("jiyi_turn_failures", "Turns that failed after their message was stored", ["reason"])


logger = structlog.get_logger(__name__)
# What a model may write besides a reply that its client limits: emotion, topic, memories, and the JSON around it.
ANALYSIS_TOKENS = 1_000
# How often storing a finished reply is tried: a deadlock or a restarting database must not cost the reply.
STORE_ATTEMPTS = 5
# So that a stop takes less than a second, wherever it arrives.
SECONDS_BETWEEN_LOOKS = 0.4
# The same message may be answered again soon, and that turn is not to be stopped by what was meant for this one.
MARK_KEPT_SECONDS = 5.0

# The loop itself keeps only weak references to its tasks.
_running: set[asyncio.Task[None]] = set()
_looking: set[asyncio.Task[None]] = set()


class TurnRun:
    """One running turn. `opened` settles once its message is stored; `events` then tells the rest."""

    def __init__(self) -> None:
        self.finish_reason: FinishReason = "stop"
        self._opened: asyncio.Future[OpenTurn] = asyncio.get_running_loop().create_future()
        self._events: asyncio.Queue[TurnEvent] = asyncio.Queue()
        self._listening: asyncio.Task[Any] | None = None  # this turn's own, while the model answers
        self._calls: list[ModelCall] = []  # of models, and not recorded yet
        self._stopped = False
        self._is_unmarked = False  # failed, and not yet marked as it

    def stop(self) -> None:
        """End the model's answer here: what has come is the reply."""
        if self._stopped:
            return
        self._stopped = True
        if self._listening is not None:
            self._listening.cancel()

    async def opened(self) -> OpenTurn:
        """Return once the message is stored. Raises what refused it: nothing was changed then."""
        return await asyncio.shield(self._opened)

    async def events(self) -> AsyncIterator[TurnEvent]:
        """Yield `Started`, then `Delta`s, then `Done` or `Failed`. For one reader."""
        while True:
            event = await self._events.get()
            yield event
            if isinstance(event, Done | Failed):
                return

    async def result(self) -> Any:
        """Wait for the end and return the turn on the wire, or raise what it failed with."""
        async for event in self.events():
            if isinstance(event, Done):
                return event.result
            if isinstance(event, Failed):
                raise event.error
        raise AssertionError("a turn ends with Done or Failed")

    async def run(self, open_turn: Callable[[], OpenTurn], *, parent: str = "") -> None:
        """Run the turn from beginning to end; every outcome becomes an event. `parent`: the span it was asked in."""
        with span("turn", parent=parent) as current, collect_calls() as self._calls:
            await self._run(open_turn, current)

    async def _run(self, open_turn: Callable[[], OpenTurn], current: Span) -> None:
        started = time.perf_counter()
        try:
            with span("open turn"):
                turn = await in_database(open_turn)
        except Exception as error:
            current.fail(type(error).__name__)
            self._opened.set_exception(error)
            self._opened.exception()  # marks it as seen, should nobody be waiting any more
            return
        self._opened.set_result(turn)
        current.set(jiyi__user__id=str(turn.user.pk), gen_ai__conversation__id=str(turn.session_id))
        if turn.round is not None:
            current.set(jiyi__message__id=str(turn.round.message_id))
        self._events.put_nowait(Started(user_message_to_wire(turn, status=MessageStatus.PENDING)))
        if turn.round is not None:
            journal.add(turn.round)
            _turns[turn.round.message_id] = self
            if not any(task.get_loop() is asyncio.get_running_loop() for task in _looking):
                _run_in_background(_look_for_marks(), kept_in=_looking)
        try:
            result = await self._answer(turn)
            TURN_SECONDS.labels("done").observe(time.perf_counter() - started)
            await self._end(turn, Done(result))
        except Exception as error:
            failure = await self._fail(turn, error)
            reason = str(failure.fields.get("reason") or failure.code)
            TURN_SECONDS.labels("failed").observe(time.perf_counter() - started)
            TURN_FAILURES.labels(reason).inc()
            current.fail(reason)
            await self._end(turn, Failed(failure))
        except asyncio.CancelledError:
            current.fail("stopped")
            stopped = ModelUnavailable("The server was stopped.", fields={"reason": "stopped"})
            await self._end(turn, Failed(await self._fail(turn, stopped)))
            raise
        finally:
            if turn.round is not None:
                if _turns.get(turn.round.message_id) is self:  # another one of the same message stays
                    del _turns[turn.round.message_id]
                if not self._is_unmarked:
                    journal.remove(turn.round)

    async def _end(self, turn: OpenTurn, event: Done | Failed) -> None:
        """Report the end, once the calls of models that nothing was stored with are recorded."""
        if self._calls:
            await in_database(record_rest, self._calls, owners={turn.owner: 1})
        self._events.put_nowait(event)

    async def _answer(self, turn: OpenTurn) -> Any:
        timings = dict(turn.opening)
        if turn.relayed is not None:
            return await self._relay(turn, turn.relayed, timings=timings)
        if turn.reply is None:
            answer = await self._ask(turn, timings=timings)
        else:
            answer = Answer(reply=turn.reply, analysis=NO_ANALYSIS)
            self._events.put_nowait(Delta(answer.reply))
        if not answer.reply.strip() and answer.stopped:
            raise ModelUnavailable("The reply was stopped before its first word.", fields={"reason": "cancelled"})
        if not answer.reply.strip() and self.finish_reason == "stop":
            raise ModelUnavailable("The model gave no reply.", fields={"reason": "bad_answer"})
        if turn.round is not None and answer.analysis is not None:
            besides = ask_what_to_forget(
                message=turn.round.content,
                results=turn.commands,
                memories=turn.context.memories,
                numbers=answer.analysis.forget,
            )
            if besides:
                self._events.put_nowait(Delta(besides))
                answer = replace(answer, reply=answer.reply + besides)
        return await self._store(turn, answer, timings=timings)

    async def _store(self, turn: OpenTurn, answer: Answer, *, timings: Mapping[str, float]) -> Any:
        if turn.client is not None and not turn.client.stored:
            emotion = answer.analysis.emotion.to_wire() if answer.analysis and turn.strategy else None
            return describe_unstored(turn, emotion=emotion, runs=answer.runs)
        reply_id = (turn.client.reply_id if turn.client else None) or uuid.uuid4()
        calls = list(self._calls)
        for attempt in range(1, STORE_ATTEMPTS + 1):
            try:
                with span("store turn"):
                    result = await in_database(
                        close_turn,
                        turn,
                        answer,
                        reply_id=reply_id,
                        timings=timings,
                        now=timezone.now(),
                        calls=calls,
                    )
                del self._calls[: len(calls)]  # not what has come since, such as a late vector
                return result
            except (OperationalError, InterfaceError):
                if attempt == STORE_ATTEMPTS:
                    raise
                await asyncio.sleep(0.05 * 4**attempt)
            except (Conflict, IntegrityError):
                # A connection that is lost during the commit leaves open whether it was one: then the reply is there.
                if attempt > 1:
                    with suppress(NotFound):
                        result = await in_database(get_stored_turn, turn.user, reply_id, now=timezone.now())
                        del self._calls[: len(calls)]
                        return result
                raise
        raise AssertionError("the last attempt returns or raises")

    async def _relay(self, turn: OpenTurn, body: Mapping[str, Any], *, timings: dict[str, float]) -> Any:
        """Pass the client's request on with the layers added and the answer back as it comes (T3).

        The end of the answer is held back until the reply is stored: the client's next request continues from it.
        """
        model, start = turn.chosen.model, time.perf_counter()
        answer, held = RelayedAnswer(), list[dict[str, Any]]()
        system, *earlier, _newest = turn.context.messages
        new_only = turn.client is not None and turn.client.given.is_new_only
        asked = {**body, "model": turn.chosen.other}
        sent = add_layers(asked, system.content, block=turn.context.block, earlier=earlier if new_only else [])
        with trace_call(turn.chosen.name, streamed=True):
            async for event in relay(model, sent):
                answer.see(event)
                timings.setdefault("first_token_ms", milliseconds_since(start))
                if answer.finished:
                    held.append(event)
                else:
                    self._events.put_nowait(Relayed(event))
                await asyncio.sleep(0)
        timings["model_ms"] = milliseconds_since(start)
        # What the client shows: the beginning that it sent, and what the model has added.
        reply = (turn.client.given.beginning if turn.client else "") + answer.text
        if answer.calls_tools or not reply.strip():
            if turn.round is not None:  # the reply comes with a later request
                await in_database(await_tools, opened=turn.round, now=timezone.now())
            result: Any = describe_unstored(turn, emotion=None)
        else:
            said = Answer(reply=reply, analysis=None, model=answer.model or turn.chosen.name)
            result = await self._store(turn, said, timings=timings)
        for event in held:
            self._events.put_nowait(Relayed(event))
        return result

    async def _ask(self, turn: OpenTurn, *, timings: dict[str, float]) -> Answer:
        """Send the model's reply as it comes; return it, with the analysis unless in plain chat (E6)."""
        start = time.perf_counter()
        stop, most = (turn.client.stop, turn.client.max_tokens) if turn.client else ((), None)
        reply_limit, pieces = ReplyLimit(stop=stop, max_tokens=most), list[str]()

        def deliver(text: str) -> None:
            if text:
                timings.setdefault("first_token_ms", milliseconds_since(start))
                pieces.append(text)
                self._events.put_nowait(Delta(text))

        limit = settings.CHAT_MAX_TOKENS
        if most is not None:
            limit = min(most + ANALYSIS_TOKENS, limit or most + ANALYSIS_TOKENS)
        request = ModelRequest(
            messages=turn.context.messages,
            max_tokens=limit,
            model=turn.chosen.other,
            options=turn.client.options if turn.client else {},
        )
        runner = ToolRunner(turn)
        with trace_call(turn.chosen.name, messages=turn.context.messages, streamed=True) as call:
            try:
                if self._stopped:
                    raise asyncio.CancelledError
                self._listening = asyncio.current_task()
                analysis = await self._listen(
                    turn, request, runner=runner, send=lambda text: deliver(reply_limit.feed(text))
                )
            except asyncio.CancelledError:
                if not self._stopped:
                    raise
                if self._listening is not None:
                    self._listening.uncancel()
                analysis = None if turn.strategy is None else NO_ANALYSIS
            finally:
                self._listening = None
            deliver(reply_limit.close())
            reply = "".join(pieces)
            call.set(jiyi__answer__estimated_tokens=estimate_tokens(reply), jiyi__tool_calls__count=len(runner.runs))
        self.finish_reason = reply_limit.finish_reason
        timings["model_ms"] = milliseconds_since(start)
        if "first_token_ms" in timings:
            FIRST_TOKEN_SECONDS.observe((timings["opening_ms"] + timings["first_token_ms"]) / 1000)
        return Answer(reply, analysis, model=turn.chosen.name, runs=runner.runs, stopped=self._stopped)

    async def _listen(
        self, turn: OpenTurn, request: ModelRequest, *, runner: ToolRunner, send: Callable[[str], None]
    ) -> Analysis | None:
        """Send the reply as the model writes it; return what else it wrote, None in plain chat (E6)."""
        model = turn.chosen.model
        if turn.strategy is None:
            plain = TextStream()
            async for piece in model.stream(request):
                send(plain.feed(piece))
                await asyncio.sleep(0)  # as below
            send(plain.close())
            return None
        marks = bool(turn.context.given.guarded)
        request = replace(request, response_format=get_turn_format(tuple(turn.given.table), marks=marks))
        calling = as_tool_calling(model) if turn.context.given.tools else None
        if calling is not None:
            decoded = await ToolRounds(model=calling, runner=runner, send=send).ask(request)
        else:
            field = decode_answer()
            async for piece in model.stream(request):
                send(field.feed(piece))
                await asyncio.sleep(0)  # what has come at once is sent as it is read, not when all of it has been
            decoded = await run_in_thread_if_large(field.close, size=field.size)
            send(decoded.tail)
        if decoded.source != "field":
            return NO_ANALYSIS
        return await run_in_thread_if_large(
            partial(read_analysis, decoded.raw, table=turn.given.table), size=len(decoded.raw)
        )

    async def _fail(self, turn: OpenTurn, error: Exception) -> JiyiError:
        """Mark the message as failed and return the error; where the database is away, it is marked once it is back."""
        fields: dict[str, Any] = {}
        if turn.round is not None:
            fields["message_id"] = str(turn.round.message_id)
            try:
                await in_database(fail_round, opened=turn.round)
            except Exception as fault:  # whatever it is: the client must learn that the turn has ended
                logger.warning("turn.not_marked_failed", exc_info=fault, **fields)
                self._is_unmarked = True
                _run_in_background(_mark_failed(turn.round))
        if isinstance(error, ModelUnavailable):
            # What the model's server said is for who runs this, not for who chats.
            reason = error.fields.get("reason")
            logger.warning("turn.model_unavailable", reason=reason, detail=error.message, **fields)
            if refusal := error.fields.get("refusal"):
                fields["refusal"] = refusal
            return ModelUnavailable(FAILED, fields={"reason": reason, **fields})
        if isinstance(error, JiyiError):
            return type(error)(error.message, fields={**error.fields, **fields})
        logger.exception("turn.failed", exc_info=error, **fields)
        if outage := describe_outage(error):
            kept = " The message is kept and can be retried." if fields else ""
            return type(outage)(outage.message + kept, fields=fields)
        return JiyiError("Something went wrong on our side. The message is kept and can be retried.", fields=fields)


def start_turn(open_turn: Callable[[], OpenTurn]) -> TurnRun:
    """Start a turn in the background; `open_turn` runs in a database thread and may refuse it."""
    turn = TurnRun()
    # A fresh context: the request's own ends with the request, and this task may outlive it.
    _run_in_background(turn.run(open_turn, parent=get_traceparent()))
    return turn


def _run_in_background(work: Coroutine[Any, Any, None], *, kept_in: set[asyncio.Task[None]] = _running) -> None:
    task = asyncio.get_running_loop().create_task(work, context=contextvars.Context())
    kept_in.add(task)
    task.add_done_callback(kept_in.discard)


async def _mark_failed(opened: OpenRound) -> None:
    """Mark a message as failed once the database is back, for as long as its lease would hold."""
    deadline = asyncio.get_running_loop().time() + settings.TURN_LEASE_SECONDS
    while asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(SECONDS_BETWEEN_ATTEMPTS)
        with suppress(Exception):  # it is still away
            await in_database(fail_round, opened=opened)
            break
    journal.remove(opened)


async def stop_turns() -> None:
    """Stop the turns under way, as this process is about to end: their messages fail now, not with their leases."""
    turns = list(_running)
    for turn in turns:
        turn.cancel()
    await asyncio.gather(*turns, return_exceptions=True)


# A turn is stopped in whichever process it runs. Another process leaves a mark in the shared cache, at which every
# process with turns under way looks twice a second. Without the cache, a turn of another process runs to its end.

# By the message they answer.
_turns: dict[uuid.UUID, TurnRun] = {}


async def stop_turn(message_id: uuid.UUID) -> None:
    """Have the turn that answers this message end here, if there is one. What has come of the reply is kept (C6)."""
    if turn := _turns.get(message_id):
        turn.stop()
        return
    try:
        await in_database(cache.set, _mark(message_id), "1", MARK_KEPT_SECONDS)
    except Exception as error:  # whatever the cache raises: nothing is lost, the reply goes on
        logger.warning("turn.not_stopped", message_id=str(message_id), cause=type(error).__name__)


async def _look_for_marks() -> None:
    while _turns:
        await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
        try:
            marked = await in_database(_take_marks, list(_turns))
        except Exception as error:  # as above
            logger.warning("stops_not_seen", cause=type(error).__name__)
            continue
        for message_id in marked:
            if turn := _turns.get(message_id):
                turn.stop()


def _take_marks(message_ids: Iterable[uuid.UUID]) -> list[uuid.UUID]:
    """Return which of these messages are marked, and remove their marks."""
    keys = {_mark(message_id): message_id for message_id in message_ids}
    found = list(cache.get_many(keys))
    if found:
        cache.delete_many(found)
    return [keys[key] for key in found]


def _mark(message_id: uuid.UUID) -> str:
    return f"stop.{message_id}"
