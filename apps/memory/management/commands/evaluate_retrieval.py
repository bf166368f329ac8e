"""``manage.py evaluate_retrieval FOLDER... [--k 5 10] [--json FILE]``: measure how well atomic memories are found.

The figures are those of Manning et al. 2008 (chapter 8) and BEIR (Thakur et al. 2021).
"""

from __future__ import annotations

import json
import math
import signal
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import IO, Any, NoReturn, cast

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from apps.accounts.models import User
from apps.accounts.services.people import create_scratch_user
from apps.conversations.sessions import create_session
from apps.conversations.types import MAX_TITLE_CHARS
from apps.core.beir import CorpusRow, Folder, InvalidFolder, Query, read_folders
from apps.memory.kinds import ATOMIC
from apps.memory.lifecycle import create_atomic_memories
from apps.memory.models import AtomicEmbedding, AtomicMemory
from apps.memory.recall.atomic import retrieve_atomic_memories
from apps.memory.types import AtomicDraft
from apps.memory.vectors.memories import embed_memories, store_memory_embeddings
from apps.memory.vectors.queries import embed_query

MAX_DEPTH = 50
NDCG_DEPTH = 10
BATCH = 100
# Characters of a line where no terminal says how many there are.
PIPE_WIDTH = 140
# The exit code of a program that Ctrl-C ended.
INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer to a query: IDs of corpus rows, best first, and its time, embedding the query included.

    `late`: the query's vector was not there in time, so that keywords alone answered.
    """

    query: Query
    ranked: Sequence[str]
    milliseconds: float
    late: bool


def compute_recall(ranked: Sequence[str], relevant: Mapping[str, int], *, k: int) -> float:
    """Return the share of the relevant items that is among the first `k`."""
    return sum(item in relevant for item in ranked[:k]) / len(relevant)


def compute_hit(ranked: Sequence[str], relevant: Mapping[str, int], *, k: int) -> float:
    """Return 1 when anything relevant is among the first `k`, else 0."""
    return float(any(item in relevant for item in ranked[:k]))


def compute_reciprocal_rank(ranked: Sequence[str], relevant: Mapping[str, int]) -> float:
    """Return one divided by the place of the first relevant item; 0 when there is none."""
    return next((1 / place for place, item in enumerate(ranked, start=1) if item in relevant), 0.0)


def compute_ndcg(ranked: Sequence[str], relevant: Mapping[str, int], *, k: int) -> float:
    """Return the discounted gain of the first `k` as a share of the best order's (Järvelin and Kekäläinen 2002).

    The gain of an item is its grade, as in trec_eval; the discount of place p is log2(p + 1).
    """
    gains = [relevant.get(item, 0) for item in ranked[:k]]
    return _discount(gains) / _discount(sorted(relevant.values(), reverse=True)[:k])


def _discount(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, start=1))


def compute_percentile(values: Sequence[float], *, share: float) -> float:
    """Return the smallest of the values that at least `share` (0..1) of them do not pass (nearest rank)."""
    return sorted(values)[max(math.ceil(share * len(values)) - 1, 0)]


def summarize_rankings(rankings: Sequence[Ranking], *, depths: Sequence[int]) -> dict[str, Any]:
    """Return the means over all queries, the latencies, and under `categories` the same of each category."""
    categories: dict[str, list[Ranking]] = defaultdict(list)
    for ranking in rankings:
        categories[ranking.query.category].append(ranking)
    by_category = {name: _summarize(categories[name], depths=depths) for name in sorted(categories)}
    return {**_summarize(rankings, depths=depths), "categories": by_category}


def _summarize(rankings: Sequence[Ranking], *, depths: Sequence[int]) -> dict[str, Any]:
    judged = [(ranking.ranked, ranking.query.relevant) for ranking in rankings]
    milliseconds = [ranking.milliseconds for ranking in rankings]
    return {
        **{f"recall@{k}": fmean(compute_recall(*pair, k=k) for pair in judged) for k in depths},
        "mrr": fmean(compute_reciprocal_rank(*pair) for pair in judged),
        f"ndcg@{NDCG_DEPTH}": fmean(compute_ndcg(*pair, k=NDCG_DEPTH) for pair in judged),
        **{f"hit@{k}": fmean(compute_hit(*pair, k=k) for pair in judged) for k in depths},
        "p50_ms": compute_percentile(milliseconds, share=0.5),
        "p95_ms": compute_percentile(milliseconds, share=0.95),
        "queries": len(rankings),
    }


@contextmanager
def make_scratch_users(user_ids: Sequence[str]) -> Iterator[dict[str, User]]:
    """Make an account for each ID, which nobody can log in to, and delete it with all its data at the end."""
    users: dict[str, User] = {}
    try:
        for user_id in dict.fromkeys(user_ids):
            users[user_id] = create_scratch_user(username=f"evaluation-{uuid.uuid4()}")
        yield users
    finally:
        for user in users.values():
            user.delete()


def evaluate(folder: Folder, *, limit: int, advance: Callable[[], None]) -> list[Ranking]:
    """Ingest a folder into scratch users and answer its queries with `limit` results each.

    `advance` is called for each row and query.
    """
    rows: dict[str, list[CorpusRow]] = defaultdict(list)
    for row in folder.corpus:
        rows[row.user_id].append(row)
    with make_scratch_users(list(rows)) as users:
        known: dict[uuid.UUID, str] = {}
        for user_id, user in users.items():
            known |= ingest(user, rows[user_id], advance=advance)
        embed_query("warm-up", deadline=60)  # loading the model is not part of a turn
        rankings = []
        for query in folder.queries:
            rankings.append(ask(users[query.user_id], query, known=known, limit=limit))
            advance()
        return rankings


def ingest(user: User, rows: Sequence[CorpusRow], *, advance: Callable[[], None]) -> dict[uuid.UUID, str]:
    """Store each row as one active memory, nothing merged or superseded; return the row's ID of each memory."""
    sessions = {
        session_id: create_session(user=user, title=session_id[:MAX_TITLE_CHARS]).id
        for session_id in dict.fromkeys(row.session_id for row in rows)
    }
    known: dict[uuid.UUID, str] = {}
    for start in range(0, len(rows), BATCH):
        batch = rows[start : start + BATCH]
        drafts = [
            AtomicDraft(
                content=f"{row.speaker}: {row.text}", timestamp=row.timestamp, session_id=sessions[row.session_id]
            )
            for row in batch
        ]
        memories = create_atomic_memories(user=user, drafts=drafts, now=timezone.now())
        _embed_missing(user, memories)
        for memory, row in zip(memories, batch, strict=True):
            known[memory.id] = row.id
            advance()
    return known


