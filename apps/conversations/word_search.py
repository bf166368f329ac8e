"""Finding what was said by the words in it, newest first; docs/decisions.md says why by this index."""

from __future__ import annotations

from typing import Any

from django.db.models import Q

from apps.accounts.models import User
from apps.conversations.models import Session
from apps.conversations.types import FoundMessage
from apps.core.db import fetch_rows
from apps.core.text.matching import bigrams
from apps.core.text.search_terms import SearchTerms

MAX_WORD = 64
"""Characters of a word in the index."""

# Of frequent words very many messages are found: only the keys of all of them are sorted, and only the newest are read.
FIND = """
WITH newest AS (
    SELECT message.id, message.create_time
    FROM conversation AS message
    WHERE message.user_id = %(user)s AND message.role IN ('user', 'assistant') AND message.status <> 'replaced'
      AND message.session_id NOT IN (SELECT id FROM chat_session WHERE user_id = %(user)s AND temporary)
      AND {conditions}
    ORDER BY message.create_time DESC, message.id DESC
    LIMIT %(limit)s
)
SELECT message.id, message.session_id, message.role, message.content, message.create_time
FROM newest JOIN conversation AS message USING (id)
ORDER BY newest.create_time DESC, newest.id DESC
"""


def find_messages(user: User, terms: SearchTerms, *, limit: int) -> list[FoundMessage]:
    """Return the user's newest messages that hold all of the terms, of what they and the assistant said.

    Of archived sessions too, but not of temporary ones, nor what was edited away.
    """
    if not terms:
        return []
    conditions, values = _write_conditions(user, terms)
    rows = fetch_rows(FIND.format(conditions=" AND ".join(conditions)), {**values, "user": user.pk, "limit": limit})
    return [FoundMessage(*row) for row in rows]


def _write_conditions(user: User, terms: SearchTerms) -> tuple[list[str], dict[str, Any]]:
    """The index finds what may hold the terms; what it cannot tell is looked up in the messages themselves."""
    conditions, values = list[str](), dict[str, Any]()
    indexed = [f"'{user.pk}:{word[:MAX_WORD]}':*" for word in terms.words]
    for number, spellings in enumerate(terms.parts):
        indexed.append("(" + " | ".join(_write_pairs(user, spelling) for spelling in spellings) + ")")
        if len(spellings[0]) > 2:  # the pairs are there, but in a row?
            names = {f"part_{number}_{index}": spelling for index, spelling in enumerate(spellings)}
            conditions.append("(" + " OR ".join(f"position(%({name})s IN message.content) > 0" for name in names) + ")")
            values |= names
    for number, literal in enumerate(terms.literals):
        conditions.append(f"message.content ILIKE %(literal_{number})s")
        values[f"literal_{number}"] = f"%{_escape(literal)}%"
    if indexed:
        conditions.append("message_words(message.user_id, message.content) @@ %(indexed)s::tsquery")
        values["indexed"] = " & ".join(indexed)
    return conditions, values


def _write_pairs(user: User, run: str) -> str:
    """The pairs of neighbouring characters that a run consists of; of a single one what begins with it."""
    pairs = [f"'{user.pk}:{pair}'" for pair in dict.fromkeys(bigrams(run))]
    return "(" + " & ".join(pairs) + ")" if pairs else f"'{user.pk}:{run}':*"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def find_titled_sessions(user: User, terms: SearchTerms, *, limit: int) -> list[Session]:
    """Return the user's sessions whose title holds all of the terms, the last active first; no temporary ones."""
    if not terms:
        return []
    wanted = Q(user=user, temporary=False)
    for text in (*terms.words, *terms.literals):
        wanted &= Q(title__icontains=text)
    for spellings in terms.parts:
        one = Q()
        for spelling in spellings:
            one |= Q(title__contains=spelling)
        wanted &= one
    return list(Session.objects.filter(wanted).order_by("-last_active_at", "-id")[:limit])
