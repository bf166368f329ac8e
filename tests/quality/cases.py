"""The labelled conversations that judge what is remembered, superseded and left alone (see README.md beside this file).

Data only: nothing here knows how the rules under judgement work. A malformed file is refused by name and line; the
message never quotes a case, so that an error does not show what the frozen half holds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, get_args

from apps.core.text.fold import fold

Language = Literal["zh", "en"]
Half = Literal["open", "frozen"]
Suite = Literal["open", "frozen", "open_2", "open_3", "open_4", "open_5"]
"""The halves, and the cases of others who never saw the rules (README.md)."""
Relation = Literal["contradicts", "same", "refines", "adds", "unrelated"]

FOLDER: Final = Path(__file__).parent
RELATIONS: Final[Mapping[str, Relation]] = {
    "moved": "contradicts",
    "job": "contradicts",
    "no_longer_likes": "contradicts",
    "name": "contradicts",
    "number": "contradicts",
    "negation": "contradicts",
    "list_add": "adds",
    "unrelated": "unrelated",
    "same": "same",
    "refines": "refines",
}
"""Every kind of case, and how its last message relates to the one it speaks of."""
_MOST_MESSAGES: Final = 6
JUNK_KINDS: Final = ("junk", "injection")


class InvalidCase(ValueError):
    """A line of a case file is not what README.md describes. Names the file and the line, never the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What the person wrote, ``days_ago`` whole days before the judgement."""

    text: str
    days_ago: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContradictionCase:
    """One person's history, oldest message first, and what must be true of their memories after it.

    ``live`` and ``ended`` are marks, to be looked up with `holds`. ``live_count`` is the most active memories that may
    hold a mark of ``live``.
    """

    id: str
    language: Language
    kind: str
    messages: tuple[Message, ...]
    relation: Relation
    live: tuple[str, ...]
    ended: tuple[str, ...]
    live_count: int

    @property
    def kept(self) -> tuple[str, ...]:
        """The marks of ``live`` that an earlier message already made true and the last one must not end."""
        said_again = self.messages[-1:] if self.relation == "contradicts" else ()
        return tuple(
            mark for mark in self.live if _is_said(mark, self.messages[:-1]) and not _is_said(mark, said_again)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JunkCase:
    """A message that must leave no memory (``injection``: no active one), and the reply it got where that matters."""

    id: str
    language: Language
    kind: Literal["junk", "injection"]
    text: str
    reply: str | None


def load_cases(*, language: Language, half: Suite) -> list[ContradictionCase]:
    """The cases of one half, or further suite, in file order.

    Raises:
        InvalidCase: a line is malformed, contradicts itself, or repeats an ID.
    """
    _check(language in get_args(Language) and half in get_args(Suite), f"there is no half {language}_{half}")
    return load_case_file(FOLDER / "contradictions" / f"{language}_{half}.jsonl", language=language)


def load_case_file(path: Path, *, language: Language) -> list[ContradictionCase]:
    """The cases of any file of one language in file order.

    Raises:
        InvalidCase: as `load_cases`.
    """
    return _load(path, lambda row: _read_case(row, language=language))


def load_junk(language: Language) -> list[JunkCase]:
    """The messages that must leave no memory, in file order.

    Raises:
        InvalidCase: as `load_cases`.
    """
    _check(language in get_args(Language), f"there is no junk in {language}")
    return _load(FOLDER / f"junk_{language}.jsonl", lambda row: _read_junk(row, language=language))


def holds(*, text: str, mark: str) -> bool:
    """Whether the text holds the mark: one of its alternatives, which "|" separates, as a substring of the folded text.

    Folding makes case, width and traditional or simplified script indifferent.
    """
    folded = fold(text)
    return any(fold(alternative) in folded for alternative in mark.split("|"))


_Case = TypeVar("_Case", ContradictionCase, JunkCase)


def _load(path: Path, read: Callable[[dict[str, Any]], _Case]) -> list[_Case]:
    cases: dict[str, _Case] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            row = json.loads(line)
            _check(isinstance(row, dict), "not an object")
            case = read(row)
            _check(case.id not in cases, "this ID is taken")
        except (json.JSONDecodeError, InvalidCase) as error:
            raise InvalidCase(f"{path.name}:{number}: {error}") from None
        cases[case.id] = case
    return list(cases.values())


def _read_case(row: dict[str, Any], *, language: Language) -> ContradictionCase:
    _check_fields(row, required={"id", "language", "kind", "messages", "relation", "live", "ended", "live_count"})
    _check_identity(row, language=language, kinds=RELATIONS)
    _check(row["relation"] == RELATIONS[row["kind"]], "relation does not belong to this kind")
    _check(_is_count(row["live_count"]), "live_count is not a whole number")
    case = ContradictionCase(
        id=row["id"],
        language=language,
        kind=row["kind"],
        messages=_read_messages(row["messages"]),
        relation=row["relation"],
        live=_read_marks(row["live"], name="live"),
        ended=_read_marks(row["ended"], name="ended"),
        live_count=row["live_count"],
    )
    _check_marks(case)
    return case


def _read_junk(row: dict[str, Any], *, language: Language) -> JunkCase:
    _check_fields(row, required={"id", "language", "kind", "text"}, optional={"reply"})
    _check_identity(row, language=language, kinds=JUNK_KINDS)
    _check(_is_text(row["text"]), "text is blank or no text")
    _check("reply" not in row or _is_text(row["reply"]), "reply is blank or no text")
    return JunkCase(id=row["id"], language=language, kind=row["kind"], text=row["text"], reply=row.get("reply"))


def _read_messages(value: Any) -> tuple[Message, ...]:
    _check(isinstance(value, list) and 2 <= len(value) <= _MOST_MESSAGES, "messages are not a list of two to six")
    for message in value:
        _check(isinstance(message, dict) and message.keys() == {"text", "days_ago"}, "a message has other fields")
        _check(_is_text(message["text"]), "a message is blank or no text")
        _check(_is_count(message["days_ago"]), "days_ago is not a whole number")
    days = [message["days_ago"] for message in value]
    _check(days == sorted(set(days), reverse=True), "days_ago does not fall from message to message")
    return tuple(Message(text=message["text"], days_ago=message["days_ago"]) for message in value)


def _read_marks(value: Any, *, name: str) -> tuple[str, ...]:
    _check(isinstance(value, list), f"{name} is not a list")
    for mark in value:
        _check(isinstance(mark, str) and all(part.strip() for part in mark.split("|")), f"{name} has a blank mark")
    _check(len(set(value)) == len(value), f"{name} has the same mark twice")
    return tuple(value)


def _check_marks(case: ContradictionCase) -> None:
    """Refuse marks by which no judge could decide."""
    earlier, last = case.messages[:-1], case.messages[-1:]
    _check(all(_is_said(mark, case.messages) for mark in case.live), "a mark of live is in no message")
    _check(all(_is_said(mark, earlier) for mark in case.ended), "a mark of ended is in no earlier message")
    _check(case.live_count >= len(case.live) or case.relation == "refines", "live_count is less than live has marks")
    if case.relation == "contradicts":
        _check(bool(case.ended), "ended is empty where a contradiction must end something")
        return
    _check(not case.ended, "ended is not empty where nothing is contradicted")
    added = any(_is_said(mark, last) and not _is_said(mark, earlier) for mark in case.live)
    match case.relation:
        case "same":
            said_throughout = all(_is_said(mark, [message]) for mark in case.live for message in case.messages)
            _check(said_throughout, "the same needs marks in every message")
        case "refines" | "adds":
            _check(added, "an addition or refinement needs a mark of what was added")
    _check(bool(case.kept) or case.relation == "refines", "live has no mark of what an earlier message said")


def _check_fields(row: dict[str, Any], *, required: set[str], optional: Collection[str] = ()) -> None:
    _check(required <= row.keys() <= required | set(optional), "fields are missing or unknown")


def _check_identity(row: dict[str, Any], *, language: Language, kinds: Collection[str]) -> None:
    _check(row["language"] == language, "language is not that of the file")
    _check(isinstance(row["kind"], str) and row["kind"] in kinds, "kind is unknown")
    pattern = rf"{language}[a-z]*-{row['kind'].replace('_', '-')}-\d\d"  # letters for the author
    _check(
        isinstance(row["id"], str) and re.fullmatch(pattern, row["id"]) is not None, "id is not language-kind-number"
    )


def _is_said(mark: str, messages: Sequence[Message]) -> bool:
    return any(holds(text=message.text, mark=mark) for message in messages)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _check(condition: bool, complaint: str) -> None:
    if not condition:
        raise InvalidCase(complaint)
