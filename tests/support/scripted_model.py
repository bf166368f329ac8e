"""A chat model server that does what a test tells it: OpenAI's wire format on a real loopback socket.

It speaks ``/v1/chat/completions`` (streamed and not), ``/v1/embeddings`` and ``/v1/models``, records every request, and
misbehaves on demand: refusals, garbage, silence, connections cut in the middle. A test queues behaviours with
`ScriptedModel.script`; when the queue is empty, `ScriptedModel.default` answers. Time is controlled by `Gate`, never by
sleeping.

As a program it serves one fixed reply, for benchmarks: ``python -m tests.support.scripted_model --port 9000``.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import signal
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from apps.core.llm.types import split_turn_block

# What the default behaviour answers: a valid turn (SPEC, E5).
TURN_ANSWER = json.dumps(
    {
        "response": "我记住了。Nice to meet you!",
        "emotion": {"primary": "happy", "confidence": 0.9, "indicators": ["nice"]},
        "topic": "认识",
        "context_variables": {},
        "memory_update": {"should_store": False, "entries": []},
    },
    ensure_ascii=False,
)

MODEL = "scripted"
PIECE_CHARS = 8


class Gate:
    """A place in a behaviour where the server waits until the test lets it go on. Usable from any thread or loop."""

    def __init__(self) -> None:
        self._reached: Future[None] = Future()
        self._opened: Future[None] = Future()

    def open(self) -> None:
        """Let the server, and whoever comes later, pass."""
        if not self._opened.done():
            self._opened.set_result(None)

    def wait_reached(self, timeout: float = 200) -> None:
        """Block until the server stands here; TimeoutError after `timeout` seconds."""
        self._reached.result(timeout)

    async def reached(self, timeout: float = 200) -> None:  # noqa: ASYNC109 - the same contract as above
        """Wait until the server stands here; TimeoutError after `timeout` seconds."""
        await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(self._reached)), timeout)

    async def _pass(self) -> None:
        if not self._reached.done():
            self._reached.set_result(None)
        await asyncio.shield(asyncio.wrap_future(self._opened))


@dataclass(frozen=True)
class Pause:
    """A wait between two pieces, for benchmarks; tests have `Gate`."""

    seconds: float


Cut = Literal["fin", "rst"]


@dataclass(frozen=True)
class Reply:
    """A completion made of `pieces`: text, or bytes written into the event stream as they are, a `Gate` or a `Pause`.

    `finish_reason` None leaves it out. `cut` drops the connection after the last piece, orderly or not, instead of
    ending the response. `streamed` False sends one JSON body even when a stream was asked for. `calls`: tool calls
    after the pieces, as `call` makes them. `usage`: what the server counts, told at the end of a stream that was asked
    for it.
    """

    pieces: tuple[str | bytes | Gate | Pause, ...]
    finish_reason: str | None = "stop"
    cut: Cut | None = None
    streamed: bool = True
    calls: tuple[dict[str, Any], ...] = ()
    usage: dict[str, Any] | None = None


@dataclass(frozen=True)
class Json:
    """A whole response with a JSON body."""

    body: Any
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Raw:
    """Bytes in place of a whole HTTP response, after which the connection is closed."""

    parts: tuple[bytes | Gate, ...]
    cut: Cut = "fin"


Behaviour = Reply | Json | Raw


def reply_with(text: str, *, piece_chars: int = PIECE_CHARS) -> Reply:
    """Return the behaviour that answers `text` in pieces of `piece_chars` characters."""
    return Reply(tuple(text[at : at + piece_chars] for at in range(0, len(text), piece_chars)))


def call(name: str, arguments: dict[str, Any] | str, *, id: str = "") -> dict[str, Any]:
    """Return a tool call on the wire; `arguments` as a text are sent as they are."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"id": id or f"call_{name}", "type": "function", "function": {"name": name, "arguments": text}}


