"""The terms of a text by which BM25 ranks memories, and those of a query: made the same way on both sides."""

from __future__ import annotations

from collections.abc import Iterator

from apps.core.text.fold import fold_for_search
from apps.core.text.index_terms import MAX_TERM_CHARACTERS
from apps.core.text.keywords import load_stop_words
from apps.core.text.matching import bigrams, stem, strip_possessive
from apps.core.text.pronouns import NEUTRAL, normalize_pronouns
from apps.core.text.segment import cjk_runs, mixed_parts, search_words, signs


def bm25_terms(text: str) -> list[str]:
    """The terms of `text`, repeats kept: words of jieba's search mode, then every two neighbouring Chinese characters.

    Folded, English words stemmed, stop words and pronouns left out. The bigrams find what the segmentation missed, and
    give a longer Chinese word that is shared more weight than a short one. A word of letters and digits also counts by
    its parts of two characters or more (asr1605: asr, 1605), and emoji are words.
    """
    return [term[:MAX_TERM_CHARACTERS] for term in _list_terms(fold_for_search(text))]


def _list_terms(folded: str) -> Iterator[str]:
    stop_words = load_stop_words()
    for word in normalize_pronouns(map(strip_possessive, search_words(folded))):
        if word != NEUTRAL and word not in stop_words:
            yield stem(word)
            yield from (stem(part) for part in mixed_parts(word) if len(part) > 1)
    for run in cjk_runs(folded):
        yield from (pair for pair in bigrams(run) if pair not in stop_words)
    yield from signs(folded)
