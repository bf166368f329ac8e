"""How much of what answers a question is found in past conversations, and what a model answers from it.

    python -m benchmarks.answers FOLDER... [--limit N] [--model NAME [--judge-model NAME]] [--json FILE]

FOLDERs hold LoCoMo, BEAM, or RealMem and others in BEIR's layout (`benchmarks.questions`). Each person's past is put
into accounts on embedded servers by the product's own services, with the local embedder: as imported conversations, of
which past rounds are recalled (A5), and as memories (A4), which are the messages where a set has none. BM25 alone
searches the same texts. That needs no model. With ``--model``, a model answers each question from the ten best, and a
judge grades the answer by the set's rubric or reference; what is lost counts as 0. The key is OPENAI_API_KEY.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openai import BadRequestError, OpenAI, OpenAIError
from rich.console import Console
from rich.progress import track
from rich.table import Table

from apps.core.beir import CorpusRow, InvalidFolder
from apps.core.llm.reasoning import remove_reasoning
from benchmarks import questions
from benchmarks.questions import ASSISTANT, DEPTHS, MEMORY, USER, DataSet, Figures, Person, Question, Unit
from benchmarks.running import describe_machine, make_console, run_in_new_data_folder

if TYPE_CHECKING:
    from apps.accounts.models import User

LIMIT, ROUNDS, MEMORIES = max(DEPTHS), "rounds", "memories"
SHOWN = (*(f"recall@{depth}" for depth in DEPTHS), "score")
AROUND = ("results", "seconds", "tokens in", "tokens out", "tokens of the judge")

ANSWER = """Somebody asks about conversations that they had before. Below is what is remembered of them. Answer from
that alone, as briefly as the question allows. Where it does not say, say that you do not know."""
JUDGE = """Grade an answer. For each numbered criterion give 1 if the answer meets it, 0.5 if it does so in part, 0
if it does not. Judge the meaning, not the words. A criterion that only states something is what a right answer says.
Reply with JSON alone: {"grades": [one number for each criterion, in their order]}"""


def write_row(row: CorpusRow) -> str:
    """Return what a row says, after the name of whoever says it where that is known."""
    return row.text if row.speaker.lower() == row.role else f"{row.speaker}: {row.text}"


def ask_person(person: Person) -> Iterator[tuple[str, Question, list[Unit]]]:
    """Put a person's past into accounts; yield what each side finds for each question, the side's name first."""
    from apps.accounts.services.people import create_scratch_user

    rows = {row.id: row for session in person.sessions for row in session}
    said = {key for key, row in rows.items() if row.role != MEMORY}
    for store, kept in ((ROUNDS, said), (MEMORIES, rows.keys() - said or said)):
        sessions = [found for session in person.sessions if (found := [row for row in session if row.id in kept])]
        user = create_scratch_user(username=f"benchmark-{uuid.uuid4()}")
        units = (import_rounds if store == ROUNDS else add_memories)(user, sessions)
        if units:
            words = questions.BM25({unit: "\n".join(write_row(rows[key]) for key in unit) for unit in units.values()})
            for question in person.questions:
                yield f"{store}: Jiyi", question, [units[key] for key in search(user, question.text, store=store)]
                yield f"{store}: BM25", question, words.search(question.text, limit=LIMIT)


def import_rounds(user: User, sessions: Sequence[Sequence[CorpusRow]]) -> dict[uuid.UUID, Unit]:
    """Import conversations as a person would, with their vectors; return each round by the ID of its message."""
    from apps.conversations.models import Message
    from apps.conversations.recordings import import_conversation
    from apps.conversations.types import RecordedMessage
    from apps.memory.vectors.messages import prepare_embeddings, store_embeddings

    units: dict[uuid.UUID, Unit] = {}
    for rows in sessions:
        session, ids, started = uuid.uuid4(), {row.id: uuid.uuid4() for row in rows}, rows[0].timestamp
        said = [RecordedMessage(row.role, write_row(row), row.timestamp, ids[row.id]) for row in rows]
        import_conversation(user=user, session_id=session, title="", started_at=started, messages=said, now=started)
        store_embeddings(prepare_embeddings(Message.objects.filter(session=session)))
        for at, row in enumerate(rows):
            if row.role == USER:
                units[ids[row.id]] = (row.id, *(reply.id for reply in rows[at + 1 : at + 2] if reply.role == ASSISTANT))
    return units


def add_memories(user: User, sessions: Sequence[Sequence[CorpusRow]]) -> dict[uuid.UUID, Unit]:
    """Store each row as a memory; return the rows by the IDs of the memories."""
    from apps.memory.management.commands.evaluate_retrieval import ingest

    rows = [row for session in sessions for row in session]
    return {key: (row,) for key, row in ingest(user, rows, advance=lambda: None).items()}


def search(user: User, text: str, *, store: str) -> list[uuid.UUID]:
    """Return the best memories, or the messages of the best rounds; of rounds only those that stand out."""
    from apps.memory.recall.atomic import retrieve_atomic_memories
    from apps.memory.recall.rounds import SPARES, recall_rounds
    from apps.memory.vectors.queries import embed_query

    vector = embed_query(text, deadline=60)  # how busy this machine is, is not measured
    if store == ROUNDS:
        rounds = recall_rounds(user=user, message=text, limit=-(-LIMIT // SPARES), query_embedding=vector)
        return [each.message_id for each in rounds[:LIMIT]]
    memories = retrieve_atomic_memories(user=user, query=text, limit=LIMIT, query_embedding=vector)
    return [each.candidate.id for each in memories]


def complete(client: OpenAI, model: str, *, system: str, text: str) -> tuple[str, int, int]:
    """Return a model's answer, and the tokens in and out as its server counted them. Raises `OpenAIError`."""
    messages: Any = [{"role": "system", "content": system}, {"role": "user", "content": text}]
    try:
        done = client.chat.completions.create(model=model, messages=messages, temperature=0)
    except BadRequestError:  # some models have no other temperature than their own
        done = client.chat.completions.create(model=model, messages=messages)
    said = remove_reasoning(done.choices[0].message.content or "").strip() if done.choices else ""
    return said, done.usage.prompt_tokens if done.usage else 0, done.usage.completion_tokens if done.usage else 0


