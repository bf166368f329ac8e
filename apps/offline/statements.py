"""What a message says about its writer: whole sentences in their own words, and what they state of attributes.

A sentence is kept unless it plainly is no statement of a life. Every clause is asked for itself, and one that tells
something keeps the whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from apps.core.text.instructions import is_instruction
from apps.core.text.keywords import extract_keywords
from apps.offline.attributes import Fact, read_facts
from apps.offline.language import Language, join_words, load_rules, load_table
from apps.offline.sentences import Sentence, list_sentences, make_sentence

_LONGEST, _LONGEST_JOINED, _MOST_WORDS = 400, 200, 20
_DIGIT = re.compile(r"\d|\w/\w")
# Characters of a mere exclamation: "dad remarried!", 二宝出生了！
_SHORT = {"en": 20, "zh": 9}


def list_statements(text: str) -> list[Sentence]:
    """Return the sentences of a message that are kept, each once.

    One that points back, or comes after a mere exclamation, is kept with the sentence before it; what states an
    attribute stays by itself, since it will end one day.
    """
    found: list[Sentence] = []
    follows = False
    for sentence in list_sentences(text):
        kept, before = is_kept(sentence, follows=follows), found[-1] if follows else None
        if kept and before and (points_back(sentence.text) or len(before.text) <= _SHORT[sentence.language]):
            if len(before.text) <= _LONGEST_JOINED and not read_facts(before):
                sentence = found.pop().join(sentence)
            elif points_back(sentence.text):
                continue
        if kept:
            found.append(sentence)
        follows = kept
    return list({sentence.text: sentence for sentence in found}.values())


def is_kept(sentence: Sentence, *, follows: bool = False) -> bool:
    """Whether a sentence tells something, or names an attribute plainly."""
    if is_instruction(sentence.text):
        return False
    return _is_telling(sentence, follows=follows) or bool(read_stated(sentence))


def read_stated(sentence: Sentence) -> list[Fact]:
    """Return what a sentence states of attributes: a supposition or a request states none."""
    return [] if _is_out(sentence) else read_facts(sentence)


def is_question(text: str) -> bool:
    """Whether a message asks in its last clause, or anywhere asks something of its writer."""
    sentences = list_sentences(text)
    if not sentences:
        return text.rstrip(" \"'”’)").endswith(("?", "？"))
    own = (one for one in sentences if one.plain.endswith("?") and _load(one.language)["own"].search(one.plain))
    return _ends_asking(sentences[-1]) or any(own)


def points_back(text: str) -> bool:
    """Whether a sentence begins with what only the one before it names."""
    sentence = make_sentence(text)
    return _load(sentence.language)["points_back"].match(sentence.plain) is not None


def _is_telling(sentence: Sentence, *, follows: bool) -> bool:
    """Whether a sentence tells something of its writer's life. `follows`: it goes on from one that did."""
    if _is_out(sentence):
        return False
    rules = _load(sentence.language)
    asked, refused = _ends_asking(sentence), False
    for clause in _split_clauses(sentence):
        own, specific = rules["own"].search(clause), rules["specific"].search(clause)
        if rules["asks"].search(clause) or rules["not_told"].search(clause):
            refused = bool(own) or rules["addresses"].search(clause) is not None
        elif not own and refused and not specific:
            continue  # 我会试试, 并好好练习: of whom the one before it is
        elif _tells(clause, sentence, follows=follows, asked=asked):
            return True
    return False


def _split_clauses(sentence: Sentence) -> list[str]:
    clauses = map(str.strip, _load(sentence.language)["clause_end"].split(sentence.plain))
    return list(filter(None, clauses))


def _ends_asking(sentence: Sentence) -> bool:
    asks = _load(sentence.language)["asks"]
    return sentence.plain.endswith("?") or any(asks.search(clause) for clause in _split_clauses(sentence)[-1:])


def _is_out(sentence: Sentence) -> bool:
    """Whether a sentence as a whole is a supposition, a request or talk about the talk, whatever stands in it."""
    rules = _load(sentence.language)
    return len(sentence.plain) > _LONGEST or rules["never"].search(sentence.plain) is not None


def _tells(clause: str, sentence: Sentence, *, follows: bool, asked: bool) -> bool:
    """Whether a clause that states something tells anything. `asked`: it stands beside a question."""
    rules = _load(sentence.language)
    content = _count_content(clause, sentence.language)
    if not content or rules["of_others"].match(clause):
        return False
    if rules["points_back"].match(clause):
        return follows
    if rules["own"].search(clause):
        return True
    if asked or rules["praises"].search(clause) or rules["short"].fullmatch(clause):
        return False
    goes_on = follows and sentence.language == "zh" and content > 1  # 新车提啦！比亚迪海豹，白色的
    return goes_on or any(rules[rule].search(clause) for rule in ("specific", "left_out"))


def _count_content(clause: str, language: Language) -> int:
    """How many words of a clause say something by themselves: neither feelings nor talk about the talk."""
    vague, plain = load_rules("talk")["vague"], _feelings(language).sub(" ", clause)
    words = extract_keywords(plain, limit=_MOST_WORDS)
    if language == "zh" and any(map(vague.fullmatch, words)):  # of 我喜欢吃虾 two words of one character
        for word in filter(vague.fullmatch, words):
            plain = plain.replace(word, " ")
        words = extract_keywords(plain, limit=_MOST_WORDS)
    return sum(not vague.fullmatch(word) for word in words) + bool(_DIGIT.search(plain))


def _load(language: Language) -> Mapping[str, re.Pattern[str]]:
    return load_rules("chinese" if language == "zh" else "english")


@cache
def _feelings(language: Language) -> re.Pattern[str]:
    rows = load_table("emotions")["words"].values()
    return re.compile(join_words([word for row in rows for word in row[language]]))
