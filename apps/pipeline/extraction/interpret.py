"""From the items of an answer to the statements and operations that memory carries out. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from apps.conversations.models import Message
from apps.core.text.grounding import is_grounded, is_said_by, leans_on_others
from apps.core.text.scripts import holds_chinese
from apps.core.text.time_expressions import find_time
from apps.memory.judging.types import (
    JudgedOperation,
    JudgedStatement,
    KnownMemory,
    Operation,
    Relation,
    Said,
    Verdict,
)
from apps.pipeline.extraction.answer import ChangeAnswer, MemoryAnswer
from apps.pipeline.extraction.prompt import copies_example, is_example


@dataclass(frozen=True, slots=True)
class Heard:
    """What the model was given to read. `messages`: those of the person, by number.

    `words`: all that was said in them, in the replies between and in the messages before. `own`: of that what the
    person said or was asked; `replies`: what the assistant said.
    """

    messages: Mapping[int, Message]
    words: str
    own: str
    replies: str
    known: Sequence[KnownMemory]
    zone: ZoneInfo

    @property
    def shown(self) -> str:
        """Every word that the model was shown of this person."""
        return "\n".join([self.words, *(memory.text for memory in self.known)])

    def find_source(self, about: int) -> Said | None:
        """Return the message that an item comes from, None where there is none of that number."""
        message = self.messages.get(about)
        return None if message is None else _cite(message)

    def grounds(self, text: str, *, targets: Sequence[int] = ()) -> bool:
        """Whether a text shares a word with what was said, or with the memories that it is a verdict on."""
        return is_grounded(text, said="\n".join([self.words, *self._list_named(targets)]))

    def is_foreign(self, text: str, *, targets: Sequence[int] = ()) -> bool:
        """Whether a text is from elsewhere, so that its nearness to what was said proves nothing.

        It takes more from the assistant's replies than from what the person said and what is known, or it is an
        example of the prompt and not all of it was said. Between two scripts, words cannot be compared.
        """
        if self.is_borrowed(text, targets=targets):
            return True
        own = "\n".join([self.own, *self._list_named(targets)])
        return is_example(text) and holds_chinese(text) == holds_chinese(own) and not is_said_by(text, said=own)

    def is_borrowed(self, text: str, *, targets: Sequence[int] = ()) -> bool:
        """Whether a text takes more from the assistant's replies than from what the person said and what is known."""
        return leans_on_others(text, own="\n".join([self.own, *self._list_named(targets)]), others=self.replies)

    def _list_named(self, targets: Sequence[int]) -> list[str]:
        return [memory.text for memory in self.known if memory.number in targets]


def read_statements(memories: Iterable[MemoryAnswer], *, heard: Heard) -> list[JudgedStatement]:
    """Return the statements of messages that there are; none that was copied from the prompt."""
    return [
        JudgedStatement(
            content=memory.content,
            source=source,
            verdict=Verdict(
                relation=Relation(memory.relation),
                targets=memory.target,
                confidence=memory.confidence,
                left=_drop_empty(memory.left),
                merged=_drop_empty(memory.merged),
            ),
            tags=memory.tags,
            event_start=event.start if event else None,
            event_end=event.end if event else None,
            grounded=heard.grounds(memory.content, targets=memory.target)
            and not heard.is_foreign(memory.content, targets=memory.target),
            number=number,
            revises=memory.revises,
        )
        for number, memory in enumerate(memories, start=1)
        if (source := heard.find_source(memory.about)) is not None
        and not copies_example(f"{memory.content} {memory.left} {memory.merged}", said=heard.shown)
        for event in [memory.event and find_time(memory.event, said_at=source.said_at, zone=heard.zone)]
    ]


def read_operations(changes: Iterable[ChangeAnswer], *, heard: Heard) -> list[JudgedOperation]:
    """Return the changes that messages ask for; none whose text was copied from the prompt."""
    return [
        JudgedOperation(
            operation=Operation(change.action),
            targets=change.target,
            source=source,
            text=_drop_empty(change.text),
            confidence=change.confidence,
            grounded=not change.text
            or (
                heard.grounds(change.text, targets=change.target)
                and not heard.is_foreign(change.text, targets=change.target)
            ),
        )
        for change in changes
        if (source := heard.find_source(change.about)) is not None
        and not copies_example(change.text or "", said=heard.shown)
    ]


def _drop_empty(text: str | None) -> str | None:
    return (text or "").strip() or None


def _cite(message: Message) -> Said:
    return Said(message_id=message.id, session_id=message.session_id, said_at=message.create_time, text=message.content)
