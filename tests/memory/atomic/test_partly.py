"""Who names one of several things that a text joins."""

from __future__ import annotations

import pytest

from apps.memory.atomic.partly import names_a_part

SPOONS = "The user plays the mouth organ, the spoons and the ukulele, none of them well."


@pytest.mark.spec("A3")
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (SPOONS, "The user sold the ukulele."),
        (SPOONS, "The user doesn't play the mouth organ any more."),
        ("The user has a soft spot for Jim Reeves and Perry Como.", "The user has had enough of Perry Como."),
        ("The user's grandsons, Alfie is six and Stanley is nine.", "Stanley had his birthday, ten he is now."),
        ("用户每天一瓶红牛、两罐咖啡续命。", "用户提到：红牛不喝了，心慌。"),
    ],
)
def test_one_of_them_is_named(content: str, said: str) -> None:
    assert names_a_part(content, said)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (SPOONS, "The user has given up music."),
        ("The user plays guitar and piano.", "The user sold the guitar and the piano."),
        ("The user works at Google and loves it.", "The user left Google."),
        ("The user lives in Leeds and works in Hull.", "The user moved to York."),
        ("The user has a cat.", "The cat died."),
        ("用户和女朋友住在一起。", "用户和女朋友分手了。"),
        ("用户住在铁西区，离公司近。", "用户搬到沈阳了。"),
        ("", "The user sold the ukulele."),
        (SPOONS, ""),
    ],
)
def test_none_or_all_of_them_are(content: str, said: str) -> None:
    assert not names_a_part(content, said)
