"""Grouping memories by what they are about, so that a model sees together what it may have to compare (D1). Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
import numpy.typing as npt

# Neighbours of each memory that may end up in its cluster.
NEIGHBOURS = 8
# Rows of the matrix of similarities that are in memory at once.
_ROWS = 1_000


class Nearness:
    """How near memories are in meaning: the cosine of their vectors, of those that have one."""

    def __init__(self, vectors: Mapping[UUID, npt.ArrayLike], *, min_similarity: float) -> None:
        """`min_similarity`: the cosine below which two texts have nothing to do with each other (K9)."""
        self._places = {memory_id: place for place, memory_id in enumerate(vectors)}
        self._ids = list(vectors)
        self._min = min_similarity
        rows = np.asarray([np.asarray(vector, dtype=np.float32) for vector in vectors.values()], dtype=np.float32)
        rows = rows.reshape(len(self._ids), -1)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        self._rows: npt.NDArray[np.float32] = (rows / np.where(lengths == 0, 1, lengths)).astype(np.float32)

    def is_near(self, one: UUID, other: UUID) -> bool:
        """Whether two memories are about the same; False where one of them has no vector."""
        first, second = self._places.get(one), self._places.get(other)
        if first is None or second is None:
            return False
        return float(self._rows[first] @ self._rows[second]) >= self._min

    def list_pairs(self) -> Iterator[tuple[float, UUID, UUID]]:
        """Yield each memory with its nearest `NEIGHBOURS`, as far as these are near, with the similarity."""
        count = len(self._ids)
        for start in range(0, count, _ROWS):
            similar = self._rows[start : start + _ROWS] @ self._rows.T
            for row, place in enumerate(range(start, min(start + _ROWS, count))):
                similar[row, place] = -1.0
                nearest = np.argpartition(similar[row], -min(NEIGHBOURS, count))[-NEIGHBOURS:]
                for other in nearest:
                    if (similarity := float(similar[row, other])) >= self._min:
                        yield similarity, self._ids[place], self._ids[int(other)]


@dataclass(frozen=True, slots=True)
class Item:
    """A memory to be grouped. `key`: memories of one key belong together; "" for none. `tokens`: what it takes."""

    id: UUID
    key: str
    tokens: int


def group(items: Sequence[Item], nearness: Nearness, *, most: int, tokens: int) -> list[list[UUID]]:
    """Return the memories in clusters of at most `most` and at most `tokens`; each in one, alone where nothing is near.

    The nearest pairs are joined first, as long as the cluster that results is within both limits (agglomerative
    clustering with a single link, whose chains the limits cut). In the order of `items`, within clusters too.
    """
    clusters: dict[UUID, list[UUID]] = {item.id: [item.id] for item in items}
    sizes = {item.id: item.tokens for item in items}
    roots = {item.id: item.id for item in items}
    for _similarity, one, other in sorted(_list_links(items, nearness), key=lambda link: -link[0]):
        first, second = _find(roots, one), _find(roots, other)
        fits = len(clusters[first]) + len(clusters[second]) <= most and sizes[first] + sizes[second] <= tokens
        if first != second and fits:
            roots[second] = first
            clusters[first] += clusters.pop(second)
            sizes[first] += sizes.pop(second)
    order = {item.id: place for place, item in enumerate(items)}
    ordered = [sorted(cluster, key=order.__getitem__) for cluster in clusters.values()]
    return sorted(ordered, key=lambda cluster: order[cluster[0]])


def _list_links(items: Sequence[Item], nearness: Nearness) -> Iterator[tuple[float, UUID, UUID]]:
    by_key: defaultdict[str, list[UUID]] = defaultdict(list)
    for item in items:
        if item.key:
            by_key[item.key].append(item.id)
    for ids in by_key.values():
        yield from ((1.0, ids[0], other) for other in ids[1:])
    known = {item.id for item in items}
    yield from (link for link in nearness.list_pairs() if link[1] in known and link[2] in known)


def _find(roots: dict[UUID, UUID], one: UUID) -> UUID:
    while roots[one] != one:
        roots[one] = roots[roots[one]]
        one = roots[one]
    return one


def pack(clusters: Iterable[Sequence[Item]], *, most: int, tokens: int) -> list[list[UUID]]:
    """Put whole clusters into calls of at most `most` memories and `tokens`, in their order."""
    calls: list[list[UUID]] = []
    count = used = 0
    for cluster in clusters:
        size = sum(item.tokens for item in cluster)
        if not calls or count + len(cluster) > most or used + size > tokens:
            calls.append([])
            count = used = 0
        calls[-1] += [item.id for item in cluster]
        count, used = count + len(cluster), used + size
    return calls
