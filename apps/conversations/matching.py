"""Which stored messages a client's history is made of: matched by content, as clients name no messages (T3). Pure.

Clients send the whole conversation with every request. They may have cut off its beginning, edited a message, asked for
another reply, gone back to an earlier version, or held a part of it with another service.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from apps.conversations.types import RecordedMessage

# Messages of either side that are compared, the newest; older ones are left as they are.
MAX_COMPARED = 400


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A stored message of the user or the assistant.

    `place`: the position of the user's message, and 1 for a reply to it, so that all replies to a message stand
    together. `from_history`: it came with a client's history, so that it proves nothing about whose conversation it is.
    """

    id: uuid.UUID
    role: str
    content: str
    place: tuple[int, int]
    status: str
    reply_to: uuid.UUID | None = None
    from_history: bool = False


@dataclass(frozen=True, slots=True)
class Branch:
    """What a request does to a session.

    `asked`: the stored message that the request asks again; None for a new one. `matched`: for each message of the
    history the stored one, None where it is not stored. `restored` stand in the conversation again, `replaced` no
    longer. `is_known`: whether the session is shown to be this conversation, by a reply that was given here.
    """

    asked: uuid.UUID | None
    matched: tuple[uuid.UUID | None, ...]
    restored: tuple[uuid.UUID, ...] = ()
    replaced: tuple[uuid.UUID, ...] = ()
    is_known: bool = False

    @property
    def count(self) -> int:
        """How many messages of the history are stored."""
        return sum(row is not None for row in self.matched)


def normalise(text: str) -> str:
    """Return the text as it is compared: clients trim what they send."""
    return text.replace("\r\n", "\n").strip()


def follow(
    history: Sequence[RecordedMessage],
    message: str,
    stored: Collection[StoredMessage],
    *,
    whole: bool,
    beginning: str = "",
) -> Branch:
    """Return what a request with this history and this last message of the user does to a session.

    `beginning`: of the reply, where the client has it continued. A stored reply that begins with it is the one that the
    client shows, and its message the one that is asked again.

    What stands after the last matched message was edited away, as long as a reply that was given here is among the
    matched ones: examples in a prompt, which many conversations share, prove nothing. `whole`: the client named the
    session and sends all of it, so that any match will do, and an empty history means its beginning.
    """
    rows = sorted(stored, key=lambda row: (row.place, row.status != "replaced"))[-MAX_COMPARED:]
    if beginning and (branch := _follow_begun(history, message, rows, beginning=beginning, whole=whole)):
        return branch
    skipped = max(len(history) - MAX_COMPARED, 0)
    pairs = {skipped + at: rows[index] for at, index in _align(history[skipped:], rows)}
    matched = list(pairs.values())
    found = tuple(pairs[at].id if at in pairs else None for at in range(len(history)))
    given_here = any(row.role == "assistant" and not row.from_history for row in matched)
    if not (given_here or (whole and (matched or not history))):
        return Branch(asked=_find_unanswered(message, rows), matched=found)
    end = matched[-1].place if matched else (-1, 0)
    follows = not history or len(history) - 1 in pairs
    asked = _find_asked(message, [row for row in rows if row.place > end]) if follows else None
    restored = [row for row in matched if row.status == "replaced"]
    kept = {row.id for row in matched} | ({asked.id} if asked else set())
    replaced = [
        row
        for row in rows
        if row.status not in ("replaced", "pending")
        and row.id not in kept
        and (row.place > end or (restored and (_stands_between(row, matched) or _is_other_reply(row, restored))))
        and not (asked and row.reply_to == asked.id)  # it stands until the new one is stored
    ]
    if asked and asked.status == "replaced":
        restored.append(asked)
    return Branch(
        asked=asked.id if asked else None,
        matched=found,
        restored=tuple(row.id for row in restored),
        replaced=tuple(row.id for row in replaced),
        is_known=True,
    )


