"""Ends that are told in a few words, by the states they end; and what only sounds like them."""

from __future__ import annotations

import pytest

from apps.memory.atomic.compare import Relation, compare, has_passed
from apps.memory.atomic.endings import is_end_doubtful
from apps.memory.atomic.vectors import make_statement

ENDED = [
    ("The user has a Toyota Corolla.", "The user sold the car."),
    ("The user drives an old Volvo.", "The user mentioned: Car's gone."),
    ("The user has a labrador.", "The user mentioned: The dog died."),
    ("The user has a siamese.", "The user mentioned: The cat ran away."),
    ("The user works at Google.", "They let the user go."),
    ("The user works at Google.", "The user mentioned: Fired."),
    ("The user works at Google.", "The user quit."),
    ("The user has a boyfriend.", "The user mentioned: It's over."),
    ("The user has a boyfriend.", "He left the user."),
    ("The user is engaged to Priya.", "The user called off the wedding."),
    ("The user is single.", "The user met someone."),
    ("The user is looking for a new flat.", "The user found a place."),
    ("The user is pregnant.", "The user mentioned: The baby's here."),
    ("The user eats everything.", "The user has gone vegan."),
    ("The user is allergic to cats.", "The user mentioned: Outgrew it."),
    ("The user is taking driving lessons.", "The user mentioned: Passed first time."),
    ("The user has two kids.", "The user's third was born last week."),
    ("The user has two cats.", "The user got a third cat."),
    ("The user lives with two roommates.", "The user mentioned: Both moved out."),
    ("The user is learning the violin.", "The user mentioned: Violin's over."),
    ("The user is going to Italy in June.", "The user mentioned: Italy's off."),
    ("The user takes sleeping pills.", "The user mentioned: Off the pills."),
    ("The user wants short replies.", "The user wants you to give the user long replies."),
    ("The user wants lots of emojis.", "The user doesn't want any emojis in replies."),
    ("The user doesn't want any emojis in replies.", "The user loves emojis."),
]

STAYS = [
    ("The user has a Toyota Corolla.", "The user sold the sofa."),
    ("The user has a Toyota Corolla.", "The user's brother sold the car."),
    ("The user has a labrador.", "The user mentioned: The neighbour's dog died."),
    ("The user works at Google.", "The user quit chess."),
    ("The user works at Google.", "The user's sister got fired."),
    ("The user has a boyfriend.", "The user mentioned: The match is over."),
    ("The user is taking driving lessons.", "The user passed the maths exam."),
    ("The user has two cats.", "The user's friend got a third cat."),
    ("The user wants short replies.", "The user wants a long holiday."),
    ("The user is going to Italy in June.", "The user mentioned: The oven's off."),
]


@pytest.mark.spec("A3")
@pytest.mark.parametrize(("old", "new"), ENDED)
def test_a_few_words_end_it(old: str, new: str) -> None:
    assert compare(old, new) is Relation.CONTRADICTS


@pytest.mark.spec("A3")
@pytest.mark.parametrize(("old", "new"), STAYS)
def test_what_only_sounds_like_it_ends_nothing(old: str, new: str) -> None:
    assert compare(old, new) is not Relation.CONTRADICTS


@pytest.mark.spec("A3")
def test_the_models_doubt_no_plain_passing_between_short_texts() -> None:
    old, new = "The user lives alone.", "The user's girlfriend moved in with the user."
    assert has_passed(old, new)
    assert not is_end_doubtful(make_statement(old), make_statement(new))
    told = (
        f"{new} It was a long day with rain and boxes and a van that would not start, and then there was cake for all."
    )
    assert not has_passed(old, told)
