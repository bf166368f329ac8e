"""Conversations with what a capable model makes of them: read from data, held, and compared with what is to come of it.

Notation of ``conversations/*.toml``. `known`: what is remembered beforehand; ``@key: a | b`` is a long-term memory
(with ``|`` a list), anything else an atomic one, and a leading ``!`` says that its owner wrote it by hand. `earlier`:
rounds before; `said`: one message or several. `memories`: a statement and its verdict (`ends`, `refines`, `same`: texts
of known memories, ``@key: item`` for an item of a list); `changes`: without a statement, `on` such texts. `waits`: why
a person is asked first. `then`: long-term memories that recorded messages leave.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any
from uuid import uuid4

from apps.accounts.models import User
from apps.conversations.models import Message, Role, Session, Work
from apps.conversations.queue import add_work
from apps.conversations.worker import claim_rounds
from apps.extraction.run import extract
from apps.memory.changes.records import changed_by
from apps.memory.entries import create_memory
from apps.memory.lifecycle import create_atomic_memories
from apps.memory.models import AtomicMemory, Change, LongTermMemory
from apps.memory.types import AtomicDraft
from tests.support.scripted_model import RecordedRequest, ScriptedModel

FOLDER = Path(__file__).parent
NOW = datetime(2026, 11, 22, 9, tzinfo=UTC)
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
RELATIONS = {"ends": "contradicts", "refines": "refines", "same": "same"}


@dataclass(frozen=True)
class Case:
    """One conversation; `number` decides how its model writes the numbers of memories."""

    number: int
    name: str
    said: Sequence[str]
    known: Sequence[str] = ()
    earlier: Sequence[Sequence[str]] = ()
    memories: Sequence[dict[str, Any]] = ()
    changes: Sequence[dict[str, Any]] = ()
    entries: Sequence[dict[str, Any]] = ()
    then: dict[str, Any] = field(default_factory=dict)
    recorded: bool = False

    def list_targets(self) -> list[str]:
        """The texts that the model names, as they are shown to it."""
        named = [text for item in self.memories for relation in RELATIONS for text in item.get(relation, ())]
        return [text.lstrip("!@") for text in [*named, *(text for item in self.changes for text in item["on"])]]


@dataclass(frozen=True)
class Stored:
    """Everything that is remembered of a person. `waiting`: what is held back, with the reason."""

    atomic: frozenset[str]
    entries: dict[str, Any]
    waiting: frozenset[tuple[str, str]] = frozenset()


def read_cases(language: str) -> list[Case]:
    """The conversations of a language."""
    table = tomllib.loads((FOLDER / "conversations" / f"{language}.toml").read_text("utf-8"))
    cases = []
    for number, row in enumerate(table["case"]):
        filler = row.pop("filler", "") * 12
        said = row.pop("said")
        messages = [text.replace("{filler}", filler) for text in ([said] if isinstance(said, str) else said)]
        cases.append(Case(number=number, said=messages, **row))
    return cases


def remember_background(user: User, language: str, *, many: int = 0, more: Sequence[str] = ()) -> None:
    """Store unrelated memories of both kinds; `many` more of the atomic ones, and `more` in the notation of `known`."""
    table = tomllib.loads((FOLDER / "background.toml").read_text("utf-8"))[language]
    others = dict.fromkeys(text.lstrip("!") for text in more if "@" not in text)
    _remember_atomic(user, [*table["atomic"], *list(_vary(table))[:many], *others], origin=Change.Origin.EXTRACTION)
    for key, value in table["long_term"].items():
        _remember_entry(user, key, value, origin=Change.Origin.TURN)


def _vary(table: dict[str, Any]) -> Iterator[str]:
    """Every name with every fact, another thing, place and month in each."""
    for at, (fact, name) in enumerate(product(table["many_facts"], table["many_names"])):
        month, thing, place = (table[kind][at % len(table[kind])] for kind in ("months", "things", "places"))
        yield table["many"].format(name=name, fact=fact.format(month=month, thing=thing, place=place))


def _remember_atomic(user: User, contents: Sequence[str], *, origin: Change.Origin) -> None:
    with changed_by(origin=origin, actor=user if origin is Change.Origin.API else None):
        drafts = [
            AtomicDraft(content=content, timestamp=NOW - timedelta(days=3 + at)) for at, content in enumerate(contents)
        ]
        create_atomic_memories(user=user, drafts=drafts, now=NOW - timedelta(days=2))


def _remember_entry(user: User, key: str, value: Any, *, origin: Change.Origin) -> None:
    with changed_by(origin=origin, actor=user if origin is Change.Origin.API else None):
        create_memory(user=user, category="fact", key=key, value=value, now=NOW - timedelta(days=3))


def remember_known(case: Case, user: User) -> None:
    """Store what the person of this conversation is known for."""
    for text in case.known:
        origin = Change.Origin.API if text.startswith("!") else Change.Origin.TURN
        if text.lstrip("!").startswith("@"):
            key, _, value = text.lstrip("!@").partition(": ")
            _remember_entry(user, key, value.split(" | ") if "|" in value else value, origin=origin)
        else:
            _remember_atomic(user, [text.lstrip("!")], origin=origin)


def hold(case: Case, user: User, model: ScriptedModel) -> list[str]:
    """Hold the conversation and extract from it; returns the known memories that the model was shown."""
    session = Session.objects.create(user=user)
    _say(session, case.earlier, said_at=NOW - timedelta(minutes=9))
    messages = _say(session, [(text, "OK.") for text in case.said], said_at=NOW)
    add_work(messages=messages, kinds=[Work.Kind.EXTRACT], now=LONG_AGO, recorded=case.recorded)
    model.default = lambda request: answer(case, read_known(request))
    claimed = claim_rounds(uuid4().hex)
    assert claimed is not None
    extract(claimed)
    return list(read_known(model.chat_requests[-1]))


def _say(session: Session, rounds: Sequence[Sequence[str]], *, said_at: datetime) -> list[Message]:
    messages = []
    for text, reply in rounds:
        position, session.last_position = session.last_position + 1, session.last_position + 2
        shared = {"session": session, "user": session.user, "create_time": said_at}
        message = Message.objects.create(**shared, role=Role.USER, content=text, position=position)
        Message.objects.create(**shared, role=Role.ASSISTANT, content=reply, position=position + 1, reply_to=message)
        messages.append(message)
    session.save()
    return messages


def read_known(request: RecordedRequest) -> dict[str, int]:
    """The known memories of a prompt, with their numbers."""
    prompt = request.messages[-1]["content"]
    block = prompt.split("<known_memories>", 1)[1].split("</known_memories>", 1)[0]
    rows = [json.loads(line) for line in block.splitlines() if line.strip()]
    return {row["text"]: row["number"] for row in rows}


def answer(case: Case, known: dict[str, int]) -> str:
    """What the model of this case answers, given the memories that it was shown."""
    last = len(case.said) * 2 - 1

    def describe(item: dict[str, Any], **fields: Any) -> dict[str, Any]:
        extra = {name: item[name] for name in ("left", "merged", "event", "confidence", "text") if name in item}
        return {**extra, **fields, "about": item["about"] * 2 - 1 if "about" in item else last}

    def find(texts: Sequence[str]) -> Any:
        numbers = [known[text.lstrip("!@")] for text in texts if text.lstrip("!@") in known]
        match case.number % 4:
            case 0:
                return numbers
            case 1:
                return [str(number) for number in numbers]
            case 2 if len(numbers) == 1:
                return numbers[0]
            case 3 if len(numbers) == 1:
                return str(numbers[0])
        return numbers

    memories = []
    for item in case.memories:
        relation = next((name for name in RELATIONS if name in item), None)
        verdict = {"relation": RELATIONS[relation], "target": find(item[relation])} if relation else {}
        memories.append(describe(item, content=item["content"], tags=["x"], **verdict))
    changes = [describe(item, action=item["action"], target=find(item["on"])) for item in case.changes]
    entries = [{**entry, "about": last} for entry in case.entries]
    return json.dumps({"memories": memories, "changes": changes, "entries": entries}, ensure_ascii=False)


def foresee(case: Case, before: Stored) -> Stored:
    """What should be stored after the conversation: what the model said, and nothing else."""
    atomic, entries = set(before.atomic), dict(before.entries)
    waiting = set(before.waiting)
    for item in case.memories:
        if "waits" in item:
            waiting.add((item["content"], item["waits"]))
            continue
        if "same" in item:
            continue
        _end(item.get("ends", ()), atomic, entries, left=item.get("left"))
        refined = item.get("refines", ())
        atomic -= set(refined)
        sentence = item["merged"] if any(not text.startswith("@") for text in refined) else item["content"]
        atomic.add(sentence)
        _correct(refined, entries, merged=item.get("merged", ""))
    for item in case.changes:
        match item["action"]:
            case "end":
                _end(item["on"], atomic, entries, left=None)
            case "replace":
                _end(item["on"], atomic, entries, left=item["text"])
            case "add":
                for text in item["on"]:
                    key = text.lstrip("!@").partition(": ")[0]
                    old = entries[key]
                    entries[key] = [*(old if isinstance(old, list) else [old]), item["text"]]
    return Stored(frozenset(atomic), {**entries, **case.then}, frozenset(waiting))


def _correct(texts: Sequence[str], entries: dict[str, Any], *, merged: str) -> None:
    """Values that the corrected text does not have any more make way for it."""
    for text in texts:
        key, _, value = text.lstrip("@").partition(": ")
        if text.startswith("@") and not isinstance(entries[key], list) and value not in merged:
            entries[key] = merged.removeprefix(f"{key}: ")


def _end(texts: Sequence[str], atomic: set[str], entries: dict[str, Any], *, left: str | None) -> None:
    for text in texts:
        if not text.startswith("@"):
            atomic.discard(text)
            if left:
                atomic.add(left)
            continue
        key, _, value = text.lstrip("@").partition(": ")
        if isinstance(entries[key], list):
            entries[key] = [item for item in entries[key] if item != value]
        elif left:
            entries[key] = left
        else:
            del entries[key]


def read_stored(user: User) -> Stored:
    """Everything that is remembered of the person now."""
    rows = AtomicMemory.objects.filter(user=user)
    pending = rows.filter(status="pending")
    return Stored(
        atomic=frozenset(rows.filter(status="active").values_list("content", flat=True)),
        entries=dict(LongTermMemory.objects.filter(user=user, status="active").values_list("key", "value")),
        waiting=frozenset((row.content, row.proposal["reason"] if row.proposal else "") for row in pending),
    )
