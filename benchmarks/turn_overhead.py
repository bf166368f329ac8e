"""What a turn costs beyond the model: the time to its first token and to its end, less the same call straight to the
same model server.

    python -m benchmarks.turn_overhead [--door rest] [--memories 10 1000] [--messages 10000] [--turns 200] [--json FILE]

Turns are streamed over HTTP from a real web process on embedded servers in a temporary folder; the model is scripted,
in a process of its own, and answers at once. Each turn is followed by the call it caused, made directly with the same
client, so that a temporary slowdown affects both. With ``--door openai`` the turns are chat completions whose client
resends the conversation, as OpenAI's clients do.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any

import httpx2
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.running import (
    Spread,
    describe_machine,
    get_spread,
    run_in_new_data_folder,
    run_scripted_model,
    run_web,
)
from benchmarks.sentences import make_sentence
from tests.support.scripted_model import MODEL, TURN_ANSWER

# Median time to the first token that a turn may add.
GOAL_MS = 25.0
REPLY = json.loads(TURN_ANSWER)["response"]
# Messages of the conversation that the client of chat completions sends again: as many as our own window holds.
RESENT = 21
MESSAGES_OF_A_SESSION = 50
# Not measured: enough for the rolling window to be full, and for every connection and cache to be warm.
WARM_UP_TURNS = 12

THINGS_ZH = "颜色 电影 音乐 运动 城市 早餐 书 游戏 花 季节 水果 茶 餐厅 动物 编程语言"
THINGS_EN = "color movie song sport city breakfast book game flower season fruit tea"
QUESTIONS = (
    *(f"你还记得我喜欢的{thing}是什么吗？" for thing in THINGS_ZH.split()),
    *(f"Do you remember my favorite {thing}, and why I like it?" for thing in THINGS_EN.split()),
)


@dataclass(frozen=True, slots=True)
class Call:
    """Milliseconds from sending a request to the first text of the reply, and to the end of the response."""

    first_token_ms: float
    end_ms: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Times of turns and of direct calls. `overhead`: the spread of the differences within each pair."""

    turn: Spread
    direct: Spread
    overhead: Spread


def compare(pairs: Sequence[tuple[float, float]]) -> Comparison:
    """Compare the times of turns with those of the same calls straight to the model."""
    return Comparison(
        turn=get_spread([turn for turn, _direct in pairs]),
        direct=get_spread([direct for _turn, direct in pairs]),
        overhead=get_spread([turn - direct for turn, direct in pairs]),
    )


def time_stream(client: httpx2.Client, path: str, body: dict[str, Any], *, first: str, last: str) -> Call:
    """Time a streamed response to the first line that holds `first` and to its end; some line must hold `last`."""
    start = time.perf_counter()
    first_at, ended = None, False
    with client.stream("POST", path, json=body) as response:
        response.raise_for_status()
        for line in response.iter_lines():
            if first_at is None and first in line:
                first_at = time.perf_counter()
            ended = ended or last in line
    end = time.perf_counter()
    if first_at is None or not ended:
        raise RuntimeError(f"{path} did not answer to its end")
    return Call(first_token_ms=(first_at - start) * 1000, end_ms=(end - start) * 1000)


@dataclass(frozen=True, slots=True)
class Result:
    """The figures for one number of memories. `opening`: the web process's own time before it calls the model."""

    memories: int
    turns: int
    first_token: Comparison
    end: Comparison
    opening: Spread


class Talker:
    """One user with memories, and a session in which they ask about them."""

    def __init__(
        self, options: argparse.Namespace, *, memories: int, questions: Iterator[str], web_url: str, model_url: str
    ) -> None:
        from apps.accounts.models import User
        from apps.accounts.services.people import create_token
        from apps.conversations.sessions import create_session

        self.memories = memories
        self._said: list[dict[str, str]] = []
        self.pairs: list[tuple[Call, Call]] = []
        self._user = User.objects.create_user(f"benchmark-{memories}")
        create_memories(self._user, memories)
        create_messages(self._user, options.messages)
        self._session = create_session(user=self._user) if options.door == "rest" else None
        self._questions = questions
        self._web = httpx2.Client(
            base_url=web_url, headers={"Authorization": f"Bearer {create_token(user=self._user)}"}, timeout=120
        )
        self._model = httpx2.Client(base_url=model_url, timeout=120)

    def ask(self) -> tuple[Call, Call]:
        """Send the next question as a turn, then the call that it caused straight to the model."""
        question = next(self._questions)
        turn = self._time_turn(question)
        return turn, self._time_call(self._render_model_call(question))

    def get_result(self) -> Result:
        from apps.chat.models import Turn

        timings = Turn.objects.filter(user=self._user).order_by("-created_at").values_list("timings", flat=True)
        return Result(
            memories=self.memories,
            turns=len(self.pairs),
            first_token=compare([(turn.first_token_ms, direct.first_token_ms) for turn, direct in self.pairs]),
            end=compare([(turn.end_ms, direct.end_ms) for turn, direct in self.pairs]),
            opening=get_spread([timing["opening_ms"] for timing in timings[: len(self.pairs)]]),
        )

    def _render_model_call(self, question: str) -> dict[str, Any]:
        """The body that the turn's own model client has sent, as near as makes no difference to its time."""
        from django.utils import timezone

        from apps.chat.prompts import get_turn_format
        from apps.chat.selectors import get_turn_configuration
        from apps.chat.turn.open import preview_context
        from apps.conversations.models import Session
        from apps.core.llm.types import ModelRequest
        from apps.core.llm.wire import render_request

        session = self._session or Session.objects.get(user=self._user)
        context = preview_context(user=self._user, session_id=session.id, message=question, now=timezone.now())
        _settings, table = get_turn_configuration(self._user)
        request = ModelRequest(messages=context.messages, response_format=get_turn_format(tuple(table)))
        return render_request(request, model=MODEL, level="json_schema", base_url="")

    def _time_turn(self, question: str) -> Call:
        if self._session is not None:
            path, asked = f"/chat/sessions/{self._session.id}/messages", {"content": question, "stream": True}
            return time_stream(self._web, path, asked, first="event: delta", last="event: done")
        self._said = [*self._said, {"role": "user", "content": question}][-RESENT:]
        body = {"model": "jiyi", "messages": self._said, "stream": True}
        first = '"delta": {"content": "'
        call = time_stream(self._web, "/v1/chat/completions", body, first=first, last="data: [DONE]")
        self._said.append({"role": "assistant", "content": REPLY})
        return call

    def _time_call(self, body: dict[str, Any]) -> Call:
        return time_stream(self._model, "/chat/completions", body, first='"content": "{', last="data: [DONE]")