def _embed_missing(user: User, memories: Sequence[AtomicMemory]) -> None:
    # Where the embedding model is a server, vectors are left to workers; here none may be missing.
    embedded = set(AtomicEmbedding.objects.filter(memory__in=memories).values_list("memory_id", flat=True))
    if missing := [memory for memory in memories if memory.id not in embedded]:
        vectors = embed_memories([memory.content for memory in missing])
        ids = [memory.id for memory in missing]
        store_memory_embeddings(user=user, kind=ATOMIC, memory_ids=ids, vectors=vectors)


def ask(user: User, query: Query, *, known: Mapping[uuid.UUID, str], limit: int) -> Ranking:
    """Retrieve as a turn does, and take the time. `known`: the row's ID of each memory."""
    start = time.perf_counter()
    query_embedding = embed_query(query.text)
    found = retrieve_atomic_memories(user=user, query=query.text, limit=limit, query_embedding=query_embedding)
    milliseconds = (time.perf_counter() - start) * 1000
    ranked = [known[memory.candidate.id] for memory in found]
    return Ranking(query=query, ranked=ranked, milliseconds=milliseconds, late=query_embedding is None)


class Command(BaseCommand):
    help = (
        "Measure the retrieval of atomic memories on BEIR folders (corpus.jsonl, queries.jsonl, qrels/test.tsv). Each "
        "row becomes one active memory of a temporary account, and each query is run as in a turn. Prints "
        "recall, hit rate, MRR, NDCG and latency per folder and category. The accounts are deleted at the end, also "
        "after Ctrl-C."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
        parser.add_argument("--k", nargs="+", type=int, default=[5, 10], help="depths of recall and hit rate (5 10)")
        parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results to FILE")

    def handle(self, *args: Any, **options: Any) -> None:
        depths = sorted(set(options["k"]))
        if not 1 <= depths[0] <= depths[-1] <= MAX_DEPTH:
            raise CommandError(f"--k takes whole numbers from 1 to {MAX_DEPTH}.")
        try:
            folders = read_folders(options["folders"])
        except InvalidFolder as error:
            raise CommandError(str(error)) from error
        try:
            with _interruptible():
                results = {folder.name: self._evaluate(folder, depths) for folder in folders}
        except KeyboardInterrupt:
            raise CommandError("Stopped. The temporary accounts were deleted.", returncode=INTERRUPTED) from None
        if path := options["json"]:
            try:
                path.write_text(json.dumps(results, ensure_ascii=False, indent=2) + "\n", "utf-8")
            except OSError as error:
                raise CommandError(f"{path}: cannot be written: {error.strerror}") from error

    def _evaluate(self, folder: Folder, depths: Sequence[int]) -> dict[str, Any]:
        screen = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as progress:
            task = progress.add_task(folder.name, total=len(folder.corpus) + len(folder.queries))
            rankings = evaluate(folder, limit=max(*depths, NDCG_DEPTH), advance=lambda: progress.advance(task))
        figures = summarize_rankings(rankings, depths=depths)
        width = None if self.stdout.isatty() else PIPE_WIDTH
        Console(file=cast(IO[str], self.stdout), width=width).print(_make_table(folder.name, figures))
        if late := sum(ranking.late for ranking in rankings):
            self.stderr.write(f"{late} queries were not embedded in time, so only keywords were used.")
        return figures


def _make_table(name: str, figures: Mapping[str, Any]) -> Table:
    columns = [column for column in figures if column != "categories"]
    table = Table("", title=name, title_justify="left")
    for column in columns:
        table.add_column(column, justify="right")
    for label, row in (("all", figures), *figures["categories"].items()):
        decimals = {column: 0 if column == "queries" else 1 if column.endswith("_ms") else 3 for column in columns}
        table.add_row(label, *(f"{row[column]:.{decimals[column]}f}" for column in columns))
    return table


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let the first Ctrl-C or TERM end the run; while it cleans up, further ones do nothing."""
    numbers = (signal.SIGINT, signal.SIGTERM)

    def interrupt(number: int, frame: object) -> NoReturn:
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = [signal.signal(each, interrupt) for each in numbers]
    try:
        yield
    finally:
        for each, handler in zip(numbers, before, strict=True):
            signal.signal(each, handler)
