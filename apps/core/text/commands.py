"""Read what a person tells the memory itself (remember …, forget …), and match what to forget (L9).

The sentence is the command: it begins with a trigger of data/commands.toml, and it is the person's own words. What is
doubtful is no command: it is left to the model. Pure.
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

from apps.core.text.attributes import Attribute, find_attribute, find_told_attribute
from apps.core.text.fold import fold, normalize_key, normalize_value
from apps.core.text.keywords import load_stop_words, match_words, stem
from apps.core.text.segment import NEUTRAL, is_cjk
from apps.core.text.sentences import find_foreign, split_sentences


@dataclass(frozen=True, slots=True)
class Statement:
    """Something remembered that can end by itself: a sentence, or one value under its `key`."""

    text: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class Meant:
    """Positions of statements: those plainly meant, and those that may be meant."""

    plain: tuple[int, ...] = ()
    unclear: tuple[int, ...] = ()


_NOT = re.compile(r"\b(?:not|no|never|cannot|\w+n't|dont|doesnt)\b|不|没|别")
_CLAUSE = re.compile(
    r"^(?:i|i'm|i've|i'd|i'll|we|he|she|they|it|where|how|what|when|who|which)\b|\b(?:is|are|was|were|has|have|likes?|lives?|works?)\b"
    r"|^(?:我|他|她|我们)(?!的).{3,}"
)
_COPULA = re.compile(r"^(?:is|are|was|were|=|:|：|是|为|在|叫|于)")
_OTHERS = re.compile(r"(?:['’]s|\b(?:his|her|their|our|your))\s+(?:\w+\s+)?$|[\u3400-\u9fff]的?$")
_FILLER = frozenset({"user", "用户"})


def find_tellable(what: str) -> Attribute | None:
    """Return the attribute that `what`, or a remembered key, names, if sentences are known to tell it."""
    attribute = find_attribute(what)
    return attribute if attribute is not None and attribute.telling is not None else None


def match_forget_targets(what: str, statements: Sequence[Statement], *, doubtful: bool = False) -> Meant:
    """Return which statements `what` means.

    Plain are those of one key, or one memory that alone says it, each with what says the same in other kinds. Where
    several may be meant none is plain. `doubtful`: none is, and only what names all of it may be meant.
    """
    asked = _read(what)
    words = [_content(f"{one.key} {one.text}", asked.words) for one in statements]
    said = [at for at, one in enumerate(statements) if _says(asked, one, words[at])]
    naming = [at for at, found in enumerate(words) if asked.words and asked.words <= found]
    if doubtful:
        return Meant(unclear=tuple(sorted({*said, *naming})))
    if not said and not asked.is_clause and asked.attribute is None:
        said = naming if len(naming) == 1 and not _is_of_another(what, statements[naming[0]].text) else []
    plain = _choose_one(asked, said, statements)
    plain |= {at for at in range(len(statements)) if any(_is_twin(statements, words, at, one) for one in plain)}
    sharing = [at for at, found in enumerate(words) if asked.words & found or at in said or at in plain]
    if len({normalize_key(statements[at].key) for at in plain if statements[at].key}) > 1:
        plain = set()
    return Meant(tuple(sorted(plain)), tuple(at for at in sharing if at not in plain))


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is to be forgotten. `attribute`: the one that it names, or that it tells."""

    normal: str
    words: frozenset[str]
    denies: bool
    is_clause: bool
    attribute: Attribute | None


def _read(what: str) -> _Asked:
    folded = fold(what).replace("’", "'")
    attribute = find_tellable(what)
    is_clause = attribute is None and _CLAUSE.search(folded) is not None
    return _Asked(
        normal=normalize_value(what),
        words=_content(what),
        denies=_denies(what),
        is_clause=is_clause,
        attribute=find_told_attribute(what) if is_clause else attribute,
    )


def _says(asked: _Asked, one: Statement, words: frozenset[str]) -> bool:
    """Whether a statement plainly says what is to be forgotten."""
    if asked.normal in (normalize_value(one.text), normalize_value(one.key or one.text)):
        return True
    if asked.words and asked.words == words and asked.denies == _denies(f"{one.key} {one.text}"):
        return True
    if asked.attribute is None:
        said = normalize_value(one.text)
        begins = said.startswith(asked.normal) and _COPULA.match(said[len(asked.normal) :])
        return not one.key and not asked.is_clause and bool(begins)
    if not _tells_attribute(asked.attribute, one):
        return False
    if not asked.is_clause:
        return True
    # "Forget that I live in Leeds": not that I live in York.
    return asked.denies == _denies(one.text) and (
        normalize_value(one.text) in asked.normal if one.key else asked.words <= words and not asked.attribute.is_list
    )


def _choose_one(asked: _Asked, said: Iterable[int], statements: Sequence[Statement]) -> set[int]:
    """The statements of the one key, or the one memory, that say it; none where there are several."""
    keyed = {at for at in said if statements[at].key}
    keys = {normalize_key(statements[at].key) for at in keyed}
    free = {at for at in said if at not in keyed}
    of_attribute = {at for at in free if asked.attribute and _tells_attribute(asked.attribute, statements[at])}
    texts = {normalize_value(statements[at].text) for at in free - of_attribute}
    if len(keys) > 1 or (not keys and len(texts) + bool(of_attribute) > 1):
        return set()
    values = {normalize_value(statements[at].text) for at in keyed}
    with_value = {at for at in free if any(value and value in normalize_value(statements[at].text) for value in values)}
    return keyed | of_attribute | with_value if keys else free


def _is_twin(statements: Sequence[Statement], words: Sequence[frozenset[str]], at: int, ended: int) -> bool:
    """Whether a statement says what an ended one says, kept in another kind: `home: Leeds`, "I live in Leeds"."""
    one, other = statements[at], statements[ended]
    if words[at] and words[at] == words[ended]:
        return _denies(one.text) == _denies(other.text)
    if bool(one.key) == bool(other.key):
        return False
    entry, sentence = (one, other) if one.key else (other, one)
    attribute, value = find_tellable(entry.key), normalize_value(entry.text)
    # Of a list the sentence may say more: "I'm allergic to nuts and shrimp".
    if attribute is None or attribute.is_list or not value or value not in normalize_value(sentence.text):
        return False
    return _tells_attribute(attribute, sentence) and _denies(entry.text) == _denies(sentence.text)


def _tells_attribute(attribute: Attribute, one: Statement) -> bool:
    return find_tellable(one.key) == attribute if one.key else attribute.is_told(one.text)


def _denies(text: str) -> bool:
    return _NOT.search(fold(text)) is not None


def _is_of_another(what: str, text: str) -> bool:
    """Whether a statement names what is mine as somebody else's: my birthday, "my sister's birthday"."""
    folded = fold(what)
    if not re.match(r"my\b|我", folded):
        return False
    name = re.sub(r"^(?:my\s+|我的?)", "", folded)
    before = fold(text).partition(name)[0].removesuffix("我的").removesuffix("我")
    return bool(_OTHERS.search(before))


def _content(text: str, wanted: frozenset[str] = frozenset()) -> frozenset[str]:
    """The content words of a text by their stems; of Chinese also those of `wanted` that stand in it."""
    stop_words, folded = load_stop_words(), fold(text)
    words = {stem(word) for word in match_words(text) if word != NEUTRAL and word not in stop_words}
    return frozenset(words - _FILLER | {word for word in wanted if is_cjk(word) and word in folded})


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