def answer(question: Question, remembered: str, *, client: OpenAI, model: str, judge: str) -> tuple[Figures, str]:
    """Have a model answer and another one grade that; return score (0..1) and costs, and what was lost, if anything."""
    figures, loss, start = Figures(score=0.0), "model failed", time.perf_counter()
    try:
        asked = f"Remembered:\n{remembered}\n\nAsked:\n{question.text}"
        said, figures["tokens in"], figures["tokens out"] = complete(client, model, system=ANSWER, text=asked)
        figures["seconds"] = time.perf_counter() - start
        if not said:
            return figures, "empty answer"
        loss = "judge failed"
        criteria = "\n".join(f"{number}. {text}" for number, text in enumerate(question.criteria, start=1))
        asked = f"Question:\n{question.text}\n\nAnswer:\n{said}\n\nCriteria:\n{criteria}"
        graded, *tokens = complete(client, judge, system=JUDGE, text=asked)
        figures["tokens of the judge"] = sum(tokens)
        score = questions.read_score(graded, count=len(question.criteria))
        return figures | {"score": score or 0.0}, "unreadable grades" if score is None else ""
    except OpenAIError as error:
        return figures, f"{loss}: {type(error).__name__}"


def measure(data: DataSet, *, console: Console, client: OpenAI, **models: str) -> dict[str, Any]:
    """Return the figures of a data set by side and group. `models`: the `model` and the `judge`, if there are to be."""
    rows = {row.id: row for person in data.people for session in person.sessions for row in session}
    figures: dict[str, list[tuple[str, Figures]]] = defaultdict(list)
    losses: dict[str, Counter[str]] = defaultdict(Counter)
    for person in track([each for each in data.people if each.questions], data.name, console=console, transient=True):
        for side, question, units in ask_person(person):
            groups = {"all": {}} | questions.compute_recall(question, units, rows)
            groups["all"]["results"] = len(units)
            if models and question.criteria:
                lines = [f"[{rows[key].timestamp:%Y-%m-%d}] {write_row(rows[key])}" for unit in units for key in unit]
                answered, loss = answer(question, "\n".join(lines), client=client, **models)
                groups["all"] |= answered
                losses[side][loss] += bool(loss)
            figures[side] += [*groups.items(), (question.category, groups["all"])]
    asked = [question for person in data.people for question in person.questions]
    data.losses["questions without evidence"] = sum(not question.evidence for question in asked)
    data.losses["questions without a reference"] = sum(not question.criteria for question in asked)
    return {
        "questions": len(asked),
        "losses": +data.losses,
        "sides": {
            side: {"groups": questions.average(found), "losses": +losses[side]} for side, found in figures.items()
        },
    }


def make_table(name: str, report: Mapping[str, Any]) -> Table:
    """Return recall and score of a data set by group, what there was and what it cost on average, and what was lost."""
    sides = report["sides"].values()
    every = [side["groups"]["all"] for side in sides]
    shown = [name for name in SHOWN if name in every[0]]
    table = Table("", title=f"{name}: {' / '.join(shown)}", title_justify="left", caption_justify="left")
    table.caption = f"Lost: {json.dumps(report['losses'])}"
    for side in report["sides"]:
        table.add_column(side, justify="right")
    for group, figures in next(iter(sides))["groups"].items():
        cells = ([each["groups"][group][name] for name in shown if name in figures] for each in sides)
        table.add_row(
            f"{group} ({figures['questions']})", *(" / ".join(f"{value:.3f}" for value in cell) for cell in cells)
        )
    for figure in filter(every[0].get, AROUND):
        table.add_row(figure, *(f"{each.get(figure, 0):.1f}" for each in every))
    table.add_row("lost answers", *(json.dumps(each["losses"]) for each in sides))
    return table


def main() -> None:
    """Measure, print the tables, and write the report where one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--limit", type=int, metavar="N", help="ask N questions of each folder, drawn at random")
    parser.add_argument("--model", metavar="NAME", help="who answers; without, only recall is measured")
    parser.add_argument("--judge-model", metavar="NAME", help="who grades, by default the same model")
    parser.add_argument("--base-url", metavar="URL", help="where both are asked, by default OPENAI_BASE_URL")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = parser.parse_args()
    if options.limit is not None and options.limit < 1:
        parser.error("--limit has to be at least 1")
    try:
        sets = [questions.read_data_set(path, limit=options.limit) for path in options.folders]
    except InvalidFolder as error:
        parser.error(str(error))
    # Read here, as the benchmark's own environment has no servers.
    client = OpenAI(base_url=options.base_url, api_key=os.environ.get("OPENAI_API_KEY") or "none")
    names = {"model": options.model, "judge": options.judge_model or options.model} if options.model else {}
    console, report = make_console(), {**describe_machine(), **names, "sets": {}}
    with run_in_new_data_folder():
        for data in sets:
            report["sets"][data.name] = measure(data, console=console, client=client, **names)
            console.print(make_table(data.name, report["sets"][data.name]))
    if options.json:
        options.json.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
