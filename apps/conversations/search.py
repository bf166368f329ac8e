"""Finding what was said by the words in it, newest first; docs/decisions.md says why by this index."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import F, Func, Q, TextField

from apps.accounts.models import User
from apps.accounts.spaces import seen_from, sight_parameters
from apps.conversations.models import Role, Session
from apps.conversations.types import FoundMessage
from apps.core.db import fetch_rows
from apps.core.text.keywords import bigrams
from apps.core.text.search import DIGITS, LETTERS, SearchTerms
from apps.core.text.sentences import cut_client_blocks
from apps.core.times import ANY_TIME, TimeRange

# Characters of a word in the index.
MAX_WORD = 64
# Messages that are read one by one before the index is asked: what is in every tenth is found among them.
NEWEST = 3_000
# So many times more messages are read where words are found in what clients put into messages.
ECHOES = 10

# Sessions that are not seen from where the person looks (P2); it reads `sight_parameters`.
HIDDEN_SESSIONS = """
SELECT id FROM chat_session
WHERE user_id = %(user)s AND space_id IS NOT NULL AND space_id IS DISTINCT FROM %(space)s AND NOT %(everything)s
"""

# What people said and were told, and can still read.
READABLE = f"""
message.user_id = %(user)s AND message.role IN ('user', 'assistant') AND message.status <> 'replaced'
AND message.session_id NOT IN (SELECT id FROM chat_session WHERE user_id = %(user)s AND temporary)
AND message.session_id NOT IN ({HIDDEN_SESSIONS})
"""  # noqa: S608 - our own names
SINCE, UNTIL = "AND message.create_time >= %(since)s\n", "AND message.create_time <= %(until)s\n"

FIND_AMONG_NEWEST = """
WITH newest AS MATERIALIZED (
    SELECT message.id, message.session_id, message.role, message.content, message.create_time
    FROM conversation AS message
    WHERE {readable}
    ORDER BY message.create_time DESC, message.id DESC
    LIMIT %(newest)s
)
SELECT * FROM newest AS message
WHERE {conditions}
ORDER BY message.create_time DESC, message.id DESC
LIMIT %(limit)s
"""

# Only the keys of what is found are sorted, and only the newest messages are read.
FIND_AMONG_ALL = """
WITH found AS (
    SELECT message.id, message.create_time
    FROM conversation AS message
    WHERE {readable} AND {conditions}
    ORDER BY message.create_time DESC, message.id DESC
    LIMIT %(limit)s
)
SELECT message.id, message.session_id, message.role, message.content, message.create_time
FROM found JOIN conversation AS message USING (id)
ORDER BY found.create_time DESC, found.id DESC
"""

# Under the message that a file was sent with.
FIND_IN_FILES = """
SELECT id, session_id, role, content, create_time
FROM (
    SELECT message.id, message.session_id, message.role, attachment.text AS content, message.create_time
    FROM attachment JOIN conversation AS message ON message.id = attachment.message_id
    WHERE attachment.user_id = %(user)s AND {readable}
) AS message
WHERE {conditions}
ORDER BY create_time DESC, id DESC
LIMIT %(limit)s
"""


def find_messages(user: User, terms: SearchTerms, *, limit: int, within: TimeRange = ANY_TIME) -> list[FoundMessage]:
    """Return the user's newest messages that hold all of the terms, of what they and the assistant said `within`.

    Of archived sessions too, but not of temporary ones, nor what was edited away, nor what clients put around what was
    said.
    """
    if not terms:
        return []
    steps = ((FIND_AMONG_NEWEST, _match_texts(terms)), (FIND_AMONG_ALL, _match_index(user, terms)))
    found: list[FoundMessage] = []
    for statement, conditions in steps:
        for read in (limit, limit * ECHOES):
            rows = _fetch(user, statement, conditions, limit=read, within=within)
            found = list(_drop_echoes(rows, terms))[:limit]
            if len(found) == limit:
                return found
            if len(rows) < read or len(found) == len(rows):
                break
    return found


def find_in_files(user: User, terms: SearchTerms, *, limit: int, within: TimeRange = ANY_TIME) -> list[FoundMessage]:
    """Return the user's newest messages that a file with all of the terms was sent with; `content` is the file's."""
    return _fetch(user, FIND_IN_FILES, _match_texts(terms), limit=limit, within=within) if terms else []


def _fetch(user: User, statement: str, conditions: _Conditions, *, limit: int, within: TimeRange) -> list[FoundMessage]:
    bounds = {"since": within.since, "until": within.until}
    parameters = {**conditions.values, **bounds, "user": user.pk, "limit": limit, "newest": NEWEST}
    parameters |= sight_parameters(user)
    readable = READABLE + (SINCE if within.since else "") + (UNTIL if within.until else "")
    written = statement.format(readable=readable, conditions=" AND ".join(conditions.texts))
    return [FoundMessage(*row) for row in fetch_rows(written, parameters)]


def _drop_echoes(found: Sequence[FoundMessage], terms: SearchTerms) -> Iterator[FoundMessage]:
    """Yield the messages with what a person said in them alone, unless the terms were only around it."""
    for message in found:
        own = cut_client_blocks(message.content) if message.role == Role.USER else message.content
        if own == message.content or _holds(own, terms):
            yield replace(message, content=own)


def _holds(text: str, terms: SearchTerms) -> bool:
    lowered = unicodedata.normalize("NFKC", text).lower()
    return (
        all(any(spelling in lowered for spelling in spellings) for spellings in terms.parts)
        and all(re.search(f"(?:^|[^{_follow(word)}]){re.escape(word)}", lowered) for word in terms.words)
        and all(literal.lower() in lowered for literal in terms.literals)
    )


def _follow(word: str) -> str:
    """The characters that a word may not follow: digits are found after letters, and letters after digits."""
    return DIGITS if word[0].isdigit() else LETTERS


@dataclass(frozen=True, slots=True)
class _Conditions:
    """What has to be true of a `message`, in SQL with named parameters, and their values."""

    texts: list[str] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)

    def add(self, text: str, **values: Any) -> None:
        self.texts.append(text)
        self.values.update(values)


def _match_texts(terms: SearchTerms) -> _Conditions:
    """Conditions that read the message itself, as it stands: to normalise thousands of texts would take too long."""
    conditions = _Conditions()
    for number, spellings in enumerate(terms.parts):
        _add_part(conditions, number, spellings, text="message.content")
    for number, word in enumerate(terms.words):
        pattern = f"(^|[^{_follow(word)}]){word}"
        conditions.add(f"lower(message.content) ~ %(word_{number})s", **{f"word_{number}": pattern})
    _add_literals(conditions, terms, compare="message.content ILIKE")
    return conditions


def _match_index(user: User, terms: SearchTerms) -> _Conditions:
    """Conditions of the index, and of the message itself what the index cannot tell."""
    conditions = _Conditions()
    indexed = [f"'{user.pk}:{word[:MAX_WORD]}':*" for word in terms.words]
    for number, spellings in enumerate(terms.parts):
        indexed.append("(" + " | ".join(_write_pairs(user, spelling) for spelling in spellings) + ")")
        if len(spellings[0]) > 2:  # the pairs are there, but in a row?
            _add_part(conditions, number, spellings, text="message_text(message.content)")
    # Without anything to look up in the index, all messages are read.
    compare = "message_text(message.content) LIKE" if indexed else "message.content ILIKE"
    _add_literals(conditions, terms, compare=compare)
    if indexed:
        query = " & ".join(indexed)
        conditions.add("message_words(message.user_id, message.content) @@ %(indexed)s::tsquery", indexed=query)
    return conditions


def _add_part(conditions: _Conditions, number: int, spellings: Sequence[str], *, text: str) -> None:
    # `position` takes half the time of LIKE: it skips what cannot match, and Chinese has no case.
    names = {f"part_{number}_{index}": spelling for index, spelling in enumerate(spellings)}
    conditions.add("(" + " OR ".join(f"position(%({name})s IN {text}) > 0" for name in names) + ")", **names)


def _add_literals(conditions: _Conditions, terms: SearchTerms, *, compare: str) -> None:
    for number, literal in enumerate(terms.literals):
        name = f"literal_{number}"
        conditions.add(f"{compare} %({name})s", **{name: f"%{_escape(literal)}%"})


def _write_pairs(user: User, run: str) -> str:
    """The pairs of neighbouring characters that a run consists of; of a single one what begins with it."""
    pairs = [f"'{user.pk}:{pair}'" for pair in dict.fromkeys(bigrams(run))]
    return "(" + " & ".join(pairs) + ")" if pairs else f"'{user.pk}:{run}':*"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def find_titled_sessions(user: User, terms: SearchTerms, *, limit: int, within: TimeRange = ANY_TIME) -> list[Session]:
    """Return the user's sessions that went on `within` and whose title holds all of the terms, the last active first.

    No temporary ones.
    """
    if not terms:
        return []
    text = Func(F("title"), function="message_text", output_field=TextField())
    found = Session.objects.filter(seen_from(user), user=user, temporary=False).alias(text=text)
    for wanted in (*((word,) for word in (*terms.words, *terms.literals)), *terms.parts):
        found = found.filter(reduce(or_, (Q(text__contains=spelling) for spelling in wanted)))
    if within.since:
        found = found.filter(last_active_at__gte=within.since)
    if within.until:
        found = found.filter(created_at__lte=within.until)
    return list(found.order_by("-last_active_at", "-id")[:limit])
