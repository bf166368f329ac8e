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
    ("The user has a cat.", "The user mentioned: The cat died yesterday."),
    ("The user has a dog.", "The user had to put the user's dog down."),
    ("用户养了一只猫。", "用户的猫死了。"),
    ("用户有一条狗。", "用户的狗没了。"),
    ("The user works at Google.", "They let the user go."),
    ("The user works at Google.", "The user mentioned: Fired."),
    ("The user has a boyfriend.", "The user mentioned: It's over."),
    ("The user has a boyfriend.", "He left the user."),
    ("The user is engaged to Priya.", "The user called off the wedding."),
    ("The user is single.", "The user met someone."),
    ("The user is looking for a new flat.", "The user found a place."),
    ("The user eats everything.", "The user has gone vegan."),
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
    ("The user has a golf handicap of 12.", "The user sold the car."),
    ("The user has a keen focus on detail.", "The user sold the car."),
    ("The user has a lab at the university.", "The user's dog died."),
    ("The user drives a Honda.", "The user doesn't want to be without a car now."),
    ("用户养了两只猫。", "用户妈妈的猫死了。"),
    ("Dancing helps the user de-stress.", "Dance is just the user, the user can't picture life without it."),
    ("The user has a beagle.", "The user lost the dog for an hour."),
    ("The user has two cats.", "The user adopted a second dog."),
    ("The user is expecting a parcel.", "The user mentioned: The baby is here."),
    ("The user engaged a lawyer.", "The wedding was called off."),
    ("The user is allergic to penicillin.", "The user is not allergic to cats."),
    ("The user is allergic to penicillin.", "The user's test came back negative."),
    ("The user is allergic to penicillin.", "The user was misdiagnosed with flu."),
    ("The user works as a nurse.", "The user's game crashed, so the user quit."),
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