def _invent_questions() -> Iterator[str]:
    """Yield questions without end, no two the same: a turn has to embed each of them."""
    for number in count(1):
        yield from (f"{question} ({number})" for question in QUESTIONS)


def create_memories(user: Any, number: int) -> None:
    """Give a user this many memories that the questions have words in common with."""
    from django.utils import timezone

    from apps.memory.entries import create_memory

    for category, key, value in islice(_invent_memories(), number):
        create_memory(user=user, category=category, key=key, value=value, now=timezone.now())


def create_messages(user: Any, number: int) -> None:
    """Give a user this many messages of earlier conversations, half of them replies, with vectors in the index."""
    from datetime import timedelta

    from django.db import connection
    from django.utils import timezone

    from apps.conversations.models import Message, Session
    from apps.memory.vectors.embedders import index_large_collections
    from apps.memory.vectors.messages import prepare_embeddings, store_embeddings

    texts = [make_sentence(each) for each in range(number)]
    for start in range(0, number, MESSAGES_OF_A_SESSION):
        session = Session.objects.create(user=user)
        rows: list[Message] = []
        for position, text in enumerate(texts[start : start + MESSAGES_OF_A_SESSION], start=1):
            said_at = timezone.now() - timedelta(minutes=10 * (number - start - position))
            asked = rows[-1] if position % 2 == 0 else None
            role = "user" if asked is None else "assistant"
            rows.append(
                Message(session=session, user=user, role=role, content=text, create_time=said_at, position=position)
            )
            rows[-1].reply_to = asked
        Message.objects.bulk_create(rows)
        store_embeddings(prepare_embeddings(rows))
    index_large_collections()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # as autovacuum does within a minute


def _invent_memories() -> Iterator[tuple[str, str, str]]:
    """Yield memories in both languages without end; each question's words are in many of them."""
    number = 0
    while True:
        number += 1
        for thing in THINGS_ZH.split():
            yield "preference", f"第{number}喜欢的{thing}", f"家附近那种{thing}，从{1900 + number}年起"
        for thing in THINGS_EN.split():
            yield "fact", f"favorite {thing} number {number}", f"the {thing} that I got to know in {1900 + number}"


def measure(options: argparse.Namespace, *, console: Console) -> list[Result]:
    """Measure turns for each number of memories, taking the numbers in turn."""
    with run_in_new_data_folder(), run_scripted_model() as model_url, run_web(model_url=model_url) as web:
        questions = _invent_questions()
        talkers = [
            Talker(options, memories=number, questions=questions, web_url=web.address, model_url=model_url)
            for number in options.memories
        ]
        for _ in range(WARM_UP_TURNS):
            for talker in talkers:
                talker.ask()
        for _ in track(range(options.turns), description="Turns", console=console, transient=True):
            for talker in talkers:
                talker.pairs.append(talker.ask())
        return [talker.get_result() for talker in talkers]


def make_table(results: Sequence[Result]) -> Table:
    """Return the figures as a table, the 95th percentile behind the stroke."""
    table = Table(title="Milliseconds, p50 / p95", title_justify="left")
    for name in ("memories", "time", "direct", "as a turn", "added"):
        table.add_column(name, justify="left" if name == "time" else "right")
    for result in results:
        for time_to, figures in (("to the first token", result.first_token), ("to the end", result.end)):
            spreads = (figures.direct, figures.turn, figures.overhead)
            table.add_row(str(result.memories), time_to, *map(str, spreads))
        table.add_row(str(result.memories), "before the model", "", str(result.opening), "", end_section=True)
    return table


def main() -> None:
    """Measure, print the table, and write the report where one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--door", choices=("rest", "openai"), default="rest", help="what turns are asked for by")
    parser.add_argument("--memories", type=int, nargs="+", default=[10, 1000], metavar="N", help="default: 10 1000")
    parser.add_argument("--messages", type=int, default=0, metavar="N", help="messages of earlier conversations")
    parser.add_argument("--turns", type=int, default=200, help="measured turns for each number (default: 200)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = parser.parse_args()
    if options.turns < 2 or min(options.memories) < 0 or len(set(options.memories)) < len(options.memories):
        parser.error("--turns has to be at least 2, and the numbers of --memories different and not negative")
    console = Console()
    results = measure(options, console=console)
    console.print(make_table(results))
    if options.json:
        report = {
            "door": options.door,
            **describe_machine(),
            "goal_first_token_added_p50_ms": GOAL_MS,
            "results": [asdict(result) for result in results],
        }
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
