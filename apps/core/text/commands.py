"""Read what a person tells the memory itself: remember …, forget …, what do you remember (L9). Pure.

The sentence is the command: it begins with a trigger of data/commands.toml, and it is the person's own words. What is
doubtful is no command: it is left to the model.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from apps.core.text.fold import fold
from apps.core.text.forget_targets import find_tellable
from apps.core.text.quotations import find_foreign
from apps.core.text.sentences import split_sentences

_TABLE = Path(__file__).parent / "data" / "commands.toml"
_MARKS = " \t\r\n,，、.。!！?？~～…"

# A person types a request to forget; a longer message is mostly somebody else's text.
_LONGEST_TO_FORGET = 1_000


class CommandKind(StrEnum):
    """What is to be done."""

    REMEMBER = "remember"
    FORGET = "forget"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class Command:
    """One command. `text`: what to keep, word for word; or what to forget, as it was named; "" for LIST.

    `everything`: to forget is all there is. `doubtful`: it may not be meant for the memory. Either is asked back.
    """

    kind: CommandKind
    text: str = ""
    everything: bool = False
    doubtful: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """The commands of a message, in order, none twice. `only_list`: it asks what is remembered, and says no more."""

    commands: tuple[Command, ...] = ()
    only_list: bool = False

    @property
    def lists(self) -> bool:
        """Whether the message asks what is remembered."""
        return any(command.kind is CommandKind.LIST for command in self.commands)


def read_commands(text: str) -> list[Command]:
    """Return the commands of a message that refer to nothing before it."""
    return list(read_message(text).commands)


def read_message(text: str, *, before: Sequence[str] = ()) -> Reading:
    """Read a person's message. `before`: their earlier ones, oldest first, to which "Remember that." refers."""
    if not _patterns("hint")[0].search(_plain(text)):
        return Reading()
    lines = _split(text)
    if any(line.own and line.found is None and _is_about_text(line) for line in lines):
        return Reading()
    commands = list(dict.fromkeys(_list_commands(lines, before=before, short=len(text) <= _LONGEST_TO_FORGET)))
    only = all(line.own and (line.found is not None or line.is_courtesy) for line in lines)
    return Reading(tuple(commands), only and any(command.kind is CommandKind.LIST for command in commands))


@dataclass(frozen=True, slots=True)
class _Found:
    """A command as its sentence says it. `goes_on`: what follows belongs to it; `refers`: to what was said before."""

    command: Command
    goes_on: bool = False
    refers: bool = False


@dataclass(frozen=True, slots=True)
class _Line:
    """A sentence, with the blanks after it. `own`: the person's words; `found`: the command that it is."""

    text: str
    plain: str
    own: bool
    paragraph: int
    found: _Found | None

    @property
    def is_courtesy(self) -> bool:
        start = _start().match(self.plain)
        rest = self.plain[start.end() if start else 0 :].strip(_MARKS)
        return not rest or _patterns("courtesy")[0].fullmatch(rest) is not None

    @property
    def is_statement(self) -> bool:
        asks = self.plain.rstrip("\"'”」) \n").endswith(("?", "？"))
        return self.own and self.found is None and not asks and not self.is_courtesy


def _split(text: str) -> list[_Line]:
    """The sentences of a message; what follows a colon, or begins as a letter does, is handed over, not said."""
    foreign = find_foreign(text)
    lines, position, paragraph, handed_over, at = list[_Line](), 0, 0, False, 0
    for piece in split_sentences(text, keep=foreign):
        begin, position = position + len(piece) - len(piece.lstrip()), position + len(piece)
        while at < len(foreign) and foreign[at][1] <= begin:
            at += 1
        inside = at < len(foreign) and foreign[at][0] <= begin
        if piece.strip():
            own, plain = not inside and not handed_over, _plain(piece).strip()
            found = _read_sentence(plain, piece.strip()) if own else None
            lines.append(_Line(piece, plain, own, paragraph, found))
            hands_over = re.search(r":(?:\s|$)|：", piece) is not None or _patterns("letter")[0].match(plain)
            handed_over = handed_over or (own and found is None and bool(hands_over))
        paragraph += piece.count("\n", len(piece.rstrip())) > 1
    return lines


def _is_about_text(line: _Line) -> bool:
    start = _start().match(line.plain)
    rest = line.plain[start.end() if start else 0 :]
    return any(pattern.search(rest) for pattern in _patterns("about_text"))


def _list_commands(lines: Sequence[_Line], *, before: Sequence[str], short: bool) -> Iterator[Command]:
    taken, said = 0, list[_Line]()
    for at, line in enumerate(lines):
        found = line.found
        if found is None:
            if line.is_statement:
                if said and said[-1].paragraph != line.paragraph:
                    said.clear()
                said.append(line)
            continue
        if at < taken:
            continue
        command = found.command
        if found.goes_on:
            taken = _find_end(lines, at, whole_paragraph=not command.text)
            blanks = line.text[len(line.text.rstrip()) :]
            text = command.text + blanks + "".join(after.text for after in lines[at + 1 : taken])
            command = Command(command.kind, text.strip())
        elif found.refers:
            command = Command(command.kind, _join(said) or _find_statement(lines) or _find_said(before))
        if command.kind is CommandKind.REMEMBER and not command.text:
            continue
        if command.kind is not CommandKind.FORGET or short:
            yield command


