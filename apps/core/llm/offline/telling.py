"""Which sentences of a message tell something of its writer: their life, their people, their things.

People write to be remembered, so a statement counts unless it is something else: a question, a request, material to
work on, a quotation, a supposition, a courtesy, the weather, an opinion on what was just said, or words to the
assistant about itself. The cues are in `data/extraction.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from apps.core.llm.offline.clauses import Clause, split_clauses
from apps.core.llm.offline.language import Language, detect_language, fold_in_place
from apps.core.llm.offline.restating import restate
from apps.core.llm.offline.statements import Entry, read_clauses, read_statements
from apps.core.text.keywords import extract_keywords
from apps.core.text.matching import stem

STYLE: Mapping[str, str] = {
    "reply_length": "reply_style",
    "reply_tone": "reply_style",
    "emoji": "reply_style",
    "preferred_name": "reply_style",
    "reply_language": "language_habits",
}
"""The section of the profile that a wish about replies belongs to. What the writer likes of them is a memory, too."""

_LONGEST_MESSAGE = 4_000
"""Longer messages are documents; the beginning says whose, and a case set out in one becomes a shared context."""
_MOST_KEYWORDS = 50
_PART = re.compile(r"[,，、]")
_NAMED = re.compile(r"\{([a-z]+)\}")
"""Where a pattern takes one of the `words` of the table."""
_OWN_SUBJECT = re.compile(r"(?:我|咱|俺|本人)|\b(?:i|i’m|i’ve|i’d|im|we|we’re|we’ve|my|our)\b")
_OPENING = 12
"""Characters in which a sentence names its subject."""
_CONJUNCTION = re.compile(r"\b(and|so|because|cause|cos|coz|though|although|while|since)\b")
_COMPANION = re.compile(r"(?:my|our|his|her) (?:\w+ ?){1,2}|[a-z]+")
"""What "and I" goes on with: a person, no clause."""
_VOCATIVE = re.compile(r"[A-Z][a-z]+")
_CONDITIONAL = re.compile(r"\b(?:would|could|might|will|should|can)\b|’(?:d|ll)\b|会|想|就|能|可以")
"""What stands before "if" only where it depends on it."""
_TASTES = ("liking", "wish")
"""Cues of a clause that says what the writer likes: of replies, too, which else are for the profile only."""
_TOLD_BY = ("person", "own", "event", *_TASTES)
"""Cues that make a sentence one about the writer, whatever else is in the message."""
_TELLING = ("correcting", *_TASTES)
"""Cues of a clause that tells something whatever its form."""
_CALLED = {"zh": "我希望被称呼为{value}", "en": "I want to be called {value}"}


@dataclass(frozen=True, slots=True)
class Cues:
    """The tables of `data/extraction.toml`; each pattern is what its name says in there."""

    patterns: Mapping[str, re.Pattern[str]]

    def find(self, name: str, text: str) -> bool:
        """Whether the cue called `name` is in folded `text`."""
        return self.patterns[name].search(text) is not None

    def hide_ordinary(self, text: str) -> str:
        """Folded `text` without the words of other cues that are ordinary life in it: "I refuse to eat olives"."""
        return text if self.find("orders", text) else self.patterns["ordinary"].sub("□", text)


@cache
def load_cues() -> Cues:
    """The cues, compiled once per process."""
    table = tomllib.loads(files(__package__).joinpath("data/extraction.toml").read_text(encoding="utf-8"))
    words: Mapping[str, str] = table.pop("words")
    return Cues(
        patterns={
            name: re.compile(_NAMED.sub(lambda found: words[found[1]], "|".join(f"(?:{row})" for row in rows)))
            for name, rows in table.items()
        }
    )


@dataclass(frozen=True, slots=True)
class TellingClause:
    """A clause worth keeping, with the punctuation after it and what it states about attributes we know.

    ``begins``: it begins a sentence that names whom it is about; others go on with what was told before. ``weak``: it
    tells something only beside another that is about the writer. ``lead``: the conjunction before it.
    """

    text: str
    mark: str
    lead: str = ""
    entries: tuple[Entry, ...] = ()
    begins: bool = False
    weak: bool = False


@dataclass(frozen=True, slots=True)
class _Sentence:
    """What is left of a sentence without the clauses that tell nothing. ``leads``: the conjunctions before them."""

    clauses: tuple[Clause, ...]
    leads: tuple[str, ...]
    folded: str
    styled: bool

    @property
    def language(self) -> Language:
        return detect_language(self.folded)


def list_telling_clauses(text: str, *, known: frozenset[str] = frozenset()) -> Iterator[TellingClause]:
    """The clauses of a message that tell something of its writer, in order; none of a message that is material.

    ``known``: stems of telling words of what is remembered: a statement with one of them goes on with it.
    """
    cues = load_cues()
    sentences = [(sentence, _tells(sentence, cues, known=known)) for sentence in _list_sentences(text, cues)]
    of_writer = any(tells for _sentence, tells in sentences)
    for sentence, tells in sentences:
        if tells or (of_writer and _goes_on(sentence, cues)):
            yield from _read_clauses(sentence, weak=not tells)


def list_aside_clauses(text: str) -> list[TellingClause]:
    """The clauses of a message that are no question, request or courtesy, whether or not they tell anything."""
    cues = load_cues()
    return [clause for sentence in _list_sentences(text, cues) for clause in _read_clauses(sentence, weak=False)]


def _list_sentences(text: str, cues: Cues) -> list[_Sentence]:
    """The sentences of a message but those that tell nothing whatever they say; none of a message that is material."""
    text = text[:_LONGEST_MESSAGE]
    folded = fold_in_place(text)
    if cues.find("material", cues.hide_ordinary(folded)) or any(
        cues.find("code", line) for line in folded.splitlines()
    ):
        return []
    text = cues.patterns["afterthought"].sub("", restate(re.sub(r"[^\S\n]+", " ", drop_greetings(text))))
    return list(_read_sentences(text, cues))


def drop_greetings(text: str) -> str:
    """`text` without the greetings, names and fillers that its sentences begin with."""
    return load_cues().patterns["greeting"].sub(" ", text)


def _read_sentences(text: str, cues: Cues) -> Iterator[_Sentence]:
    end = 0
    for sentence in split_clauses(text):
        leads = []
        for clause in sentence:
            start = text.index(clause.text, end)
            found = _CONJUNCTION.search(text[end:start].lower())
            leads.append(found[1] if found else "")
            end = start + len(clause.text)
        whole = " ".join(clause.folded for clause in sentence)
        foreign = cues.hide_ordinary(whole)
        if cues.find("writing", foreign):
            return  # what follows may be what is to be written
        if cues.find("quoting", foreign) or (cues.find("system", foreign) and not cues.find("taste", whole)):
            continue
        kept = [
            (told, lead)
            for index, (clause, lead) in enumerate(_join_companions(_drop_supposed(sentence, leads)))
            if (told := _drop_address(clause)).text and not _is_empty(told, cues, first=index == 0)
        ]
        if kept:
            clauses, kept_leads = zip(*kept, strict=True)
            folded = "，".join(clause.folded for clause in clauses)
            yield _Sentence(clauses=clauses, leads=kept_leads, folded=folded, styled=cues.find("style", whole))


def _drop_supposed(sentence: Sequence[Clause], leads: Sequence[str]) -> list[tuple[Clause, str]]:
    """The clauses, each with the conjunction before it, but suppositions and what depends on one."""
    pairs = list(zip(sentence, leads, strict=True))
    if not any(clause.supposes for clause in sentence):
        return pairs
    return [
        pair
        for pair in pairs
        if (not pair[0].supposes and not _CONDITIONAL.search(pair[0].folded))
        or load_cues().find("wish", pair[0].folded)  # "I wish you'd use more emoji"
    ]


def _join_companions(pairs: Sequence[tuple[Clause, str]]) -> list[tuple[Clause, str]]:
    """The clauses of a sentence with "My wife" and "I live here" as the one that they are."""
    joined: list[tuple[Clause, str]] = []
    for clause, lead in pairs:
        companion = joined[-1][0] if joined and lead == "and" and re.match(r"(?:i|we)\b", clause.folded) else None
        if companion and _COMPANION.fullmatch(companion.folded) and companion.text[0].isupper():
            text, folded = (f"{left} and {right}" for left, right in (
                (companion.text, clause.text), (companion.folded, clause.folded)
            ))  # fmt: skip
            joined[-1] = replace(clause, text=text, folded=folded), joined[-1][1]
        else:
            joined.append((clause, lead))
    return joined


def _drop_address(clause: Clause) -> Clause:
    """The clause without words to the assistant at its beginning (告诉你, "guess what")."""
    found = load_cues().patterns["address"].match(clause.folded)
    if found is None:
        return clause
    start = found.end()
    while start < len(clause.text) and not clause.text[start].isalnum():
        start += 1
    return replace(clause, text=clause.text[start:], folded=clause.folded[start:])


def _is_empty(clause: Clause, cues: Cues, *, first: bool) -> bool:
    """Whether a clause tells nothing: a question, a request, a courtesy, the weather, words to the assistant."""
    if clause.asks:
        return True
    if any(cues.find(name, clause.folded) for name in _TELLING) or cues.find("named", clause.text):
        return False
    if cues.find("assistant", clause.folded) or (first and cues.find("request", clause.folded)):
        return True
    if _is_courtesy(clause, cues):
        return True
    return cues.find("weather", cues.hide_ordinary(clause.folded.strip(" .!~。")))


def _is_courtesy(clause: Clause, cues: Cues) -> bool:
    """Whether a clause is nothing but polite, to somebody by name or not: "No worries, Jon"."""
    own = [part.strip(" .!~。") for part in _PART.split(clause.text)]
    rest = [part for part in own if part and not cues.find("courtesy", fold_in_place(part))]
    return not any(own) or (len(rest) < len(list(filter(None, own))) and all(map(_VOCATIVE.fullmatch, rest)))


def _tells(sentence: _Sentence, cues: Cues, *, known: frozenset[str]) -> bool:
    """Whether what is left of a sentence is about the writer by itself."""
    if cues.find("vague", sentence.folded.strip(" .!~。")):
        return False
    if sentence.styled or any(cues.find(name, sentence.folded) for name in _TOLD_BY):
        return True
    if any(cues.find("named", clause.text) for clause in sentence.clauses):
        return True
    if known and known & set(map(stem, extract_keywords(sentence.folded, limit=_MOST_KEYWORDS))):
        return True
    if cues.find("aside", sentence.folded):
        return False
    if sentence.language == "zh":  # which leaves the person out; but one clause may as well say how the world is
        enough = ("contentful", "detail", "habit") if _PART.search(sentence.folded) else ("detail", "habit")
    else:
        enough = ("detail", "fragment")
    return any(cues.find(name, sentence.folded) for name in enough)


def _goes_on(sentence: _Sentence, cues: Cues) -> bool:
    """Whether a sentence that names nobody may go on about the writer of whom another one told."""
    return cues.find("contentful", sentence.folded) and not cues.find("aside", sentence.folded)


def _read_clauses(sentence: _Sentence, *, weak: bool) -> Iterator[TellingClause]:
    language = sentence.language
    for index, (clause, entries) in enumerate(zip(sentence.clauses, read_clauses(sentence.clauses), strict=True)):
        last = index == len(sentence.clauses) - 1
        mark = ("。" if last else "，") if language == "zh" else (". " if last else ", ")
        if not entries and language == "en" and index == 0:
            entries = tuple(read_statements(f"I {clause.text}"))  # "Moved to Columbus"
        begins = index == 0 and bool(_OWN_SUBJECT.search(clause.folded[:_OPENING]))
        text = clause.text
        if entries and all(entry.concept in STYLE for entry in entries):
            called = next((entry for entry in entries if entry.concept == "preferred_name"), None)
            if called is not None:
                text, begins = _CALLED[called.language].format(value=called.value), True
            elif not any(load_cues().find(name, clause.folded) for name in _TASTES):
                continue
        yield TellingClause(text=text, mark=mark, lead=sentence.leads[index], entries=entries, begins=begins, weak=weak)
