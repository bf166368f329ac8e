"""What a message tells about its writer: rules over the tables of the lexicon, without any model or state.

Only the user's own, present, unconditional statements count: no questions, suppositions, negations, quotations, nor
what others are or like, except plain facts about the user's family and pets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from apps.core.llm.offline.clauses import Clause, is_instruction, split_clauses
from apps.core.llm.offline.language import Language, spell_uniformly
from apps.core.llm.offline.lexicon import Category, Concept, Lexicon, Mode, load_lexicon, load_lexicons
from apps.core.llm.offline.subjects import Subject, introduce, read_subject, skip_opening
from apps.core.llm.offline.values import clean_value, read_values

Source = Literal["user_stated", "inferred"]

LONGEST_CLAUSE = 160
MOST_VALUES = 40
"""No message says more than this about its writer: what does is a document, and reading it stops here."""
_CONFIDENCE: dict[Source, float] = {"user_stated": 0.95, "inferred": 0.5}
_ASKED_TO_REMEMBER = re.compile(r"记住|记得|记一?下|记下|remember|note|keep in mind|don’t forget")
_INTERJECTION = 4
"""An unread clause longer than this, in characters, is about something else."""
_OF_ANIMALS = frozenset(
    ("name", "introduction", "age", "birthday", "likes", "dislikes", "diet", "allergies", "health", "habits")
)
"""What a clause without a subject tells of the pet in the clause before; anything else is about the user."""

_FIXED_GROUPS = {"value", "also", "attribute", "called", "more", "no"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing to remember (E5, L3).

    ``value``: a string, or a list of new items where ``mode`` is add or remove. ``confidence``: 0..1.
    ``concept``: the name of the rule in the lexicon of ``language``. ``about``: the relative it is about, "" for the
    user. ``attribute``: the X of "favorite X".
    """

    concept: str
    language: Language
    category: Category
    key: str
    value: str | list[str]
    source: Source
    confidence: float
    mode: Mode
    about: str = ""
    attribute: str = ""

    def to_wire(self) -> dict[str, Any]:
        """The entry as a model answers it (E5)."""
        return {
            "category": self.category,
            "key": self.key,
            "value": self.value,
            "source": self.source,
            "confidence": self.confidence,
            "mode": self.mode,
        }


def read_statements(text: str, *, before: Sequence[Entry] = ()) -> list[Entry]:
    """Return what `text`, a message of the user, states about its writer, in order, merged by key.

    ``before``: what the message before it stated, which this one may correct (不对，是南京).
    """
    entries: list[Entry] = []
    seen: set[str] = set()
    reader = _Reader(before)
    for sentence in split_clauses(text):
        reader.begin_sentence(sentence)
        for clause in sentence:
            if clause.folded in seen or len(clause.folded) > LONGEST_CLAUSE:
                continue
            seen.add(clause.folded)
            for entry in reader.read(clause):
                entries = _merge(entries, entry)
            if sum(len(entry.value) if isinstance(entry.value, list) else 1 for entry in entries) >= MOST_VALUES:
                return entries
    return entries


def read_clauses(clauses: Sequence[Clause]) -> list[tuple[Entry, ...]]:
    """What each of `clauses`, those of one sentence, states; whom it is about carries over from one to the next."""
    reader = _Reader(())
    reader.begin_sentence(clauses)
    return [tuple(reader.read(clause)) if len(clause.folded) <= LONGEST_CLAUSE else () for clause in clauses]


def _merge(entries: list[Entry], new: Entry) -> list[Entry]:
    for index, old in enumerate(entries):
        if (old.key, old.language) == (new.key, new.language) and old.mode == new.mode:
            if isinstance(old.value, list) and isinstance(new.value, list):
                # "a cat" and then "it is called Mimi" are one cat.
                kept = [item for item in old.value if not any(is_name_of(item, named) for named in new.value)]
                new = replace(new, value=[*kept, *(item for item in new.value if item not in kept)])
            return [*entries[:index], new, *entries[index + 1 :]]
    return [*entries, new]


def is_name_of(bare: str, named: str) -> bool:
    """Whether `named` is `bare` with its name: 咪咪（猫） and 猫, "Rex (dog)" and dog."""
    return named.endswith((f"（{bare}）", f" ({bare})"))


