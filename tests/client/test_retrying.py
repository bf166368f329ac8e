"""When the client sends a request again, what it makes of failures, and what it never repeats."""

from __future__ import annotations

from urllib.parse import unquote

import pytest

from jiyi import AsyncJiyi, Jiyi
from jiyi._requests import Request
from jiyi._transport import FIRST_DELAY, MAX_DELAY, get_delay
from jiyi.errors import (
    APIError,
    Conflict,
    ConnectionFailed,
    Forbidden,
    ImportRefused,
    InvalidRequest,
    JiyiError,
    ModelUnavailable,
    NotFound,
    ServerError,
    Throttled,
    TimedOut,
    TooLarge,
    Unauthenticated,
    Unavailable,
    UnexpectedAnswer,
    read_error,
)
from tests.client.scripted_server import SESSION, Answer, ScriptedServer, refuse

EMPTY_PAGE = Answer(200, {"count": 0, "next": None, "previous": None, "results": []})
CREATED = Answer(201, SESSION)
READ = Request("GET", "/", dict, repeatable=True)
WRITE = Request("POST", "/", dict)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jiyi._transport.FIRST_DELAY", 0.0)


@pytest.fixture
def client(scripted_server: ScriptedServer):
    with Jiyi(scripted_server.url, "token") as client:
        yield client


# The rule


def error(status: int, code: str = "", retry_after: float | None = None) -> JiyiError:
    return read_error(
        status, {"error": {"code": code, "message": "", "fields": {}}}, retry_after=retry_after and str(retry_after)
    )


@pytest.mark.parametrize(
    ("request_", "failure", "again"),
    [
        (READ, error(503, "unavailable"), True),
        (READ, error(502), True),
        (READ, error(500, "internal_error"), False),
        (READ, error(404, "not_found"), False),
        (READ, ConnectionFailed(), True),
        (READ, TimedOut(), True),
        (READ, UnexpectedAnswer(), False),
        (READ, error(503, "model_unavailable"), False),
        (WRITE, error(503, "unavailable"), False),
        (WRITE, ConnectionFailed(), False),
        (WRITE, error(429, "throttled"), True),
    ],
)
def test_what_is_repeated(request_: Request, failure: JiyiError, again: bool):
    assert (get_delay(request_, failure, attempt=0, retries=1, jitter=0.5) is not None) is again
    assert get_delay(request_, failure, attempt=1, retries=1, jitter=0.5) is None


def test_delays_double_and_vary_and_have_an_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("jiyi._transport.FIRST_DELAY", FIRST_DELAY)
    delays = [get_delay(READ, ConnectionFailed(), attempt=n, retries=20, jitter=1.0) for n in (0, 1, 2, 15)]
    assert delays == [0.5, 1.0, 2.0, MAX_DELAY]
    assert get_delay(READ, ConnectionFailed(), attempt=2, retries=20, jitter=0.0) == 1.0


def test_the_server_says_how_long_to_wait_up_to_a_limit():
    def wait(status: int, seconds: str) -> float | None:
        failure = read_error(status, {"error": {"code": "x"}}, retry_after=seconds)
        return get_delay(READ, failure, attempt=0, retries=3, jitter=1.0)

    assert wait(429, "7") == wait(503, "7") == 7.0
    assert wait(429, "3600") is None
    assert wait(429, "Wed, 25 Nov 2026 07:28:00 GMT") == wait(429, "-5") == wait(429, "inf") == 0.0


# Over HTTP


def test_a_throttled_request_is_sent_again(client: Jiyi, scripted_server: ScriptedServer):
    scripted_server.script(refuse(429, "throttled", retry_after="0"), CREATED)
    assert client.sessions.create().id == "1"
    assert [seen.path for seen in scripted_server.seen] == ["/chat/sessions"] * 2


async def test_the_asynchronous_client_sends_it_again_too(scripted_server: ScriptedServer):
    scripted_server.script(refuse(503, "unavailable", retry_after="0"), Answer(0), EMPTY_PAGE)
    async with AsyncJiyi(scripted_server.url, "token") as client:
        assert (await client.sessions.list()).results == []
    assert len(scripted_server.seen) == 3


def test_a_lost_answer_of_a_create_is_not_asked_for_again(client: Jiyi, scripted_server: ScriptedServer):
    scripted_server.script(Answer(0), CREATED)
    with pytest.raises(ConnectionFailed):
        client.sessions.create()
    assert len(scripted_server.seen) == 1


def test_a_message_is_repeated_under_one_key(client: Jiyi, scripted_server: ScriptedServer):
    scripted_server.script(Answer(0), refuse(503, "unavailable"), refuse(404, "not_found"))
    with pytest.raises(NotFound):
        client.sessions.send("1", "hello")
    keys = {seen.headers["Idempotency-Key"] for seen in scripted_server.seen}
    assert len(scripted_server.seen) == 3
    assert len(keys) == 1