def call_tools(*calls: dict[str, Any], text: str = "", streamed: bool = True) -> Reply:
    """Return the behaviour that calls tools, after `text`."""
    pieces = reply_with(text).pieces if text else ()
    return Reply(pieces, finish_reason="tool_calls", streamed=streamed, calls=calls)


def refuse_with(
    status: int, message: str = "refused by the script", *, param: str | None = None, retry_after: str | None = None
) -> Json:
    """Return an HTTP error in OpenAI's shape; `retry_after` is the header of that name, seconds or a date."""
    error = {"message": message, "type": "scripted", "param": param, "code": None}
    return Json({"error": error}, status=status, headers=(("Retry-After", retry_after),) if retry_after else ())


def embed_with(vectors: Iterable[Iterable[float]]) -> Json:
    """Return the behaviour that answers these vectors, in order."""
    data = [{"object": "embedding", "index": at, "embedding": list(vector)} for at, vector in enumerate(vectors)]
    return Json({"object": "list", "data": data, "model": MODEL})


def make_vector(text: str) -> list[float]:
    """Return 32 numbers that only this text has: what the server embeds with by default."""
    return [byte - 127.5 for byte in hashlib.sha256(text.encode()).digest()]


@dataclass(frozen=True)
class RecordedRequest:
    """A request as the server got it.

    `peer`: the client's port, so that requests over one connection can be told. `disconnected` resolves if the client
    hangs up while the server is at a gate.
    """

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    peer: int
    disconnected: Future[None] = field(default_factory=Future, repr=False, compare=False)

    @property
    def messages(self) -> list[dict[str, str]]:
        return list(self.body["messages"])

    @property
    def blocks(self) -> str:
        """What the prompt holds besides what was said: the system message, and the block before the newest words."""
        return f"{self.messages[0]['content']}\n\n{self._split_newest()[0]}"

    @property
    def said(self) -> list[str]:
        """The texts after the system message, the person's newest one without the block before its words (C4)."""
        texts = [line["content"] for line in self.messages]
        return [*texts[1 : self._newest], self._split_newest()[1], *texts[self._newest + 1 :]]

    @property
    def _newest(self) -> int:
        return max(at for at, line in enumerate(self.messages) if line["role"] == "user")

    def _split_newest(self) -> tuple[str, str]:
        return split_turn_block(self.messages[self._newest]["content"])

    @property
    def tools(self) -> list[str]:
        """The names of the tools that are offered."""
        return [tool["function"]["name"] for tool in self.body.get("tools", ())]

    @property
    def response_format(self) -> dict[str, Any] | None:
        return self.body.get("response_format")


