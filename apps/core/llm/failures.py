"""What can go wrong with a model server, reported so that whoever runs this can act on it (C6).

Every failure becomes one `apps.core.errors.ModelUnavailable` with ``fields["reason"]``, and ``fields["status"]`` where
the server answered with one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx2
import openai

from apps.core.errors import ModelUnavailable
from apps.core.llm.connecting import AnswerTooLong
from apps.core.llm.types import Blame

Reason = Literal[
    "unreachable",  # no connection
    "timeout",  # connected, then silence
    "rate_limited",  # HTTP 429
    "too_long",  # the request is longer than the model reads
    "refused",  # any other 4xx: key, address, model name, request
    "server_error",  # 5xx and passing conflicts
    "dropped",  # the stream ended before the model said that it was done
    "bad_answer",  # this is not a chat completion
    "no_model",  # no CHAT_MODEL, and the server lists none
    "cut_off",  # the answer reached its limit of tokens, and only a whole one is of use
    "only_reasoning",  # the model thought, and said nothing
    "reasoning_limit",  # the answer's limit of tokens was spent on thought
]

Refused = Literal["no", "maybe", "named"]

_MAX_DETAIL = 300
# Answers that whoever made the request can act on; the others are about the connection to the server.
_ABOUT_THE_REQUEST = frozenset({400, 404, 413, 422, 429})

_FORMAT_WORDS = ("response_format", "json_schema", "json_object", "grammar", "json mode", "mime type")
_TOOL_WORDS = re.compile(r"\btools?\b|\btool_|function[ _-]?call", re.IGNORECASE)
# How llama.cpp says with a status of its own failures that it was not set up for tools.
_TOOLS_UNAVAILABLE = re.compile(r"--jinja|tools? param|constraints with tools", re.IGNORECASE)

_TOO_LONG = re.compile(
    r"context[ _-]?(?:length|size|window|limit)|(?:too|greater|larger|more) .{0,40}(?:long|large|context|tokens)"
    r"|max(?:imum)?\b.{0,40}\b(?:length|tokens)|exceed",
    re.IGNORECASE,
)

_HINTS = {
    401: " Check {key}.",
    403: " Check {key}.",
    404: " Check {address} and {model}.",
    429: " Try again later.",
}


CHAT = Blame()


@dataclass(eq=False)
class Failure(Exception):
    """One failed attempt.

    `transient`: trying again may help. `retry_after`: seconds the server asked to wait, None if it did not say.
    `format_refused`: "named" if it says that it cannot do the requested response format, "maybe" if it does not say
    what it dislikes about a request that has one; `tools_refused`: the same of tools. `counting_refused`: it says that
    it cannot tell the usage of a stream. `answer`: the error as the server put it.
    """

    reason: Reason
    message: str
    status: int | None = None
    transient: bool = False
    retry_after: float | None = None
    format_refused: Refused = "no"
    tools_refused: Refused = "no"
    counting_refused: bool = False
    answer: Any = None

    def as_error(self) -> ModelUnavailable:
        """Return the error that the rest of the project knows."""
        fields = {"reason": self.reason} | ({"status": self.status} if self.status is not None else {})
        return ModelUnavailable(self.message, fields=fields)

    def as_refusal(self) -> ModelUnavailable:
        """Return the same for a request that a client made: with the server's own answer, where it is about that."""
        error = self.as_error()
        if self.status in _ABOUT_THE_REQUEST and isinstance(self.answer, dict):
            error.fields["refusal"] = {"status": self.status, "error": self.answer}
        return error


