"""Texts that say something in other words: what shares no word with what was said may still be a paraphrase of it."""

from __future__ import annotations

from collections.abc import Sequence

from apps.core.text.sentences import split_sentences
from apps.memory.embeddings.active import list_models_in_use
from apps.memory.embeddings.queries import embed_queries

_SHARE_OF_FLOOR = 0.5
"""Of the similarity at which two texts are said to be about the same. "Tied the knot", "got married": paraphrases are
near, not close; what was made up is at right angles. Both measured with the local embedder (0.2: 10 of 12, 2 of 11)."""

_MOST_PARTS = 100
"""Messages and sentences that are compared."""


def list_paraphrases(texts: Sequence[str], *, said: Sequence[str]) -> set[str] | None:
    """Return those of `texts` that are near to one of the texts `said`; None where no embedder answers."""
    if not texts:
        return set()
    # A long message is about many things: each of its sentences is compared, too.
    parts = [*said, *(part for text in said for part in split_sentences(text))][:_MOST_PARTS]
    list_models_in_use()  # the first message of all may come here before anything was embedded
    vectors = embed_queries([*texts, *parts])
    if not vectors:
        return None
    heard = [vectors[text] for text in parts if text in vectors]
    return {
        text
        for text in texts
        if (own := vectors.get(text)) is not None
        and any(float(own.vector @ other.vector) >= own.min_similarity * _SHARE_OF_FLOOR for other in heard)
    }
