"""What a message asks about its writer: the concepts, whose they are, and their attributes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from apps.core.llm.offline.clauses import Clause, split_clauses
from apps.core.llm.offline.language import spell_uniformly
from apps.core.llm.offline.lexicon import Lexicon, load_lexicons
from apps.core.llm.offline.phrases import load_phrases
from apps.core.llm.offline.statements import LONGEST_CLAUSE
from apps.core.text.keywords import extract_keywords

MOST_QUESTIONS = 5
"""More are not answered in one reply."""
_LOOKED_BACK = 3
"""How many earlier messages are searched for the question that "and my sister?" repeats."""
_REQUEST = re.compile(
    r"^(?:请|你)?(?:告诉我|说说|说一?下|猜猜|还?记得)|^(?:please )?(?:tell me|remind me|guess|recall)"
)
_AND = re.compile(r"和|、|与| and ")
_ABOUT = re.compile(r"^(?:请|你)?(?:(?:跟我)?(?:说说|讲讲|聊聊)|介绍一?下)|\btell me about\b")
_PAST = re.compile(
    r"(?:以前|之前|曾经|原来)(?:是|在|住|做|的)|\bused to\b|\bdid i (?:use to|ever)\b|\bmy (?:previous|former|old)\b"
)
"""What was, and is no more: what is remembered is how things are."""
_SOMEONE = re.compile(r"[我你您他她它]")
_ENGLISH_OTHERS = (
    (r"\bdoes my (?:{relation})\b", "do i"),
    (r"\bmy (?:{relation})’s\b", "my"),
    (r"\b(?:is|was) my (?:{relation})\b", "am i"),
    (r"\bmy (?:{relation})\b", "i"),
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question about the user. ``concept``: "" when only its ``keywords`` tell what is asked.

    ``about``: the relative asked about, "" for the user. ``attribute``: the X of "my favorite X". ``kind``: what the
    answers are to be, where the question says so: 猫 of 我的猫, 喝 of 喜欢喝什么.
    """

    concept: str
    keywords: tuple[str, ...] = ()
    about: str = ""
    attribute: str = ""
    kind: str = ""


def read_questions(text: str, *, earlier: Sequence[str] = ()) -> tuple[Question, ...]:
    """What `text` asks about the user or their family and pets, in order, each once, at most `MOST_QUESTIONS`.

    那我妹妹呢 asks the same again of another person: as the question before it, or the last one of the `earlier`
    messages, oldest first.
    """
    questions: list[Question] = []
    for sentence in split_clauses(text):
        for clause in sentence:
            if len(clause.folded) > LONGEST_CLAUSE or len(questions) >= MOST_QUESTIONS:
                continue
            if follow_up := _read_follow_up(clause, asked=questions, earlier=earlier):
                questions.append(follow_up)
            elif clause.asks or _REQUEST.search(clause.folded) or _ABOUT.search(clause.folded):
                questions += _read_asking(clause, elided=bool(questions))
    return tuple(dict.fromkeys(questions))[:MOST_QUESTIONS]


def _read_follow_up(clause: Clause, *, asked: Sequence[Question], earlier: Sequence[str]) -> Question | None:
    for lexicon in load_lexicons():
        found = lexicon.follow_up.search(clause.folded)
        who = (found.group("who") or "") if found else ""
        if found and (not who or who in lexicon.relations):
            about = lexicon.relations.get(who, "")
            keywords = tuple(extract_keywords(clause.text))
            before = asked or next(filter(None, map(read_questions, reversed(earlier[-_LOOKED_BACK:]))), ())
            if before and before[-1].concept:
                return replace(before[-1], about=about, keywords=keywords)
            return Question("", keywords, about=about) if about else None
    return None


def _read_asking(clause: Clause, *, elided: bool) -> list[Question]:
    """The questions of a clause that asks; with `elided`, one that names nobody is about the user as the last was."""
    for lexicon in load_lexicons() if _ABOUT.search(clause.folded) else ():
        relation = lexicon.relation.search(clause.folded)
        if relation and relation.end() == len(clause.folded):
            return [Question("", about=lexicon.relations[relation.group()])]
    for lexicon in load_lexicons():
        if questions := _find_concepts(clause, lexicon, elided=elided):
            return questions
    resumes = elided and any(lexicon.follow_up.search(clause.folded) for lexicon in load_lexicons())
    if resumes or any(load_phrases(lexicon.language).hears("about_user", clause.folded) for lexicon in load_lexicons()):
        # As no memory of the present holds the word for the past, none is taken for the answer.
        past = [found.group() for found in _PAST.finditer(clause.folded)]
        return [Question("", (*extract_keywords(clause.text), *past))]
    return []


def _find_concepts(clause: Clause, lexicon: Lexicon, *, elided: bool) -> list[Question]:
    asked = clause.folded
    if _PAST.search(asked):
        return []
    if elided and lexicon.language == "zh" and not _SOMEONE.search(asked) and not lexicon.relation.search(asked):
        opening = lexicon.prelude.match(asked)
        asked = "我" + asked[opening.end() if opening else 0 :]
    questions = _match_concepts(asked, lexicon)
    relation = lexicon.relation.search(asked)
    if relation and not asked[: relation.start()].removesuffix("的").endswith(("你", "您")):
        about = lexicon.relations[relation.group()]
        # The name of a child is kept with the children.
        listed = bool(lexicon.words["child"].fullmatch(about)) and any(q.concept == "children" for q in questions)
        questions = [
            replace(question, about=about)
            for question in _match_concepts(_ask_of_user(asked, relation.group(), lexicon), lexicon)
            if lexicon.concepts[question.concept].relative and not (listed and question.concept == "name")
        ] or questions
    keywords = tuple(extract_keywords(clause.text))
    return [replace(question, keywords=keywords) for question in questions]


def _match_concepts(asked: str, lexicon: Lexicon) -> list[Question]:
    """The concepts asked for in `asked`, in its order; where patterns overlap, that of the first concept counts."""
    taken: list[tuple[int, int, Question]] = []
    for concept in lexicon.concepts.values():
        for found in (match for pattern in concept.ask if (match := pattern.search(asked))):
            start, end = found.span()
            if all(end <= other_start or start >= other_end for other_start, other_end, _ in taken):
                groups = found.groupdict()
                for attribute in _AND.split(groups.get("attribute") or ""):
                    named = spell_uniformly(attribute.strip())
                    taken.append((start, end, Question(concept.name, attribute=named, kind=groups.get("kind") or "")))
                break
    return [question for *_, question in sorted(taken, key=lambda match: match[0])]


def _ask_of_user(asked: str, relation: str, lexicon: Lexicon) -> str:
    """`asked` about the user instead of their `relation`, so that the same patterns read it."""
    if lexicon.language == "zh":
        return re.sub(rf"我?(?:们|家)?的?{relation}", "我", asked, count=1)
    for pattern, subject in _ENGLISH_OTHERS:
        asked = re.sub(pattern.replace("{relation}", relation), subject, asked, count=1)
    return asked
