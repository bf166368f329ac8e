"""Any OpenAI-compatible server as a `ChatModel`: OpenAI, Ollama, vLLM, llama.cpp.

One streamed request; more only where the server refuses the response format or tools (each weaker form is asked for
once, and what worked is remembered) or fails before the first piece of text (bounded retries).
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, aclosing, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any, cast

import httpx2
from openai import AsyncOpenAI, AsyncStream

from apps.core.errors import ModelUnavailable
from apps.core.llm.connecting import PerLoop, make_async_client
from apps.core.llm.failures import CHAT, Failure, describe_failure, show_address
from apps.core.llm.metering import Job, Meter, measure, read_usage
from apps.core.llm.reading import TextStream
from apps.core.llm.reasoning import ReasoningFilter
from apps.core.llm.relaying import read_text
from apps.core.llm.types import Blame, ModelRequest, ToolCall
from apps.core.llm.wire import (
    COUNTED,
    CUT_OFF,
    DEFAULT_BASE_URL,
    MAX_ANSWER_CHARS,
    CallAssembler,
    FormatLevel,
    Said,
    read_chunk,
    read_completion,
    read_relayed,
    render_request,
)

_WEAKER: dict[FormatLevel, FormatLevel] = {"json_schema": "json_object", "json_object": "text"}

# How a request is put: the response format, and whether it offers tools.
_Asked = tuple[FormatLevel, bool]

# How long the end of a finished answer's stream is waited for, so that its connection can be used again.
_DRAIN_SECONDS = 0.25

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds. `first_event`: for the response to begin, and then for its first event (a local model reads the prompt
    in that time); `between_events`: the longest silence after it; `total`: one call with all its attempts.
    """

    connect: float = 5.0
    first_event: float = 120.0
    between_events: float = 60.0
    total: float = 600.0


@dataclass(frozen=True, slots=True)
class Retries:
    """`count` further attempts; before the n-th, wait `base` · 2ⁿ⁻¹ seconds, less up to half of it by chance.

    A longer Retry-After of the server is honoured up to `longest` seconds; beyond that the call fails at once.
    """

    count: int = 2
    base: float = 0.5
    longest: float = 20.0

    def get_delay(self, failure: Failure, *, attempt: int) -> float | None:
        """Return the seconds to wait after failed attempt number `attempt`; None if there is to be no other one."""
        asked = failure.retry_after or 0.0
        if not failure.transient or attempt > self.count or asked > self.longest:
            return None
        delay: float = self.base * 2 ** (attempt - 1) * random.uniform(0.5, 1.0)
        return max(asked, delay)


