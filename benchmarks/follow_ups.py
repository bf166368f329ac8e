"""How well follow-ups are understood, and new subjects kept apart: eighty labelled dialogues in two languages (K7).

    python -m benchmarks.follow_ups

Each line of ``follow_ups.jsonl`` has the turns of a dialogue, the newest by the person; a person's memories; which of
them the newest message asks for (``relevant``), and which are of the old topic (``old_topic``). The memories are ranked
by the product's own features, with and without the lines before the message.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import django
import numpy as np
from rich.console import Console
from rich.table import Table

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")
django.setup()

from apps.memory.retrieval.atomic.features import compute_features  # noqa: E402 - Django has to be set up before
from apps.memory.retrieval.atomic.query import AtomicQuery  # noqa: E402
from apps.memory.retrieval.atomic.ranking import weigh  # noqa: E402
from apps.memory.retrieval.follow_up import find_earlier  # noqa: E402
from benchmarks.ranking_data import embed, make_recall  # noqa: E402

DIALOGUES = Path(__file__).with_name("follow_ups.jsonl")
DEPTH = 3


@dataclass(frozen=True, slots=True)
class Figures:
    """Means over dialogues: of the relevant, which share is among the first three and five; of the first three, which
    share is of the old topic.
    """

    recall_at_3: float
    recall_at_5: float
    old_topic: float


def rank(dialogue: dict[str, Any], *, with_earlier: bool) -> list[int]:
    """Return the numbers of the dialogue's memories, best first."""
    *said, message = [turn["content"] for turn in dialogue["turns"]]
    query = AtomicQuery(message, earlier=find_earlier(message, said) if with_earlier else "")
    vectors = embed([message, query.earlier or message, *dialogue["memories"]])
    recall = make_recall(
        dialogue["memories"],
        query,
        cosine=np.stack(vectors[2:]) @ vectors[0],
        earlier_cosine=np.stack(vectors[2:]) @ vectors[1] if query.earlier else None,
    )
    scores = np.sum(list(weigh(compute_features(recall, query, times=[])).values()), axis=0)
    return [int(number) for number in np.argsort(-scores, kind="stable")]


def judge(dialogues: Sequence[dict[str, Any]], *, with_earlier: bool) -> Figures:
    """Return the figures of these dialogues."""
    found = []
    for dialogue in dialogues:
        order, relevant = rank(dialogue, with_earlier=with_earlier), set(dialogue["relevant"])
        shares = [len(relevant.intersection(order[:depth])) / len(relevant) for depth in (DEPTH, 5)]
        found.append((*shares, len(set(dialogue["old_topic"]).intersection(order[:DEPTH])) / DEPTH))
    return Figures(*(float(mean) for mean in np.mean(found, axis=0)))


def main() -> int:
    """Print the figures of each language and kind, without and with the lines before the message."""
    dialogues = [json.loads(line) for line in DIALOGUES.read_text("utf-8").splitlines()]
    table = Table(title="Message alone → with the lines before it", title_justify="left")
    for column in ("", "recall@3", "recall@5", "old topic in the first three"):
        table.add_column(column)
    for lang, kind in product(("zh", "en"), ("follow_up", "new_subject")):
        chosen = [each for each in dialogues if (each["lang"], each["kind"]) == (lang, kind)]
        alone, both = (judge(chosen, with_earlier=with_earlier) for with_earlier in (False, True))
        names = ("recall_at_3", "recall_at_5", "old_topic")
        cells = (f"{getattr(alone, name):.3f} → {getattr(both, name):.3f}" for name in names)
        table.add_row(f"{lang} {kind}", *cells)
    Console(width=None if sys.stdout.isatty() else 100).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