class _Reader:
    """Reads the clauses of one message in order: who is spoken of carries over to clauses that do not say."""

    def __init__(self, before: Sequence[Entry]) -> None:
        self.lexicons = load_lexicons()
        self.latest = before[-1] if before else None
        self.taking_back = False
        self.speaking_of: Literal["user", "other", "nobody"] = "nobody"
        self.mentioned: Subject | None = None
        self.user_is_subject = False
        self.asked_to_remember = False
        self.left_unread = False
        self.on_a_journey = False
        self.introduced: Subject | None = None

    def begin_sentence(self, clauses: Sequence[Clause]) -> None:
        """Forget the grammatical subject; who is spoken of stays."""
        journey = load_lexicon("zh").words["journey"]
        self.on_a_journey = any(journey.search(clause.folded) for clause in clauses)
        self.user_is_subject = False
        self.introduced = None

    def read(self, clause: Clause) -> Iterator[Entry]:
        if clause.supposes or is_instruction(clause.folded, self.lexicons):
            return
        corrects, self.taking_back = self.taking_back, False
        for lexicon in self.lexicons:
            if not lexicon.script.search(clause.folded):
                continue
            if lexicon.correction.search(clause.folded):
                self.taking_back = True
                return
            if corrects and (corrected := self._correct(clause, lexicon)):
                yield corrected
                return
            start, past = skip_opening(clause, lexicon)
            subject = read_subject(clause, lexicon, start=start)
            if dated := lexicon.past.match(clause.folded, subject.end):
                past, subject = True, replace(subject, end=dated.end())
            if past and not lexicon.happens.match(clause.folded, subject.end):
                # "Last year I lived in Bonn" says nothing of now, "last year I moved to Bonn" does.
                self._follow(clause, lexicon, subject=subject, found=False)
                continue
            goes_on = subject.kind == "elided" and lexicon.goes_on.match(clause.folded, subject.end)
            introduced = self.introduced if goes_on else None
            if introduced and introduced.kind == "relative":
                # 我有一个妹妹，在上海读大学: the sister does.
                subject = replace(introduced, start=subject.start, end=subject.end)
            if subject.kind == "elided" and self.speaking_of == "other":
                subject = replace(subject, kind="other")
            found = list(self._read_predicate(clause, lexicon, subject=subject))
            if introduced and introduced.kind == "pet":
                found = [entry for entry in found if entry.concept not in _OF_ANIMALS]
            self._follow(clause, lexicon, subject=subject, found=bool(found))
            if subject.kind in ("relative", "pet"):
                self.mentioned = subject
            if subject.kind in ("relative", "pet"):
                self.introduced = subject
            elif subject.kind in ("user", "other") and not (found and self.introduced):
                self.introduced = None
            if found:
                self.latest = found[-1]
                yield from found
                return
        self.latest = None

    def _correct(self, clause: Clause, lexicon: Lexicon) -> Entry | None:
        """The latest entry with the value that `clause` puts in its place; lists are corrected by saying so in full."""
        found = lexicon.corrected.search(clause.folded)
        if not found or clause.asks or not self.latest or self.latest.mode != "replace":
            return None
        concept = lexicon.concepts.get(self.latest.concept)
        values = read_values(clause.text[slice(*found.span("value"))], concept, lexicon) if concept else ()
        if not concept or not values:
            return None
        self.latest = replace(self.latest, value=concept.stored.replace("{value}", values[0]))
        return self.latest

    def _follow(self, clause: Clause, lexicon: Lexicon, *, subject: Subject, found: bool) -> None:
        """Note who the next clause is about if it does not say."""
        self.left_unread = not found and len(clause.folded) - subject.end > _INTERJECTION
        self.user_is_subject = subject.kind == "user" or (subject.kind == "elided" and found)
        if found:
            self.speaking_of = "user"
        elif subject.kind == "other" or lexicon.other.search(clause.folded, subject.end):
            self.speaking_of = "other"
        elif subject.kind != "elided":
            self.speaking_of = "user"
        elif len(clause.folded) - subject.start > _INTERJECTION:
            self.speaking_of = "other"

    def _read_predicate(self, clause: Clause, lexicon: Lexicon, *, subject: Subject) -> Iterator[Entry]:
        asked = bool(_ASKED_TO_REMEMBER.search(clause.folded[: subject.start]))
        # "帮我记一下，我的航班号是…": the request may be a clause of its own.
        explicit = asked or self.asked_to_remember
        self.asked_to_remember = asked and subject.start == len(clause.folded)
        starts = {subject.start, subject.end, subject.possessed or 0}
        if lexicon.language == "zh":
            starts |= {found.end() for begin in list(starts) if (found := lexicon.adverb.match(clause.folded, begin))}
        if not any(lexicon.tells.match(clause.folded, begin) for begin in starts):
            return
        for taking_back in (True, False):
            for concept in lexicon.concepts.values():
                if (clause.asks and not concept.request) or (concept.explicit and not explicit):
                    continue
                for found in self._match(concept, clause, lexicon, subject=subject, taking_back=taking_back):
                    entries = list(self._build(found, concept, clause, lexicon, subject=subject, remove=taking_back))
                    if entries:
                        yield from entries
                        return

    def _match(
        self, concept: Concept, clause: Clause, lexicon: Lexicon, *, subject: Subject, taking_back: bool
    ) -> Iterator[re.Match[str]]:
        folded = clause.folded
        if taking_back:
            places = [(concept.untell, subject.end)] if self._is_about_user(subject, lexicon) else []
        elif concept.pointing:
            places = [(concept.whole, subject.start)] if self.mentioned and subject.kind in ("elided", "other") else []
        elif concept.name == "name" and subject.kind == "elided" and self.left_unread:
            # "I cooked something new, called …": the name is that of a thing in the clause before.
            places = []
        elif concept.name == "home" and subject.kind == "elided" and self.on_a_journey:
            # 住洱海边,预算三千: where to stay for some nights.
            places = []
        else:
            places = [(concept.whole, subject.start)]
            if self._is_about_user(subject, lexicon) or _may_be_told(concept, subject):
                places.append((concept.tell, subject.end))
                if subject.possessed is not None:
                    places.append((concept.my, subject.possessed))
        for patterns, start in places:
            # In Chinese the adverbs stand before the predicate; some patterns want to see them.
            adverb = lexicon.adverb.match(folded, start) if lexicon.language == "zh" else None
            for begin in dict.fromkeys((start, adverb.end() if adverb else start)):
                yield from (found for pattern in patterns if (found := pattern.match(folded, begin)))

    def _is_about_user(self, subject: Subject, lexicon: Lexicon) -> bool:
        if subject.kind == "elided":
            # Chinese leaves the subject out freely; in English only "…, and work at Siemens" does.
            return lexicon.language == "zh" or self.user_is_subject
        return subject.kind == "user"

    def _build(
        self,
        found: re.Match[str],
        concept: Concept,
        clause: Clause,
        lexicon: Lexicon,
        *,
        subject: Subject,
        remove: bool,
    ) -> Iterator[Entry]:
        groups = {name: clause.text[slice(*found.span(name))] for name, part in found.groupdict().items() if part}
        values = _read_groups(groups, concept, lexicon)
        if concept.pointing and self.mentioned:
            subject = self.mentioned
        # 在南京做会计 tells no employer, but a job.
        placed = not values and concept.value == "employer" and bool(groups.get("also"))
        if not (values or placed) or any(is_instruction(value.lower(), self.lexicons) for value in values):
            return
        values = tuple(concept.stored.replace("{value}", value) for value in values)
        source: Source = "user_stated"
        if lexicon.hedge.search(clause.folded, 0, found.span("value")[0] if "value" in groups else found.end()):
            source = "inferred"
        base = Entry(
            concept=concept.name,
            language=concept.language,
            category=concept.category,
            key=concept.key,
            value=list(values) if concept.mode == "add" else (*values, "")[0],
            source=source,
            confidence=_CONFIDENCE[source],
            mode="remove" if remove else concept.mode,
        )
        if remove:
            yield replace(base, value=list(values))
            return
        if attribute := clean_value(groups.get("attribute", "").lower(), lexicon):
            attribute = spell_uniformly(attribute)
            base = replace(base, key=concept.key.replace("{attribute}", attribute), attribute=attribute)
        elif "{attribute}" in concept.key:
            return
        if subject.kind == "user":
            self.introduced = None
        if concept.name in ("family", "children") and len(values) == 1:
            self.introduced = introduce(groups["value"], lexicon)
        if concept.value == "member" and len(values) == 1:
            self.mentioned = Subject(kind="pet", start=0, end=0, name=groups["value"])
            if concept.name == "children":
                self.mentioned = replace(self.mentioned, kind="relative", name=groups["value"])
            else:
                self.introduced = self.mentioned
        if subject.called and subject.kind == "relative" and concept.name != "name":
            named = lexicon.concepts["name"]
            called = replace(base, concept="name", key=named.key, category=named.category, value=subject.called)
            yield from _tell_of_other(replace(called, mode="replace"), subject, lexicon)
        if not placed and subject.kind in ("relative", "pet") and (_may_be_told(concept, subject) or concept.pointing):
            yield from _tell_of_other(base, subject, lexicon)
        elif not placed:
            yield base
        if concept.also and groups.get("also"):
            second = lexicon.concepts[concept.also]
            for raw in read_values(groups["also"], second, lexicon)[:1]:
                value = second.stored.replace("{value}", raw)
                entry = replace(base, concept=second.name, category=second.category, key=second.key, value=value)
                if subject.kind == "relative":
                    yield from _tell_of_other(entry, subject, lexicon)
                else:
                    yield entry