def test_a_stream_is_repeated_until_its_first_event(client: Jiyi, scripted_server: ScriptedServer):
    delta = b'event: delta\ndata: {"text": "Hel"}\n\n'
    events = (("Content-Type", "text/event-stream"),)
    scripted_server.script(Answer(0), refuse(503, "unavailable"), Answer(200, delta, events))
    stream = client.sessions.stream("1", "hello")
    assert next(stream).text == "Hel"
    with pytest.raises(ConnectionFailed, match="before the reply did"):
        next(stream)
    assert len({seen.headers["Idempotency-Key"] for seen in scripted_server.seen}) == 1


def test_what_a_request_carries(scripted_server: ScriptedServer):
    scripted_server.script(EMPTY_PAGE, EMPTY_PAGE)
    with Jiyi(f"{scripted_server.url}/", " token\n", end_user="小明 100%") as client:
        client.long_term.list(status=["active", "pending"], muted=False, search="a&b=颜色", limit=3)
        client.with_options(end_user="u-2").long_term.list()
    first, second = scripted_server.seen
    assert (
        first.path == "/memory/long-term?status=active%2Cpending&muted=false&search=a%26b%3D%E9%A2%9C%E8%89%B2&limit=3"
    )
    assert first.headers["Authorization"] == "Bearer token"
    assert unquote(first.headers["X-End-User"]) == "小明 100%"
    assert second.headers["X-End-User"] == "u-2"
    assert first.headers["User-Agent"].startswith("jiyi-client/")


def test_an_id_cannot_leave_its_place_in_the_path(client: Jiyi, scripted_server: ScriptedServer):
    scripted_server.script(refuse(404, "not_found"))
    with pytest.raises(NotFound):
        client.long_term.get("../profile?x=1#y")
    assert scripted_server.seen[0].path == "/memory/long-term/..%2Fprofile%3Fx%3D1%23y"


def test_an_unreachable_server(scripted_server: ScriptedServer):
    with Jiyi("http://127.0.0.1:1", "secret-token", retries=0) as client, pytest.raises(ConnectionFailed) as caught:
        client.sessions.list()
    assert "127.0.0.1:1" in str(caught.value)
    assert "secret-token" not in str(caught.value)


# Errors


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "invalid", InvalidRequest),
        (401, "unauthenticated", Unauthenticated),
        (403, "forbidden", Forbidden),
        (404, "not_found", NotFound),
        (409, "conflict", Conflict),
        (413, "too_large", TooLarge),
        (415, "unsupported_media_type", APIError),
        (422, "import_refused", ImportRefused),
        (429, "throttled", Throttled),
        (500, "internal_error", ServerError),
        (503, "unavailable", Unavailable),
        (503, "model_unavailable", ModelUnavailable),
    ],
)
def test_errors_are_typed_and_carry_what_the_api_says(status: int, code: str, kind: type[APIError], scripted_server):
    scripted_server.script(refuse(status, code, retry_after="9", message_id="7", colour=["Must not be blank."]))
    with Jiyi(scripted_server.url, "token", retries=0) as client, pytest.raises(kind) as caught:
        client.sessions.create()
    problem = caught.value
    assert type(problem) is kind
    assert (problem.status, problem.code, problem.message) == (status, code, f"It is {code}.")
    assert problem.fields == {"message_id": "7", "colour": ["Must not be blank."]}
    assert problem.retry_after == 9.0
    assert getattr(problem, "message_id", "7") == "7"


@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, b"<html>hello</html>", (("Content-Type", "text/html"),)),
        Answer(404, b"<html>nothing</html>", (("Content-Type", "text/html"),)),
        Answer(200, {"results": []}),
        Answer(200, ["no page"]),
        Answer(200, {"count": 1, "results": [{"id": "1"}]}),
        Answer(200, {"count": True, "results": []}),
        Answer(302, b"", (("Location", "http://127.0.0.1:1/"),)),
        Answer(404, {"error": "not in this shape"}),
    ],
)
def test_another_server_is_told_apart(answer: Answer, client: Jiyi, scripted_server: ScriptedServer):
    scripted_server.script(answer)
    with pytest.raises(UnexpectedAnswer):
        client.sessions.list()
    assert len(scripted_server.seen) == 1


def test_a_page_that_is_no_stream(client: Jiyi, scripted_server: ScriptedServer):
    scripted_server.script(Answer(200, b"<html></html>", (("Content-Type", "text/html"),)))
    with pytest.raises(UnexpectedAnswer, match="not a stream"):
        next(client.sessions.stream("1", "hello"))


def test_what_a_newer_server_adds_is_left_out(client: Jiyi, scripted_server: ScriptedServer):
    scripted_server.script(Answer(201, {**SESSION, "colour": "blue"}))
    session = client.sessions.create()
    assert session.id == "1"
    assert session.created_at.utcoffset().total_seconds() == 0
    assert session.last_active_at.utcoffset().total_seconds() == 8 * 3600
