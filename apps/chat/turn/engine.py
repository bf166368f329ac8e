"""The one engine of a turn (DESIGN, rule 6): open, ask the model, store; reported as typed events while it runs.

A turn runs in a task of its own: a client that leaves does not stop it, and no database connection or lock is held
while the model answers (C6).
"""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.utils import timezone

from apps.chat.answer import NO_ANALYSIS, Analysis, read_analysis
from apps.chat.prompts import get_turn_format
from apps.chat.turn.closing import FAILED, close_turn, user_message_to_wire
from apps.chat.turn.opening import milliseconds_since
from apps.chat.turn.types import Delta, Done, Failed, OpenTurn, Started, TurnEvent
from apps.conversations.models import MessageStatus
from apps.conversations.services import fail_round
from apps.core.db import in_database
from apps.core.errors import JiyiError, ModelUnavailable
from apps.core.llm.client import get_chat_model
from apps.core.llm.streaming_json import FieldStream
from apps.core.llm.streaming_text import TextStream
from apps.core.llm.types import ChatModel, ModelRequest

logger = structlog.get_logger(__name__)

STORE_ATTEMPTS = 5
"""How often storing a finished reply is tried: a deadlock or a restarting database must not cost the reply."""

_running: set[asyncio.Task[None]] = set()  # the loop itself keeps only weak references to its tasks


class TurnRun:
    """One running turn. `opened` settles once its message is stored; `events` then tells the rest."""

    def __init__(self) -> None:
        self._opened: asyncio.Future[OpenTurn] = asyncio.get_running_loop().create_future()
        self._events: asyncio.Queue[TurnEvent] = asyncio.Queue()

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

    async def run(self, open_turn: Callable[[], OpenTurn]) -> None:
        """Run the turn from beginning to end; every outcome becomes an event."""
        try:
            turn = await in_database(open_turn)
        except Exception as error:
            self._opened.set_exception(error)
            self._opened.exception()  # marks it as seen, should nobody be waiting any more
            return
        self._opened.set_result(turn)
        self._events.put_nowait(Started(user_message_to_wire(turn, status=MessageStatus.PENDING)))
        try:
            self._events.put_nowait(Done(await self._answer(turn)))
        except Exception as error:
            self._events.put_nowait(Failed(await self._fail(turn, error)))
        except asyncio.CancelledError:
            stopped = ModelUnavailable("The server was stopped.", fields={"reason": "stopped"})
            self._events.put_nowait(Failed(await self._fail(turn, stopped)))
            raise

    async def _answer(self, turn: OpenTurn) -> Any:
        timings = dict(turn.opening)
        reply: str | None = turn.reply
        analysis: Analysis | None = NO_ANALYSIS
        model = ""
        if reply is None:
            reply, analysis, model = await self._ask(turn, timings=timings)
        else:
            self._events.put_nowait(Delta(reply))
        if not reply.strip():
            raise ModelUnavailable("The model gave no reply.", fields={"reason": "bad_answer"})
        for attempt in range(1, STORE_ATTEMPTS + 1):
            try:
                return await in_database(
                    close_turn,
                    turn,
                    reply=reply,
                    analysis=analysis,
                    model=model,
                    timings=timings,
                    now=timezone.now(),
                )
            except (OperationalError, InterfaceError):
                if attempt == STORE_ATTEMPTS:
                    raise
                await asyncio.sleep(0.05 * 4**attempt)
        raise AssertionError("the last attempt returns or raises")

    async def _ask(self, turn: OpenTurn, *, timings: dict[str, float]) -> tuple[str, Analysis | None, str]:
        """Return the model's reply, which was sent as it came, the analysis and the model's name."""
        model = get_chat_model()
        start = time.perf_counter()
        reply, analysis = await self._stream(turn, model=model, start=start, timings=timings)
        timings["model_ms"] = milliseconds_since(start)
        return reply, analysis, model.name

    async def _stream(
        self, turn: OpenTurn, *, model: ChatModel, start: float, timings: dict[str, float]
    ) -> tuple[str, Analysis | None]:
        """Send the reply's deltas as they come; return their sum and, unless in plain chat (E6), the analysis."""
        pieces: list[str] = []

        def send(text: str) -> None:
            if text:
                timings.setdefault("first_token_ms", milliseconds_since(start))
                pieces.append(text)
                self._events.put_nowait(Delta(text))

        limit = settings.CHAT_MAX_TOKENS
        if turn.strategy is None:
            plain = TextStream()
            async for piece in model.stream(ModelRequest(messages=turn.context.messages, max_tokens=limit)):
                send(plain.feed(piece))
                await asyncio.sleep(0)  # as below
            send(plain.close())
            return "".join(pieces), None
        field = FieldStream("response", other_keys=("emotion", "topic", "context_variables", "memory_update"))
        answer_format = get_turn_format(tuple(turn.table))
        request = ModelRequest(messages=turn.context.messages, response_format=answer_format, max_tokens=limit)
        async for piece in model.stream(request):
            send(field.feed(piece))
            await asyncio.sleep(0)  # what has come at once is sent as it is read, not when all of it has been
        decoded = field.close()
        send(decoded.tail)
        if decoded.source != "field":
            return "".join(pieces), NO_ANALYSIS
        return "".join(pieces), read_analysis(decoded.raw, table=turn.table)

    async def _fail(self, turn: OpenTurn, error: Exception) -> JiyiError:
        """Mark the message as failed and return the error; if that is impossible, its lease runs out."""
        fields: dict[str, Any] = {}
        if turn.round is not None:
            fields["message_id"] = str(turn.round.message_id)
            try:
                await in_database(fail_round, opened=turn.round)
            except Exception as fault:  # whatever it is: the client must learn that the turn has ended
                logger.warning("turn.not_marked_failed", exc_info=fault, **fields)
        if isinstance(error, ModelUnavailable):
            # What the model's server said is for who runs this, not for who chats.
            reason = error.fields.get("reason")
            logger.warning("turn.model_unavailable", reason=reason, detail=error.message, **fields)
            return ModelUnavailable(FAILED, fields={"reason": reason, **fields})
        if isinstance(error, JiyiError):
            return type(error)(error.message, fields={**error.fields, **fields})
        logger.exception("turn.failed", exc_info=error, **fields)
        return JiyiError("Something went wrong on our side. The message is kept and can be retried.", fields=fields)


def start_turn(open_turn: Callable[[], OpenTurn]) -> TurnRun:
    """Start a turn in the background; `open_turn` runs in a database thread and may refuse it."""
    turn = TurnRun()
    # A fresh context: the request's own ends with the request, and this task may outlive it.
    task = asyncio.get_running_loop().create_task(turn.run(open_turn), context=contextvars.Context())
    _running.add(task)
    task.add_done_callback(_running.discard)
    return turn


async def stop_turns() -> None:
    """Stop the turns under way, as this process is about to end: their messages fail now, not with their leases."""
    turns = list(_running)
    for turn in turns:
        turn.cancel()
    await asyncio.gather(*turns, return_exceptions=True)
