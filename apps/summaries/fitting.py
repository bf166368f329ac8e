"""Making a model's summary fit: within its length, and with every citation that it has to keep (S3, S5). Pure."""

from __future__ import annotations

from collections.abc import Sequence

from apps.core.text.citations import drop_contained, find_citation_spans, list_missing
from apps.core.text.segment import cjk_runs
from apps.core.text.sentences import cut_at_sentence, split_sentences

MAX_SUMMARY_CHARACTERS = 500

_READ_CHARACTERS = 4 * MAX_SUMMARY_CHARACTERS
"""Of a summary that is far too long; the rest would be cut off anyway."""

_LEAST_BEGINNING = 20
"""Characters that are worth keeping of a first sentence that does not fit."""


def fit_summary(text: str, *, citations: Sequence[str], limit: int = MAX_SUMMARY_CHARACTERS) -> str:
    """Return `text` with all of `citations` in at most `limit` characters, whole sentences.

    Citations that the text lacks, or loses with the sentences that do not fit, follow it in a list. They win: the text
    gets what they leave, and where they alone take more than `limit`, they are all there is and the limit is passed.
    """
    citations = drop_contained(citations)
    lines = [line.strip() for line in text.strip().splitlines()]
    text = cut_at_sentence("\n".join(filter(None, lines)), _READ_CHARACTERS)
    chinese = _is_chinese(text or "".join(citations))
    if sum(map(len, citations)) <= limit:
        spans = find_citation_spans(text)
        sentences = split_sentences(text, keep=spans)
        for count in range(len(sentences), 0, -1):
            prose = "".join(sentences[:count]).rstrip()
            if len(fitted := _join(prose, list_missing(prose, citations), chinese=chinese)) <= limit:
                return fitted
        room = limit - len(_join("", citations, chinese=chinese)) - 1
        if room >= _LEAST_BEGINNING:
            return _join(cut_at_sentence(text, room, keep=spans), citations, chinese=chinese)
    return _join("", citations, chinese=chinese)


def _join(prose: str, missing: Sequence[str], *, chinese: bool) -> str:
    if not missing:
        return prose
    listed = f"引用：{'；'.join(missing)}。" if chinese else f"Cited: {'; '.join(missing)}."
    return f"{prose}\n{listed}" if prose else listed


def _is_chinese(text: str) -> bool:
    return bool(cjk_runs(text))
