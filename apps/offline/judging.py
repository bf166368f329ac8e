"""What a statement ends: another value of the same attribute, or the same statement where it is denied. Nothing else.

Everything that is not plain stays beside it: nothing is ended in part, merged or refined here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from apps.core.text.fold import normalize_value
from apps.core.text.keywords import stem
from apps.offline.attributes import Fact, is_same_value, is_single, make_own, read_facts, read_remembered
from apps.offline.rules import load_rules
from apps.offline.sentences import Sentence

_WORD = re.compile(r"[a-z0-9][\w’-]*|[\u3400-\u9fff]")
_FEWEST_WORDS = 3


def find_ended(sentence: Sentence, known: Mapping[int, str]) -> list[int]:
    """Return which of the `known` memories, texts by number, `sentence` ends."""
    facts = read_facts(sentence)
    ending = [fact for fact in facts if fact.removes or (fact.sets and is_single(fact.attribute) and not fact.is_wide)]
    return [
        number
        for number, text in known.items()
        if _is_denied(sentence, text) or any(_is_ended(text, fact) for fact in ending)
    ]


def _is_ended(text: str, new: Fact) -> bool:
    """Whether a text says nothing but another value of what is set, or the very value that is taken away."""
    old = read_remembered(text)
    if old is None or old.removes or old.identity != new.identity:
        return False
    if new.removes and not is_single(new.attribute):
        return normalize_value(old.value) == normalize_value(new.value)
    return not old.is_wide and is_same_value(old.value, new.value) is new.removes


def _is_denied(sentence: Sentence, text: str) -> bool:
    known = make_own(text)
    denies, denied = (load_rules("talk")["denies"].search(said.plain) for said in (sentence, known))
    if (denies is None) == (denied is None):
        return False
    words = _reduce(sentence.plain)
    return len(words) >= _FEWEST_WORDS and words == _reduce(known.plain)


def _reduce(plain: str) -> list[str]:
    """The words of a statement without those that affirm, deny or say that it is so now; the -ing of "stopped -ing"."""
    rules = load_rules("talk")
    plain = rules["beside"].sub(" ", rules["denies"].sub(" ", plain))
    return [stem(word) for word in _WORD.findall(plain)]
