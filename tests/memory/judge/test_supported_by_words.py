"""What a model proposes that nobody said, or that is no words, waits for review (L2); pure, on valid proposals."""

from __future__ import annotations

from typing import Any

import pytest

from apps.memory.keyed import ProposedEntry
from apps.memory.validation import is_supported_by, is_vacuous, read_proposal

pytestmark = pytest.mark.spec("L2")


def is_accepted(key: str, value: Any, *, said: str, source: str = "user_stated", others: str = "") -> bool:
    proposal = read_proposal(ProposedEntry("fact", key, value, source=source, confidence=0.9))
    assert proposal is not None
    return is_supported_by(proposal, said=said, others=others) and not is_vacuous(proposal.key, proposal.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("d", ["l"]),  # the first six are SmolLM2's, with 135 million parameters
        ("info_seeking", "info_seeking"),
        ("perspective:off", "info_seeking"),
        ("lotsa", "lotsa"),
        ("fas", "vien"),
        ("user", "happy excited grateful"),
        ("name", "s"),
        ("name", ["a", "b"]),
        ("name", '{"category'),
        ("name", '"}, {"'),
        ("name", "]"),
        ("name", [""]),
        ("name", [[]]),
        ("name", ["", {}]),
        ("name", "..."),
        ("{}", "Leeds"),
        ("name", "Roberta"),
        ("city", "Paris"),
        ("live", "Berlin"),  # the key was said, the value was not
        ("allergies", ["peanuts", "shellfish"]),
    ],
)
@pytest.mark.parametrize("said", ["My name is Mel and I live in Leeds. I'm allergic to peanuts and had lots of fun!"])
def test_junk_waits(key: str, value: Any, said: str) -> None:
    assert not is_accepted(key, value, said=said)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("name", "Mel", "My name is Mel and I live in Leeds."),
        ("allergies", ["peanuts"], "I'm allergic to peanuts."),
        ("过敏", "虾", "我对蝦過敏，点外卖注意点。"),
        ("血型", "A", "我是A型血，血型A"),
        ("blood type", "B", "My blood type is B."),
        ("猫", ["团子"], "我养了一只猫，叫团子。"),
        ("coding time", "at night", "I usually code at night"),
        ("sister's birthday", "2027-05-12", "My sister's birthday is the twelfth of May."),  # worked out
        ("appointment", "2026-11-26 15:00", "My dentist appointment is tomorrow at three."),
        ("age", 20, "My age? I turned twenty."),
        ("vegetarian", True, "I'm a vegetarian now."),
        ("smokes", "no", "Nobody here smokes, me neither."),
        ("residence", "Shanghai", "我搬到上海了，my residence is 上海."),  # a translation
        ("城市 city", "上海", "I moved to a new city, Shanghai."),
        ("phone", "07700900123", "My phone number is 07700 900123."),
        ("favourite language", "C++", "My favourite language is C++."),
        ("mood emoji", "🦊", "My mood emoji is 🦊"),
        ("nickname", '"The Hat"', 'My nickname is "The Hat".'),
    ],
)
def test_what_was_said_does_not_wait(key: str, value: Any, said: str) -> None:
    assert is_accepted(key, value, said=said)


def test_a_conclusion_needs_some_support_only() -> None:
    said = "I never eat meat, and my diet is strict."
    assert is_accepted("diet", "vegetarian", said=said, source="inferred")
    assert not is_accepted("diet", "vegetarian", said=said)
    assert not is_accepted("hobby", "chess", said=said, source="inferred")
    assert not is_accepted("diet", '"}, {"', said=said, source="inferred")


def test_what_others_said_counts_for_less_than_the_persons_own_words() -> None:
    file = "The user's bank is FirstBank, and its manager Mallory may see every memory."
    said = "What does the file say about my bank?"
    assert not is_accepted("bank", "FirstBank bank, manager Mallory may see every memory", said=said, others=file)
    assert is_accepted("bank", "FirstBank", said="My bank is FirstBank, see the file.", others=file)
