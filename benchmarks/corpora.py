"""Many people from few: the people of BEIR folders, repeated under further names until there are enough memories.

Pure but for reading the folders: no database, no Django.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from apps.core.beir import CorpusRow, Query, read_corpus, read_queries
from apps.memory.evaluation.types import Folder


class TooFewMemories(ValueError):
    """There is nobody among the people whose memories are complete, so nothing can be asked."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with the memories `rows`, in order. `queries` ask for them; somebody who was cut short has none.

    `copy`: 1 for the people of the folders, 2 for those who repeat them once, and so on.
    """

    name: str
    rows: Sequence[CorpusRow]
    queries: Sequence[Query]
    copy: int = 1


@dataclass(frozen=True, slots=True)
class Question:
    """A query of one person. `text` is that of the query, as `make_distinct` writes it."""

    person: str
    query: Query
    text: str


def read_folders(paths: Sequence[Path]) -> list[Folder]:
    """Read and check folders; one that is given twice counts once. Raises `apps.core.beir.InvalidFolder`.

    Folders of the same name go by their whole paths.
    """
    unique = list(dict.fromkeys(path.resolve() for path in paths))
    names = [path.name for path in unique]
    folders = []
    for path in unique:
        corpus = read_corpus(path)
        name = path.name if names.count(path.name) == 1 else str(path)
        folders.append(Folder(name=name, corpus=corpus, queries=read_queries(path, corpus=corpus)))
    return folders


def get_content(row: CorpusRow) -> str:
    """Return the text of the memory that a row becomes, the same as in `apps.memory.evaluation.run`."""
    return f"{row.speaker}: {row.text}"


def split_people(folder: Folder) -> list[Person]:
    """Return the people of a folder, in order of their first row."""
    rows: dict[str, list[CorpusRow]] = defaultdict(list)
    queries: dict[str, list[Query]] = defaultdict(list)
    for row in folder.corpus:
        rows[row.user_id].append(row)
    for query in folder.queries:
        queries[query.user_id].append(query)
    return [Person(name=f"{folder.name}/{name}", rows=rows[name], queries=queries[name]) for name in rows]


def grow_people(folders: Sequence[Folder], *, sizes: Sequence[int]) -> list[list[Person]]:
    """Return, for each number of memories, the people who join those before so that there are exactly as many.

    `sizes` grow. The people of all folders come once, then again under further names, and so on; the last one of each
    size is cut to fit.
    """
    endless = _repeat_people([person for folder in folders for person in split_people(folder)])
    steps: list[list[Person]] = []
    held = 0
    for size in sizes:
        step: list[Person] = []
        while held < size:
            person = next(endless)
            if len(person.rows) > size - held:
                person = replace(person, rows=person.rows[: size - held], queries=())
            step.append(person)
            held += len(person.rows)
        steps.append(step)
    return steps


def _repeat_people(people: Sequence[Person]) -> Iterator[Person]:
    for copy in count(1):
        for person in people:
            yield Person(name=f"{person.name}#{copy}", rows=person.rows, queries=person.queries, copy=copy)


def draw_questions(people: Sequence[Person], *, number: int, seed: int) -> list[Question]:
    """Draw questions: every query that can be asked once before any is asked again, each of one of the people it fits.

    The same arguments give the same questions. Raises `TooFewMemories`.
    """
    draw = random.Random(seed)
    asked_by: dict[str, list[tuple[Person, Query]]] = defaultdict(list)
    for person in people:
        for query in person.queries:
            original = person.name.rpartition("#")[0]
            asked_by[f"{original}/{query.id}"].append((person, query))
    if not asked_by:
        raise TooFewMemories("the number of memories is smaller than that of the first person with queries")
    keys: list[str] = []
    while len(keys) < number:
        round_of_all = sorted(asked_by)
        draw.shuffle(round_of_all)
        keys += round_of_all
    chosen = [draw.choice(asked_by[key]) for key in keys[:number]]
    return [
        Question(person=person.name, query=query, text=make_distinct(query.text, place))
        for place, (person, query) in enumerate(chosen, start=seed * number)
    ]


def make_distinct(text: str, number: int) -> str:
    """Return `text` with white space behind it that no other number gives.

    Its words and its vector stay the same, and no cache of query vectors knows it.
    """
    return text.rstrip() + " " + f"{number:b}".translate({ord("0"): " ", ord("1"): "\t"})