class OpenAIChatModel:
    """A chat model behind an OpenAI-compatible HTTP interface. Cheap to make; connections are kept per event loop.

    `base_url`: with its ``/v1``; "" is OpenAI's. `model`: "" takes the first the server lists. `called`: what the model
    is called in the ledger of calls, if not that. `blame`: what an error tells to check. `sleep`: waits between
    attempts.
    """

    def __init__(
        self,
        *,
        base_url: str = "",
        api_key: str = "",
        model: str = "",
        called: str = "",
        blame: Blame = CHAT,
        timeouts: Timeouts = Timeouts(),
        retries: Retries = Retries(),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.name = model
        self._called = called
        self._base_url = base_url or DEFAULT_BASE_URL
        self._api_key = api_key
        self._blame = blame
        self._timeouts = timeouts
        self._retries = retries
        self._sleep = sleep
        self._clients = PerLoop(self._make_client)
        self._accepted: dict[bool, FormatLevel] = {}  # the format that worked, without tools and with them
        self._takes_tools: dict[str, bool] = {}  # by model, once it is known
        self._counts = True  # until the server has refused to tell the usage of a stream

    @property
    def server(self) -> str:
        """The base URL as it may be shown: without user name, password and query."""
        return show_address(self._base_url)

    def stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        """Yield the answer's text as it comes; see `ChatModel.stream`. Closing the generator ends the request."""
        return cast(AsyncGenerator[str, None], self.converse(replace(request, tools=())))  # no tools, no calls

    def takes_tools(self, model: str = "") -> bool:
        """Whether it is worth offering tools; see `ToolCallingModel.takes_tools`."""
        return self._takes_tools.get(model or self.name, True)

    async def converse(self, request: ModelRequest) -> AsyncGenerator[str | ToolCall, None]:
        """Yield the answer's text as it comes, and then its tool calls; see `ToolCallingModel.converse`."""
        deadline = asyncio.get_running_loop().time() + self._timeouts.total
        model = request.model or await self._choose_model(deadline)
        offers = bool(request.tools) and self.takes_tools(model)
        level: FormatLevel = self._accepted.get(offers, "json_schema") if request.response_format else "text"
        attempt = 1
        while True:
            begun = False
            asked = request if offers else replace(request, tools=())
            parameters = render_request(asked, model=model, level=level, base_url=self._base_url, counts=self._counts)
            try:
                asking = self._attempt(parameters, deadline, whole=request.whole, job=request.job)
                async with aclosing(asking) as pieces:
                    async for piece in pieces:
                        begun = True
                        yield piece
                self._note_success(request, model=model, level=level, offers=offers)
                return
            except Failure as caught:
                failure = caught
            if self._is_to_count_itself(failure, given=request.options):
                continue
            less = None if begun else self._ask_for_less((level, offers), failure, request=request, model=model)
            if less is not None:
                level, offers = less
                logger.info("The model server refuses the request's form; asking again with %s, tools %s.", *less)
            elif begun or not await self._wait_before_retry(attempt, failure, deadline):
                raise failure.as_error()
            else:
                attempt += 1

    async def relay(self, body: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        """Pass a client's request on and its answer back; see `ChatModel.relay`."""
        deadline = asyncio.get_running_loop().time() + self._timeouts.total
        model = body.get("model") or await self._choose_model(deadline)
        attempt = 1
        while True:
            begun = False
            sent = {**(COUNTED if body.get("stream") and self._counts else {}), **body, "model": model}
            try:
                async with aclosing(self._relay_once(sent, deadline)) as events:
                    async for event in events:
                        begun = True
                        yield event
                return
            except Failure as caught:
                failure = caught
            if self._is_to_count_itself(failure, given=body):
                continue
            if begun or not await self._wait_before_retry(attempt, failure, deadline):
                raise failure.as_refusal()
            attempt += 1

    async def _relay_once(self, body: dict[str, Any], deadline: float) -> AsyncGenerator[dict[str, Any], None]:
        with self._measure("reply", body) as meter:
            answer = await self._send(body, deadline)
            if isinstance(answer, bytes):
                try:
                    completion = read_relayed(answer)
                except ValueError as error:
                    raise self._describe(error) from None
                meter.hear(answer.decode(errors="replace"), read_usage(completion))
                yield completion
                return
            async with answer:
                silence, length, finished = self._timeouts.first_event, 0, False
                while True:
                    chunk = await self._read_chunk(answer, silence, deadline)
                    if chunk is None:
                        break
                    said = read_chunk(chunk)
                    silence, length = self._timeouts.between_events, length + len(said.text)
                    finished = finished or bool(said.finished)
                    if length > MAX_ANSWER_CHARS:
                        raise Failure("bad_answer", f"The model's answer is longer than {MAX_ANSWER_CHARS} characters.")
                    meter.hear(said.text, said.usage)
                    if isinstance(chunk, dict):
                        yield chunk
            if not finished:
                raise self._describe_drop()

    async def complete(self, request: ModelRequest) -> str:
        """Return the whole answer at once, without thought before it. Raises as `stream` does."""
        text = TextStream()
        return "".join([text.feed(piece) async for piece in self.stream(request)]) + text.close()

    async def list_models(self) -> list[str]:
        """Return the names that the server offers, in its order. Raises `ModelUnavailable`."""
        return await self._list_models(asyncio.get_running_loop().time() + self._timeouts.total)

    async def _list_models(self, deadline: float) -> list[str]:
        attempt = 1
        while True:
            try:
                async with self._limit(self._timeouts.first_event, deadline):
                    page = await (await self._clients.get()).models.list()
                    return [str(model.id) for model in page.data]
            except Exception as error:
                failure = self._describe(error)
            if not await self._wait_before_retry(attempt, failure, deadline):
                raise failure.as_error()
            attempt += 1

    async def _choose_model(self, deadline: float) -> str:
        """Return the name to ask for; without a given one, the first that the server lists, from then on."""
        if not self.name:
            names = await self._list_models(deadline)
            if not names:
                message = f"The model server at {self.server} lists no model. Set CHAT_MODEL."
                raise ModelUnavailable(message, fields={"reason": "no_model"})
            self.name = names[0]
        return self.name

    async def _attempt(
        self, parameters: dict[str, Any], deadline: float, *, whole: bool, job: Job
    ) -> AsyncGenerator[str | ToolCall, None]:
        """Ask once. Raises `Failure` for everything that is the server's or the network's fault."""
        with self._measure(job, parameters) as meter:
            answer = await self._open(parameters, deadline)
            calls = CallAssembler() if "tools" in parameters else None
            silence, length, spoken = self._timeouts.first_event, 0, _Spoken()
            async with nullcontext(answer) if isinstance(answer, Said) else answer:
                while True:
                    said = answer if isinstance(answer, Said) else await self._read_event(answer, silence, deadline)
                    silence, length = self._timeouts.between_events, length + len(said.text)
                    if calls is not None:
                        calls.feed(said.calls)
                    if length + (calls.size if calls else 0) > MAX_ANSWER_CHARS:
                        raise Failure("bad_answer", f"The model's answer is longer than {MAX_ANSWER_CHARS} characters.")
                    spoken.hear(said)
                    meter.hear(said.text, said.usage)
                    if said.text:
                        yield said.text
                    if said.finished or isinstance(answer, Said):
                        break
                if not isinstance(answer, Said):
                    await _drain(answer, meter)
            made = calls.close() if calls else []
            if made:
                meter.job = "tool_round"
                meter.answer += [call.name + call.arguments for call in made]
        spoken.check(said.finished, whole=whole, calls=bool(made))
        for call in made:
            yield call

    def _measure(self, job: Job, parameters: Mapping[str, Any]) -> AbstractContextManager[Meter]:
        model = parameters["model"]
        called = self._called if self._called and model == self.name else model
        lines = (line for line in parameters["messages"] if isinstance(line, dict))  # a client's may be anything
        return measure(job, model=called, sent=lambda: map(read_text, lines))

    async def _open(self, parameters: dict[str, Any], deadline: float) -> AsyncStream[object] | Said:
        """Send the request; return the stream, or what `read_completion` does where the server does not stream."""
        answer = await self._send(parameters, deadline)
        if not isinstance(answer, bytes):
            return answer
        try:
            return read_completion(answer)
        except ValueError as error:
            raise self._describe(error) from None

    async def _send(self, parameters: dict[str, Any], deadline: float) -> AsyncStream[object] | bytes:
        """Send the request; return the stream, or the whole body where the answer is no stream."""
        try:
            async with self._limit(self._timeouts.first_event, deadline):
                client = await self._clients.get()
                # Not chat.completions.create: it checks the request field by field, prompt and schema included, and
                # makes a model object of every event, which together take longer than all the rest of a call.
                stream = await client.post(
                    "/chat/completions", cast_to=object, body=parameters, stream=True, stream_cls=AsyncStream[object]
                )
                if "json" in stream.response.headers.get("content-type", ""):
                    return await stream.response.aread()
                return stream
        except Exception as error:
            raise self._describe(error) from None

    async def _read_event(self, stream: AsyncStream[object], silence: float, deadline: float) -> Said:
        """Return what the next event says; the stream must not end before the model is done."""
        chunk = await self._read_chunk(stream, silence, deadline)
        if chunk is None:
            raise self._describe_drop()
        return read_chunk(chunk)

    async def _read_chunk(self, stream: AsyncStream[object], silence: float, deadline: float) -> object:
        """Return the next event, None at the stream's end."""
        try:
            async with self._limit(silence, deadline):
                return await anext(stream, None)
        except Exception as error:
            raise self._describe(error) from None

    def _describe_drop(self) -> Failure:
        return Failure("dropped", f"The answer of the model server at {self.server} ended halfway.", transient=True)

    def _make_client(self) -> AsyncOpenAI:
        return AsyncOpenAI(
            api_key=self._api_key or "none",  # the library insists on one; servers without keys ignore it
            base_url=self._base_url,
            max_retries=0,
            http_client=make_async_client(httpx2.Timeout(None, connect=self._timeouts.connect)),
        )

    def _limit(self, seconds: float, deadline: float) -> asyncio.Timeout:
        return asyncio.timeout_at(min(asyncio.get_running_loop().time() + seconds, deadline))

    def _describe(self, error: Exception) -> Failure:
        return describe_failure(error, server=self.server, secret=self._api_key, blame=self._blame)

    def _is_to_count_itself(self, failure: Failure, *, given: Mapping[str, Any]) -> bool:
        """Whether a request was refused for the question after its usage, which the caller has not `given` themselves.

        It is not asked for it again then.
        """
        if not failure.counting_refused or "stream_options" in given:
            return False
        self._counts = False
        return True

    def _ask_for_less(self, asked: _Asked, failure: Failure, *, request: ModelRequest, model: str) -> _Asked | None:
        """Return the form of the request that might be accepted instead; None if the form is not to blame.

        A format is to blame if the server names it, or if it was never seen to work; tools also where they were, for
        another request. Many servers take tools and a format, but not both in one request: then the format goes first,
        as the prompt asks for JSON anyway.
        """
        level, offers = asked
        about_format = level != "text" and (
            failure.format_refused == "named"
            or (failure.format_refused == "maybe" and level != self._accepted.get(offers))
        )
        if not offers:
            return (_WEAKER[level], False) if about_format else None
        named = failure.tools_refused == "named"
        if named and failure.format_refused != "named":
            return self._drop_tools(request)
        if about_format:
            alone = failure.format_refused == "named" and not named
            return (_WEAKER[level] if alone else "text"), True
        if failure.tools_refused != "no":
            return self._drop_tools(request)
        return None

    def _drop_tools(self, request: ModelRequest) -> _Asked | None:
        if any(message.role == "tool" for message in request.messages):
            return None  # they have been called: to leave them out now would not make this conversation acceptable
        return (self._accepted.get(False, "json_schema") if request.response_format else "text"), False

    def _note_success(self, request: ModelRequest, *, model: str, level: FormatLevel, offers: bool) -> None:
        if request.response_format:
            self._accepted[offers] = level
        if request.tools:
            # A model that has taken tools once may do so again, whatever this request had.
            self._takes_tools[model] = offers or self._takes_tools.get(model, False)

    async def _wait_before_retry(self, attempt: int, failure: Failure, deadline: float) -> bool:
        """Wait as long as is right after failed attempt number `attempt`; False if there is to be no other one."""
        delay = self._retries.get_delay(failure, attempt=attempt)
        if delay is None or asyncio.get_running_loop().time() + delay >= deadline:
            return False
        logger.info("The model call failed (%s); trying again in %.1f s.", failure.reason, delay)
        await self._sleep(delay)
        return True


class _Spoken:
    """Whether an answer has anything but thought."""

    def __init__(self) -> None:
        self._reasoning = ReasoningFilter()
        self._thought = self._answered = False

    def hear(self, said: Said) -> None:
        """Take the next part of the answer."""
        if not self._answered:
            self._thought = self._thought or said.thinks or bool(said.text.strip())
            self._answered = bool(self._reasoning.feed(said.text).strip())

    def check(self, finished: str, *, whole: bool, calls: bool) -> None:
        """Raise `Failure` for an answer that is nothing but thought and, if it is wanted whole, for one cut off."""
        if not (self._answered or calls or self._reasoning.close().strip()) and self._thought:
            if finished == CUT_OFF:
                raise Failure("reasoning_limit", "The model spent its limit of tokens on reasoning, before an answer.")
            raise Failure("only_reasoning", "The model gave only reasoning, and no answer.")
        if whole and finished == CUT_OFF:
            raise Failure("cut_off", "The model's answer reached its limit of tokens.")


async def _drain(stream: AsyncStream[object], meter: Meter) -> None:
    """Read a finished answer's stream to its end, where its usage is; whatever else happens there no longer matters."""
    with suppress(Exception):
        async with asyncio.timeout(_DRAIN_SECONDS):
            while (chunk := await anext(stream, None)) is not None:
                meter.hear("", read_chunk(chunk).usage)
