"""Emotions of E1 from a lexicon with negation and intensity."""

from __future__ import annotations

import pytest

from apps.offline.emotion import read_emotion
from tests.offline.prompts import read_pairs


@pytest.mark.spec("E1")
def test_emotion_of_a_sentence() -> None:
    expected = dict(read_pairs("emotions"))
    assert {sentence: read_emotion(sentence).primary for sentence in expected} == expected


def test_indicators_are_the_words_found_as_written() -> None:
    assert read_emotion("I'm SAD and lonely").indicators == ("SAD", "lonely")
    assert read_emotion("我好難過，很孤獨").indicators == ("難過", "孤獨")


def test_a_stronger_word_makes_it_surer_and_a_weaker_one_less_sure() -> None:
    slightly, plainly, very = (read_emotion(text).confidence for text in ("有点紧张", "紧张", "非常紧张"))
    assert slightly < plainly < very <= 1
