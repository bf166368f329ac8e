"""What a model wrote, made to fit: its length, whole sentences, every citation."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.text.citations import find_citations, list_missing
from apps.summaries.drafting import fit_summary
from tests.core.text.test_grounding import CITED

pytestmark = pytest.mark.spec("S3", "S5")

STATUTE = "《中华人民共和国民法典》第五百七十七条"
SENTENCE = "用户想提前退租，房东拒绝退还押金。"


def test_a_summary_that_fits_stays_as_it_is() -> None:
    assert fit_summary(f"  {SENTENCE}\n\n依据{STATUTE}。 ", citations=[STATUTE]) == f"{SENTENCE}\n依据{STATUTE}。"


@pytest.mark.parametrize(
    ("text", "citations", "fitted"),
    [
        (SENTENCE, [STATUTE], f"{SENTENCE}\n引用：{STATUTE}。"),
        ("He must pay.", ["§ 242 BGB", "Art. 6 GDPR"], "He must pay.\nCited: § 242 BGB; Art. 6 GDPR."),
        ("依据民法典第五百七十七条。", [STATUTE], f"依据民法典第五百七十七条。\n引用：{STATUTE}。"),
        ("Under Article 12 of the UCC.", ["Article 1"], "Under Article 12 of the UCC.\nCited: Article 1."),
        (f"依据{STATUTE}第一款。", [STATUTE], f"依据{STATUTE}第一款。"),
        ("", [STATUTE], f"引用：{STATUTE}。"),
    ],
)
def test_a_citation_that_the_model_left_out_is_put_back(text: str, citations: list[str], fitted: str) -> None:
    assert fit_summary(text, citations=citations) == fitted


def test_a_summary_that_is_too_long_loses_whole_sentences_but_no_citation() -> None:
    text = SENTENCE * 40 + f"最后依据{STATUTE}起诉。"
    fitted = fit_summary(text, citations=[STATUTE])
    assert fitted == SENTENCE * 28 + f"\n引用：{STATUTE}。"
    assert len(fitted) == 500


def test_one_sentence_without_end_is_cut_outside_of_its_citations() -> None:
    text = "很" * 470 + STATUTE + "很" * 200
    fitted = fit_summary(text, citations=[STATUTE])
    assert fitted == "很" * 470 + f"…\n引用：{STATUTE}。"


def test_citations_that_take_more_than_the_limit_are_all_there_is() -> None:
    citations = [f"《中华人民共和国民法典》第{number}条" for number in range(100, 140)]
    fitted = fit_summary(SENTENCE, citations=citations)
    assert fitted == f"引用：{'；'.join(citations)}。"
    assert len(fitted) > 500


@pytest.mark.long
@given(
    st.lists(
        st.sampled_from([SENTENCE, "He must pay. ", "很" * 300, "\n", "Why? ", *chain(*CITED.values())]), max_size=60
    ),
    st.lists(st.sampled_from([*chain(*CITED.values())]), unique=True, max_size=14),
)
def test_every_citation_survives_and_the_limit_holds(pieces: list[str], citations: list[str]) -> None:
    fitted = fit_summary("".join(pieces), citations=citations)
    assert list_missing(fitted, citations) == []
    assert len(fitted) <= 500 or fitted == fit_summary("", citations=citations)
    assert fit_summary(fitted, citations=citations) == fitted


@given(st.lists(st.lists(st.sampled_from([*CITED["zh"], *CITED["en"]]), max_size=4), min_size=1, max_size=5))
def test_a_summary_of_summaries_keeps_what_the_first_one_cited(said: list[list[str]]) -> None:
    summary = ""
    for citations in said:
        summary = fit_summary("用户问了别的事。", citations=find_citations("\n".join([summary, *citations])))
    assert list_missing(summary, [citation for citations in said for citation in citations]) == []