def _find_end(lines: Sequence[_Line], at: int, *, whole_paragraph: bool) -> int:
    """Where the statements end that follow a colon: those of its line, or of its paragraph where its line has none."""
    end = at + 1
    while (
        end < len(lines)
        and lines[end].paragraph == lines[at].paragraph
        and (whole_paragraph or "\n" not in lines[end - 1].text)
        and (lines[end].is_statement or (not lines[end].own and whole_paragraph))
    ):
        end += 1
    return end


def _find_statement(lines: Sequence[_Line]) -> str:
    """The statements of the first paragraph that has one."""
    first = next((line.paragraph for line in lines if line.is_statement), None)
    return _join(line for line in lines if line.paragraph == first and line.is_statement)


def _find_said(before: Sequence[str]) -> str:
    """The person's last statement: of the last message that is more than a courtesy."""
    for text in reversed(before):
        lines = _split(text)
        if not all(line.is_courtesy for line in lines):
            return _find_statement(lines)
    return ""


def _join(lines: Iterable[_Line]) -> str:
    return "".join(line.text for line in lines).strip()


def _read_sentence(plain: str, text: str) -> _Found | None:
    """Return the command that a sentence is; `text`: as it was said, which is what is kept."""
    if not _patterns("hint")[0].search(plain):
        return None
    start = _start().match(plain)
    begin = start.end() if start else 0
    thanked = _cut(plain, "thanks")
    end = _cut(plain[:thanked], "closing")
    if _match("list", plain, begin, end):
        return _Found(Command(CommandKind.LIST))
    asks = plain.endswith(("?", "？")) or plain.endswith(("吗", "没", "没有"), 0, thanked)
    is_request = bool(start and (start["ask"] or start["ask_zh"])) or bool(re.search(r"\w", plain[thanked:]))
    if asks and not is_request:
        return None
    if plain.endswith("吗", 0, thanked):
        thanked, end = thanked - 1, min(end, thanked - 1)
    return _read_forget(plain, text, begin, end) or _read_remember(plain, text, begin, thanked, end, asks=asks)


def _read_forget(plain: str, text: str, begin: int, end: int) -> _Found | None:
    if _match("everything", plain, begin, end):
        return _Found(Command(CommandKind.FORGET, text, everything=True))
    found = _match("forget", plain, begin, end)
    if found is None:
        return None
    name = str(found.lastgroup)
    what = found[name].strip(_MARKS + "“”\"'")
    if _patterns("conversation")[0].fullmatch(what):
        return None
    doubtful = name == "maybe" or (name == "known" and find_tellable(what) is None)
    return _Found(Command(CommandKind.FORGET, text[found.start(name) : found.end(name)].strip(), doubtful=doubtful))


def _read_remember(plain: str, text: str, begin: int, thanked: int, end: int, *, asks: bool) -> _Found | None:
    if _match("remember_this", plain, begin, end):
        return _Found(Command(CommandKind.REMEMBER), refers=True)
    if not asks and not re.search(r"\w", plain[thanked:]):
        thanked = len(plain)
    found = _match("remember", plain, begin, thanked) or (
        None if asks else _match("remember_told", plain, begin, thanked)
    )
    if found is None:
        return None
    name = str(found.lastgroup)
    if name == "kept" and _patterns("fragment")[0].fullmatch(found["kept"].strip(_MARKS)):
        return None
    kept = text[found.start(name) : found.end(name)].strip()
    return _Found(Command(CommandKind.REMEMBER, kept), goes_on=name == "listed")


def _cut(plain: str, words: str) -> int:
    """Where `plain` ends without marks and without such words at its end."""
    end = len(plain)
    for _word in range(4):
        end = len(plain[:end].rstrip(_MARKS))
        found = (word for word in _load()[words] if plain.endswith(word, 0, end) and _is_word(plain, end - len(word)))
        end -= len(max(found, key=len, default=""))
    return len(plain[:end].rstrip(_MARKS))


def _is_word(plain: str, at: int) -> bool:
    """Whether a word may begin there: Chinese has no blanks."""
    return at == 0 or not (plain[at - 1].isascii() and plain[at - 1].isalnum())


def _plain(text: str) -> str:
    """`text` folded, with straight apostrophes; every character in its place, for what is kept is cut out of `text`."""
    folded = fold(text)
    if len(folded) != len(text):
        folded = "".join(one if len(one := fold(character)) == 1 else character for character in text)
    return folded.replace("’", "'")


@cache
def _load() -> Mapping[str, Any]:
    return tomllib.loads(_TABLE.read_text("utf-8"))


@cache
def _patterns(name: str) -> Sequence[re.Pattern[str]]:
    found = _load()[name]
    return [re.compile(_fill(source), re.DOTALL) for source in ([found] if isinstance(found, str) else found)]


@cache
def _start() -> re.Pattern[str]:
    english, chinese = r"(?:{opener}|{polite}|(?P<ask>{asking}))\b", "{opener_zh}|{polite_zh}|(?P<ask_zh>{asking_zh})"
    return re.compile(_fill(rf"(?:{english}|{chinese}|[\s,，、!！.。~～…])*"))


def _match(name: str, plain: str, begin: int, end: int) -> re.Match[str] | None:
    return next((found for pattern in _patterns(name) if (found := pattern.fullmatch(plain, begin, end))), None)


def _fill(source: str) -> str:
    """`source` with the entries that it names."""

    def insert(found: re.Match[str]) -> str:
        entry = _load()[found[1]]
        return f"(?:{_fill(entry if isinstance(entry, str) else '|'.join(entry))})"

    return re.sub(r"\{([a-z_]+)\}", insert, source)