class ScriptedModel:
    """The server, in a thread with an event loop of its own. Use it as a context manager."""

    def __init__(self, *, port: int = 0, host: str = "127.0.0.1") -> None:
        self.requests: list[RecordedRequest] = []
        self.default: Callable[[RecordedRequest], str | Behaviour] = lambda request: TURN_ANSWER
        self.models: tuple[str, ...] = (MODEL,)
        self.embed: Callable[[list[str]], Behaviour] = lambda texts: embed_with(map(make_vector, texts))
        self._scripts: dict[str, deque[Behaviour]] = {
            path: deque() for path in ("/v1/chat/completions", "/v1/embeddings", "/v1/models")
        }
        self._socket = socket.create_server((host, port), backlog=512)
        # Inherited by every connection; asyncio does not set it on those of a socket made here. Without it a piece of
        # the answer can wait 40 ms for the client's delayed acknowledgement of the one before.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="scripted-model")
        self._stop: Future[Callable[[], object]] = Future()

    @property
    def base_url(self) -> str:
        """What OPENAI_BASE_URL has to be."""
        host, port = self._socket.getsockname()
        return f"http://{host}:{port}/v1"

    @property
    def chat_requests(self) -> list[RecordedRequest]:
        """The requests for a completion, in the order they came."""
        return [request for request in self.requests if request.path == "/v1/chat/completions"]

    def script(self, *behaviours: Behaviour | str) -> None:
        """Queue what the next completions will be."""
        queue = self._scripts["/v1/chat/completions"]
        queue.extend(reply_with(item) if isinstance(item, str) else item for item in behaviours)

    def script_models(self, *behaviours: Behaviour) -> None:
        """Queue what the next requests for the list of models get instead of it."""
        self._scripts["/v1/models"].extend(behaviours)

    def script_embeddings(self, *behaviours: Behaviour) -> None:
        """Queue what the next requests for embeddings get; afterwards `embed` answers."""
        self._scripts["/v1/embeddings"].extend(behaviours)

    @property
    def embedding_requests(self) -> list[RecordedRequest]:
        """The requests for embeddings, in the order they came."""
        return [request for request in self.requests if request.path == "/v1/embeddings"]

    def reset(self) -> None:
        """Forget the recorded requests and the queues, and answer by default again."""
        self.requests.clear()
        for queue in self._scripts.values():
            queue.clear()
        self.default = lambda request: TURN_ANSWER
        self.embed = lambda texts: embed_with(map(make_vector, texts))
        self.models = (MODEL,)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stop.result(200)()
        self._thread.join(10)
        self._socket.close()

    async def _serve(self) -> None:
        stopping = asyncio.Event()
        loop = asyncio.get_running_loop()
        async with await asyncio.start_server(self._talk, sock=self._socket, backlog=512):
            self._stop.set_result(lambda: loop.call_soon_threadsafe(stopping.set))
            await stopping.wait()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection until either side ends it."""
        try:
            while request := await _read_request(reader, writer.get_extra_info("peername")[1]):
                self.requests.append(request)
                if not await _Exchange(request, reader, writer).carry_out(self._decide(request)):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client is gone, or the server stops (asyncio's streams would log that as an error)
        finally:
            writer.close()

    def _decide(self, request: RecordedRequest) -> Behaviour:
        queue = self._scripts.get(request.path)
        if queue is None:
            return refuse_with(404, f"no such path: {request.path}")
        if queue:
            return queue.popleft()
        if request.path == "/v1/models":
            return Json({"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]})
        if request.path == "/v1/embeddings":
            return self.embed(list(request.body["input"]))
        answer = self.default(request)
        return reply_with(answer) if isinstance(answer, str) else answer


class _Exchange:
    """The carrying out of one behaviour on one connection."""

    def __init__(self, request: RecordedRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._request = request
        self._reader = reader
        self._writer = writer

    async def carry_out(self, behaviour: Behaviour) -> bool:
        """Respond; return whether the connection can serve another request."""
        if isinstance(behaviour, Raw):
            await self._send(behaviour.parts)
            return self._end(behaviour.cut)
        if isinstance(behaviour, Json):
            return await self._send(_render_json(behaviour))
        if self._request.body.get("stream") and behaviour.streamed:
            counts = bool(self._request.body.get("stream_options", {}).get("include_usage"))
            open_end = await self._send(_render_stream(behaviour, counts=counts))
            return self._end(behaviour.cut) if behaviour.cut or not open_end else True
        gates = tuple(piece for piece in behaviour.pieces if isinstance(piece, Gate))
        return await self._send((*gates, *_render_json(Json(_render_completion(behaviour)))))

    async def _send(self, parts: Iterable[bytes | Gate | Pause]) -> bool:
        """Write the parts, stopping at gates; return False if the client hung up meanwhile."""
        for part in parts:
            if isinstance(part, bytes):
                self._writer.write(part)
                await self._writer.drain()
            elif isinstance(part, Pause):
                await asyncio.sleep(part.seconds)
            elif not await self._wait_at(part):
                return False
        return True

    async def _wait_at(self, gate: Gate) -> bool:
        passing = asyncio.ensure_future(gate._pass())
        hanging_up = asyncio.ensure_future(self._reader.read(1))
        try:
            await asyncio.wait({passing, hanging_up}, return_when=asyncio.FIRST_COMPLETED)
            if hanging_up.done():
                self._request.disconnected.set_result(None)
            return not hanging_up.done()
        finally:
            passing.cancel()
            hanging_up.cancel()
            await asyncio.wait({passing, hanging_up})

    def _end(self, cut: Cut | None) -> bool:
        if cut == "rst":
            linger = struct.pack("ii", 1, 0)  # closing now resets the connection
            self._writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self._writer.transport.abort()
        return False


async def _read_request(reader: asyncio.StreamReader, peer: int) -> RecordedRequest | None:
    """Return the next request of a connection, None at its end."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.rstrip().split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return RecordedRequest(path=first.split(" ")[1], headers=headers, body=json.loads(body) if body else {}, peer=peer)