def describe_failure(error: Exception, *, server: str, secret: str, blame: Blame = CHAT) -> Failure:
    """Return what `error`, raised by the OpenAI library or beneath it, means.

    `server`: its address for the message. `secret`: the API key, which must not get into the message. `blame`: what
    the message tells to check.
    """
    if isinstance(error, TimeoutError | openai.APITimeoutError) and not isinstance(
        error.__cause__, httpx2.ConnectTimeout
    ):
        return Failure("timeout", f"The model server at {server} took too long to answer.")
    if isinstance(error, openai.APIStatusError):
        return _describe_status(error, server=server, secret=secret, blame=blame)
    cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else error
    if isinstance(cause, AnswerTooLong):
        return Failure("bad_answer", f"The answer of the server at {server} is too long. Check {blame.address}.")
    if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout):
        message = f"The model server at {server} cannot be reached. Is it running, and is {blame.address} right?"
        return Failure("unreachable", message, transient=True)
    if isinstance(cause, httpx2.InvalidURL | httpx2.UnsupportedProtocol):
        return Failure("unreachable", f"{blame.address} is no usable address: {server}")
    if isinstance(cause, httpx2.LocalProtocolError | UnicodeEncodeError):
        return Failure("refused", f"{blame.key[:1].upper()}{blame.key[1:]} contains characters that cannot be sent.")
    if isinstance(error, openai.APIConnectionError):
        return Failure("dropped", f"The model server at {server} dropped the connection.", transient=True)
    if isinstance(error, openai.APIError):  # an error event in the stream
        detail = _shorten(error.message, secret=secret)
        passing = str(error.code or "").startswith(("5", "429"))
        failure = Failure("server_error", f"The model server at {server} reports: {detail}", transient=passing)
        return _blame_grammar(failure, error.message)
    return Failure("bad_answer", f"What the server at {server} sent is no {blame.answer}. Check {blame.address}.")


def show_address(base_url: str) -> str:
    """Return the address of a server as it may be shown: without user name, password and query."""
    parts = urlsplit(base_url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _describe_status(error: openai.APIStatusError, *, server: str, secret: str, blame: Blame) -> Failure:
    status = error.status_code
    detail = _shorten(error.message, secret=secret)
    hint = _HINTS.get(status, "").format(address=blame.address, key=blame.key, model=blame.model)
    reason: Reason = "rate_limited" if status == 429 else "refused" if 400 <= status < 500 else "server_error"
    if 300 <= status < 400:
        reason, hint = "refused", f" It sends requests elsewhere, which is not followed. Check {blame.address}."
    if status in {408, 409}:
        reason = "server_error"
    format_refused: Refused = "no"
    tools_refused: Refused = "no"
    about = f"{error.param} {error.message} {error.body}".lower()
    about_form = any(word in about for word in _FORMAT_WORDS) or _TOOL_WORDS.search(about)
    if status in {400, 413, 422, 500} and not about_form and _TOO_LONG.search(about):
        reason = "too_long"
    elif status in {400, 404, 422}:
        otherwise: Refused = "maybe" if status == 400 else "no"
        format_refused = "named" if any(word in about for word in _FORMAT_WORDS) else otherwise
        tools_refused = "named" if _TOOL_WORDS.search(about) else otherwise
    elif _TOOLS_UNAVAILABLE.search(about):
        tools_refused = "named"
    failure = Failure(
        reason,
        f"The model server at {server} answered HTTP {status}: {detail}{hint}",
        status=status,
        transient=reason in {"rate_limited", "server_error"},
        retry_after=_read_retry_after(error.response.headers.get("retry-after")),
        format_refused=format_refused,
        tools_refused=tools_refused,
        counting_refused=status in {400, 422} and "stream_options" in about,
        answer=_read_answer(error, secret=secret),
    )
    return _blame_grammar(failure, about)


def _blame_grammar(failure: Failure, about: str) -> Failure:
    """A grammar is made of the format or of the tools: which of them does not fit, the server does not say."""
    if re.search(r"pars\w* (?:the )?grammar|grammar .{0,20}(?:fail|error|invalid)|invalid grammar", about.lower()):
        failure.format_refused = failure.tools_refused = "named"
    return failure


def _read_answer(error: openai.APIStatusError, *, secret: str) -> dict[str, Any]:
    """The error object as the server sent it, or one with its text."""
    body = error.body
    answer = dict(body) if isinstance(body, dict) and "message" in body else {"message": error.message}
    if secret:
        answer |= {name: value.replace(secret, "***") for name, value in answer.items() if isinstance(value, str)}
    return answer


def _shorten(text: str, *, secret: str) -> str:
    text = " ".join(text.replace(secret, "***").split() if secret else text.split())
    return text if len(text) <= _MAX_DETAIL else text[:_MAX_DETAIL] + "…"


def _read_retry_after(header: str | None) -> float | None:
    """Return the seconds that a Retry-After header, a number or a date, asks for."""
    if not header:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        date = parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(0.0, (date.astimezone(UTC) - datetime.now(UTC)).total_seconds())