def _follow_begun(
    history: Sequence[RecordedMessage], message: str, rows: Sequence[StoredMessage], *, beginning: str, whole: bool
) -> Branch | None:
    """The branch of a request that continues a stored reply, None where there is none."""
    asked = {row.id: row for row in rows if row.role == "user" and _same(message, row.content)}
    begun = [
        (asked[row.reply_to], row)
        for row in rows
        if row.reply_to and row.reply_to in asked and row.status != "replaced" and _begins(row, beginning)
    ]
    if not begun:
        return None
    question, reply = begun[-1]
    exchange = [RecordedMessage(role=row.role, content=row.content) for row in (question, reply)]
    branch = follow([*history, *exchange], "", rows, whole=whole)
    if branch.matched[-2:] != (question.id, reply.id):
        return None
    if branch.replaced and not (history or whole):
        return None  # who sends a message and the beginning of its reply alone has taken nothing back
    return replace(branch, asked=question.id, matched=branch.matched[:-2])


def _begins(reply: StoredMessage, beginning: str) -> bool:
    """Whether a stored reply begins with this text."""
    return normalise(reply.content).startswith(normalise(beginning))


def _find_asked(message: str, after: Sequence[StoredMessage]) -> StoredMessage | None:
    """The first message of the user after what matched, in any version, that says the same."""
    said = [row for row in after if row.role == "user"]
    current = next((row for row in said if row.status != "replaced"), None)
    if current and _same(message, current.content):
        return current
    return next((row for row in said if row.status == "replaced" and _same(message, row.content)), None)


def _find_unanswered(message: str, rows: Sequence[StoredMessage]) -> uuid.UUID | None:
    """The last message, if it says the same and has no reply: it failed, or waits for the result of a tool."""
    current = [row for row in rows if row.status != "replaced"]
    last = current[-1] if current else None
    return last.id if last and last.role == "user" and _same(message, last.content) else None


def _stands_between(row: StoredMessage, matched: Sequence[StoredMessage]) -> bool:
    """Whether it stands right before a message that is restored, and so belonged to the version that is left."""
    later = [other for other in matched if other.place > row.place]
    earlier = [other for other in matched if other.place < row.place]
    return bool(later and earlier) and min(later, key=lambda other: other.place).status == "replaced"


def _is_other_reply(row: StoredMessage, restored: Sequence[StoredMessage]) -> bool:
    return row.role == "assistant" and any(
        other.reply_to is not None and other.reply_to == row.reply_to and other.id != row.id for other in restored
    )


def _same(left: str, right: str) -> bool:
    return normalise(left) == normalise(right)


def _align(history: Sequence[RecordedMessage], rows: Sequence[StoredMessage]) -> list[tuple[int, int]]:
    """Return the pairs of positions of a longest common subsequence, the newest messages first of all.

    The usual case, a history that ends with what is stored, is compared message by message.
    """
    left = [(line.role, normalise(line.content)) for line in history]
    right = [(row.role, normalise(row.content)) for row in rows]
    tail: list[tuple[int, int]] = []
    end_left, end_right = len(left), len(right)
    while end_left and end_right and left[end_left - 1] == right[end_right - 1]:
        end_left, end_right = end_left - 1, end_right - 1
        tail.append((end_left, end_right))
    # lengths[i][j]: of the longest common subsequence of the first i and the first j messages.
    lengths = [[0] * (end_right + 1)]
    for at_left in range(end_left):
        before, line = lengths[-1], [0]
        for at_right in range(end_right):
            if left[at_left] == right[at_right]:
                line.append(before[at_right] + 1)
            else:
                line.append(max(line[-1], before[at_right + 1]))
        lengths.append(line)
    while end_left and end_right:
        if left[end_left - 1] == right[end_right - 1]:
            end_left, end_right = end_left - 1, end_right - 1
            tail.append((end_left, end_right))
        elif lengths[end_left][end_right - 1] >= lengths[end_left - 1][end_right]:
            end_right -= 1
        else:
            end_left -= 1
    return tail[::-1]