def _render_head(status: int, *headers: tuple[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _render_json(answer: Json) -> tuple[bytes]:
    body = _dump(answer.body)
    framing = (("Content-Type", "application/json"), ("Content-Length", str(len(body))))
    return (_render_head(answer.status, *framing, *answer.headers) + body,)


def _render_stream(reply: Reply, *, counts: bool) -> Iterator[bytes | Gate | Pause]:
    """Yield a streamed response; with `reply.cut` it lacks its end."""
    yield _render_head(200, ("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked"))
    yield _frame(_event({"role": "assistant", "content": ""}))
    for piece in reply.pieces:
        if isinstance(piece, Gate | Pause):
            yield piece
        else:
            yield _frame(piece if isinstance(piece, bytes) else _event({"content": piece}))
    for at, one in enumerate(reply.calls):
        arguments = one["function"]["arguments"]
        first = {**one, "index": at, "function": {**one["function"], "arguments": arguments[:5]}}
        yield _frame(_event({"tool_calls": [first]}))
        yield _frame(_event({"tool_calls": [{"index": at, "function": {"arguments": arguments[5:]}}]}))
    if reply.finish_reason:
        yield _frame(_event({}, finish_reason=reply.finish_reason))
    if reply.usage and counts:
        chunk = {"id": "c", "object": "chat.completion.chunk", "model": MODEL, "choices": [], "usage": reply.usage}
        yield _frame(b"data: " + _dump(chunk) + b"\n\n")
    if not reply.cut:
        yield _frame(b"data: [DONE]\n\n") + b"0\r\n\r\n"


def _event(delta: dict[str, Any], *, finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": MODEL, "choices": [choice]}
    return b"data: " + _dump(chunk) + b"\n\n"


def _render_completion(reply: Reply) -> dict[str, Any]:
    text = "".join(piece for piece in reply.pieces if isinstance(piece, str))
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if reply.calls:
        message |= {"content": text or None, "tool_calls": list(reply.calls)}
    choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason}
    usage = {"usage": reply.usage} if reply.usage else {}
    return {"id": "c", "object": "chat.completion", "created": 0, "model": MODEL, "choices": [choice], **usage}


def _frame(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True).encode()


def main() -> None:
    """Serve one fixed reply until SIGINT or SIGTERM; print the base URL when ready."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 picks a free one")
    parser.add_argument("--host", default="127.0.0.1", help="the address it listens on (default: 127.0.0.1)")
    parser.add_argument("--reply-file", type=Path, help="UTF-8 text to answer; a valid turn if absent")
    parser.add_argument("--pause", type=float, default=0, help="seconds between two pieces of a stream")
    parser.add_argument("--piece-chars", type=int, default=PIECE_CHARS, help="characters per streamed piece")
    options = parser.parse_args()
    text = options.reply_file.read_text(encoding="utf-8") if options.reply_file else TURN_ANSWER
    signals = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    answer = reply_with(text, piece_chars=options.piece_chars)
    if options.pause:
        answer = Reply(tuple(part for piece in answer.pieces for part in (piece, Pause(options.pause))))
    with ScriptedModel(port=options.port, host=options.host) as model:
        model.default = lambda request: answer
        print(model.base_url, flush=True)
        signal.sigwait(signals)


if __name__ == "__main__":
    main()