def _may_be_told(concept: Concept, subject: Subject) -> bool:
    return (subject.kind == "relative" and concept.relative) or (subject.kind == "pet" and concept.name == "name")


def _tell_of_other(entry: Entry, subject: Subject, lexicon: Lexicon) -> Iterator[Entry]:
    """Turn an entry about "you" into one about a relative or a pet; a child's or a pet's name joins its list."""
    named = entry.concept in ("name", "naming")
    child = bool(lexicon.words["child"].fullmatch(subject.name))
    if named and (child or subject.kind == "pet"):
        listed = lexicon.concepts["children" if child else "pets"]
        item = f"{entry.value}（{subject.name}）" if lexicon.language == "zh" else f"{entry.value} ({subject.name})"
        yield replace(entry, concept=listed.name, key=listed.key, category=listed.category, value=[item], mode="add")
    elif subject.kind == "relative":
        key = lexicon.concepts["name" if named else entry.concept].relative_key
        whose = name_key(key, about=subject.name, language=lexicon.language)
        yield replace(entry, key=whose, category="fact", about=subject.name)


_INSTEAD = re.compile(r"[,，;；]?\s*\b(?:only|just|but|except)\b|[,，;；]\s*(?:只|就|但|不过|改)", re.IGNORECASE)
"""After what somebody does not eat or drink: what they do ("no coffee any more, only green tea")."""


