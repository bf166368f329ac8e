"""What the learned models take for said before, and what for something else. Invented apart from what they learned."""

from __future__ import annotations

import time

import pytest

from apps.core.text.text_cache import clear_text_caches
from apps.memory.atomic import endings
from apps.memory.atomic.compare import Relation, compare
from apps.memory.atomic.networks import load_weights
from apps.memory.atomic.repeats import check_fit, find_repeated, is_repeat_doubtful, load_models
from apps.memory.atomic.vectors import Statement, embed


def read(text: str) -> Statement:
    return Statement(text=text, vector=embed(text))


@pytest.mark.spec("A3")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("用户对花粉过敏。", "用户花粉过敏，春天难受。"),
        ("用户在读博士。", "用户是博士在读。"),
        ("用户晚上十二点睡。", "晚上十二点是用户睡觉的时间。"),
        ("The user is left-handed.", "The user is a lefty."),
        ("The user is a dental hygienist.", "The user cleans teeth for a living, dental hygienist."),
        ("The user is terrified of snakes.", "Snakes scare the user stiff."),
    ],
)
def test_what_was_said_before_in_other_words_is_found(old: str, new: str) -> None:
    found = find_repeated([read(old)], read(new))
    assert found is not None
    assert found[0] == 0


TOLD_MORE = [
    ("用户养了一只乌龟。", "用户那只乌龟是草龟，养了八年了。"),
    ("用户养了一只乌龟。", "用户养了一只乌龟，叫慢慢。"),
    ("用户在练书法。", "用户练的书法是颜体，跟着街道办的老师学。"),
    ("The user keeps a beehive.", "The beehive the user keeps is Buckfast, behind the shed."),
    ("The user plays in a brass band.", "In the brass band the user is on tenor horn."),
]


@pytest.mark.spec("A3")
@pytest.mark.parametrize(("old", "new"), TOLD_MORE)
def test_more_of_the_same_is_merged_rather_than_dropped(old: str, new: str) -> None:
    assert find_repeated([read(old)], read(new)) == (0, Relation.REFINES)


@pytest.mark.spec("A3")
@pytest.mark.parametrize(("old", "new"), TOLD_MORE)
def test_less_than_was_said_tells_nothing_new(old: str, new: str) -> None:
    assert find_repeated([read(f"{old} {new}")], read(old)) == (0, Relation.SAME)


@pytest.mark.spec("A3")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("用户不吃羊肉。", "用户也不吃兔肉。"),
        ("用户对花生过敏。", "用户弟弟对花生过敏。"),
        ("用户早上跑三公里。", "用户早上跑五公里。"),
        ("用户住在镇江。", "用户住在柳州。"),
        ("用户养了一只乌龟。", "用户把那只乌龟送人了。"),
        ("用户喜欢榴莲。", "用户讨厌榴莲。"),
        ("The user plays the harp.", "The user has also taken up the oboe."),
        ("The user is left-handed.", "The user's sister is left-handed."),
        ("The user swims twenty lengths.", "The user swims forty lengths."),
        ("The user lives in Antwerp.", "The user lives in Seville."),
        ("The user keeps bees.", "The user no longer keeps bees."),
        ("The user's dentist is called Okafor.", "The user's dentist is called Lindqvist."),
        ("The user plays the harp.", "The user had a picnic by the river on Sunday."),
    ],
)
def test_another_fact_is_none(old: str, new: str) -> None:
    assert find_repeated([read(old)], read(new)) is None


def test_the_one_of_many_that_is_said_again_is_named_by_its_index() -> None:
    olds = ["用户对榛子过敏。", "The user lives in Antwerp.", "The user is left-handed.", "The user plays the harp."]
    found = find_repeated([read(old) for old in olds], read("The user is a lefty."))
    assert found is not None
    assert found[0] == 2


def test_where_nothing_was_said_nothing_is_said_again() -> None:
    assert find_repeated([], read("The user is a lefty.")) is None


@pytest.mark.spec("A3")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "The user took the twins to an open-air concert for their birthday, with music until midnight.",
            "The user loves live music.",
        ),
        ("The user loves that painting.", "Painting calms the user down after a long day."),
    ],
)
def test_a_word_in_passing_makes_no_repetition(old: str, new: str) -> None:
    assert compare(old, new) in (Relation.SAME, Relation.REFINES)
    assert is_repeat_doubtful(read(old), read(new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The user lives in Antwerp.", "the user lives in Antwerp"),
        ("The user lives in Antwerp.", "Antwerp is where the user lives."),
        ("用户住在镇江。", "用户家在镇江。"),
        ("用户养了一只乌龟。", "用户养了一只乌龟，叫慢慢。"),
    ],
)
def test_what_the_rules_rightly_take_for_the_same_is_not_doubted(old: str, new: str) -> None:
    assert compare(old, new) in (Relation.SAME, Relation.REFINES)
    assert not is_repeat_doubtful(read(old), read(new))


def test_texts_that_are_all_but_equal_are_not_doubted() -> None:
    old, new = read("The user will get through this."), read("The user will make it through this.")
    assert compare(old.text, new.text, cosine=float(old.vector @ new.vector)) is Relation.SAME
    assert not is_repeat_doubtful(old, new)


def test_weights_for_other_features_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endings, "list_cues", lambda: ["one", "two"])
    clear_text_caches()
    load_models.cache_clear()
    try:
        with pytest.raises(ValueError, match=r"repeats.npz does not fit .*means is .*train_repeats"):
            load_models()
    finally:
        clear_text_caches()


@pytest.mark.parametrize("name", ["means", "scales", "hidden", "hidden_bias", "phrases", "more"])
def test_weights_of_another_shape_are_refused_by_name(name: str) -> None:
    values = load_weights("repeats")
    check_fit(values)
    with pytest.raises(ValueError, match=rf"\({name} is \({len(values[name]) - 1},"):
        check_fit({**values, name: values[name][:-1]})


@pytest.mark.parametrize("number", ["9" * 400, f"0.{'0' * 320}1"])
def test_no_number_is_too_long_to_be_compared(number: str) -> None:
    found = find_repeated([read("The user has 5 cats.")], read(f"The user has {number} cats."))
    assert found is None


def test_a_thousand_memories_are_compared_in_a_moment() -> None:
    """An upper bound that holds on a busy machine; alone it takes a few milliseconds."""
    load_models()
    olds = [read(f"The user has a cousin number {number} who lives in Antwerp.") for number in range(40)] * 25
    new = read("A cousin of the user's is an Antwerp man.")
    find_repeated(olds, new)
    start = time.process_time()
    find_repeated(olds, new)
    assert time.process_time() - start < 0.1
