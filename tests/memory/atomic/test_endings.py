"""What the learned models find ended, and what they leave alone. Invented apart from what they learned from."""

from __future__ import annotations

import time
from importlib.resources import files

import numpy as np
import pytest

from apps.core.text.text_cache import clear_text_caches
from apps.memory.atomic import endings
from apps.memory.atomic.endings import (
    check_fit,
    find_ended,
    is_end_doubtful,
    load_models,
    read_pair,
)
from apps.memory.atomic.vectors import Statement, embed


def read(text: str) -> Statement:
    return Statement(text=text, vector=embed(text))


@pytest.mark.spec("A3")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("用户住在镇江。", "用户提到：终于搬进柳州的新家了，阳台能看见江。"),
        ("用户在快递站当分拣员。", "用户提到：分拣不干了，现在在驾校当教练。"),
        ("用户每天喝三罐可乐。", "用户提到：查出血糖高，可乐戒了两个月了。"),
        ("The user lives in Antwerp.", "The user has moved into a new flat in Seville, the boxes are everywhere."),
        ("The user works as a florist.", "The user quit the flower shop and is a tram driver now."),
        ("The user rents a room in Antwerp.", "The user is settled into a new apartment in Seville now."),
    ],
)
def test_what_is_no_longer_true_has_ended(old: str, new: str) -> None:
    assert find_ended([read(old)], read(new)).keys() == {0}


@pytest.mark.spec("A3")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("用户住在镇江。", "用户表姐搬到柳州了。"),
        ("用户住在镇江。", "用户今天和朋友去看了一场电影，很感动。"),
        ("用户养了一只乌龟。", "用户又养了两条金鱼。"),
        ("The user lives in Antwerp.", "The user's aunt moved to Seville last month."),
        ("The user lives in Antwerp.", "The user had a picnic with friends by the river on Sunday."),
        ("The user plays the harp.", "The user has also taken up pottery."),
    ],
)
def test_what_is_still_true_has_not(old: str, new: str) -> None:
    assert find_ended([read(old)], read(new)) == {}


def test_only_what_has_ended_of_many_is_named_by_its_index() -> None:
    olds = ["用户对榛子过敏。", "用户住在镇江。", "The user plays the harp."]
    assert find_ended([read(old) for old in olds], read("用户提到：终于搬进柳州的新家了，阳台能看见江。")).keys() == {1}


@pytest.mark.parametrize("number", ["9" * 400, f"0.{'0' * 320}1", "〇" + "九" * 400])
def test_no_number_is_too_long_to_be_compared(number: str) -> None:
    features = read_pair("The user has 5 cats.", f"The user has {number} cats.")
    assert np.isfinite(features).all()


def test_nothing_to_compare_ends_nothing() -> None:
    assert find_ended([], read("用户搬到柳州了。")) == {}


def test_a_remark_is_no_state_that_a_rule_could_end() -> None:
    new = read("The user has quit smoking.")
    assert is_end_doubtful(read("It was such a wild ride, the user still can't believe it."), new)
    assert not is_end_doubtful(read("The user smokes a pack a day."), new)


def test_weights_for_other_features_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endings, "list_cues", lambda: ["one", "two"])
    clear_text_caches()
    load_models.cache_clear()
    try:
        with pytest.raises(ValueError, match=r"change is \(\d+,\), not \(516,\); means is .*train_endings"):
            load_models()
    finally:
        clear_text_caches()


@pytest.mark.parametrize("name", ["state", "change", "means", "scales", "hidden", "hidden_bias", "phrases"])
def test_weights_of_another_shape_are_refused_by_name(name: str) -> None:
    with files("apps.memory.atomic").joinpath("data/endings.npz").open("rb") as file, np.load(file) as found:
        values = dict(found)
    check_fit(values)
    with pytest.raises(ValueError, match=rf"\({name} is \({len(values[name]) - 1},"):
        check_fit({**values, name: values[name][:-1]})


def test_a_thousand_memories_are_compared_in_a_moment() -> None:
    """An upper bound that holds on a busy machine; alone it takes a few milliseconds."""
    load_models()
    olds = [read(f"The user has a cousin number {number} who lives in Antwerp.") for number in range(40)] * 25
    new = read("The user has moved into a new flat in Seville, the boxes are everywhere.")
    find_ended(olds, new)
    start = time.process_time()
    find_ended(olds, new)
    assert time.process_time() - start < 0.5