def name_key(key: str, *, about: str, language: Language) -> str:
    """The key of what `key` is for the relative `about`: 妈妈的生日, 妹妹上学的地方, "mother's birthday"."""
    if language == "en":
        return f"{about}'s {key}"
    return f"{about}{key}" if "的" in key else f"{about}的{key}"


def _read_groups(groups: dict[str, str], concept: Concept, lexicon: Lexicon) -> tuple[str, ...]:
    constant = next((name for name in groups if name not in _FIXED_GROUPS), None)
    if constant:
        return (constant,)
    if "no" in groups:
        no = "不" if lexicon.language == "zh" else "no "
        told = _INSTEAD.split(groups["no"], maxsplit=1)[0]
        return tuple(f"{no}{value}" for value in read_values(told, concept, lexicon))
    raw = groups["value"]
    if concept.value == "phrase" and "also" in groups:
        raw = (
            raw + groups["also"]
            if lexicon.language == "zh"
            else f"{raw} {groups['also'][0].lower()}{groups['also'][1:]}"
        )
    values = read_values(raw, concept, lexicon)
    if "more" in groups:
        values += read_values(groups["more"], concept, lexicon)
    if "called" in groups and values:
        names = re.split(r",\s*(?:and\s+)?|\s+and\s+|、|和", groups["called"])
        kind = values[0]
        plural = len(names) > 1 or kind in ("kids", "children", "孩子")
        cleaned = [name for name in (clean_value(part, lexicon) for part in names) if name]
        mark = f"（{kind}）" if lexicon.language == "zh" else f" ({kind})"
        values = tuple(name if plural else name + mark for name in cleaned)
    return values
