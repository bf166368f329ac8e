"""What is derived from an atomic memory's content: the form in which sameness is decided, and its terms for BM25."""

from __future__ import annotations

from apps.core.text.bm25_terms import bm25_terms
from apps.core.text.fold import normalize_value
from apps.memory.models import AtomicMemory

TEXT_FIELDS = ("content", "normalized_content", "terms", "term_count")
"""The fields that `set_content` sets: what saves one of them must save them all."""


def normalize_content(content: str) -> str:
    """The form of a content in which sameness is decided (A3).

    Punctuation, case, width, script and pronouns make no difference.
    """
    return normalize_value(content)


def set_content(memory: AtomicMemory, content: str) -> None:
    """Set the content with everything that is derived from it."""
    memory.content = content
    memory.normalized_content = normalize_content(content)
    memory.terms = bm25_terms(content)
    memory.term_count = len(memory.terms)
