"""Finding changes by words in what they say, before and after."""

from __future__ import annotations

from uuid import UUID

from django.db.models import F, Func, Q, QuerySet, TextField, Value
from django.db.models.functions import Concat

from apps.memory.models import Change
from apps.profile.document import TEXT_SECTIONS

SEARCHED = 10_000
"""How many changes are read for words, the newest; older ones are narrowed to by the filters."""

LONGEST = 2_000
"""How many characters of each text are searched: with very long ones, searching still takes seconds at most."""

MOST_WORDS = 8
MOST_CHARACTERS = 200
_TEXTS = ("key", "value", "content", "tags", "title", "snippet", "section", "text", "sections", *TEXT_SECTIONS)
"""What of a snapshot somebody wrote or said; the rest are numbers, times and names of states."""


def search_changes(changes: QuerySet[Change], text: str) -> QuerySet[Change]:
    """Those among the newest of `changes` that have every word somewhere in their texts, or an ID of their own.

    Chinese has no spaces: there a word is any run of characters, found anywhere.
    """
    words = text[:MOST_CHARACTERS].split()[:MOST_WORDS]
    if not words:
        return changes
    if (named := _read_id(text)) is not None:
        return changes.filter(Q(object_id=named) | Q(operation=named))
    # What is never shown to who asks is not among `changes`, and so is not even counted.
    newest = changes.order_by("-pk").values("pk")[:SEARCHED]
    found = changes.filter(pk__in=newest).alias(
        texts=Concat(_join_texts("after"), Value("\n"), _join_texts("before"), output_field=TextField())
    )
    for word in words:
        found = found.filter(texts__icontains=word)
    return found


class _Texts(Func):
    """The texts of a snapshot, each on a line of its own; empty once the object was deleted. Reads it only once."""

    template = (
        "COALESCE((SELECT STRING_AGG(LEFT(part.value, %(longest)s), E'\\n') "
        "FROM JSONB_EACH_TEXT(NULLIF(%(expressions)s, 'null'::jsonb)) part WHERE part.key = ANY('{%(names)s}')), '')"
    )
    output_field = TextField()


def _join_texts(name: str) -> _Texts:
    return _Texts(F(name), longest=LONGEST, names=",".join(_TEXTS))


def _read_id(text: str) -> UUID | None:
    try:
        return UUID(text.strip())
    except ValueError:
        return None
