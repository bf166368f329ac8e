"""What is derived from an atomic memory's content: the form in which sameness is decided, and its terms for BM25."""

from __future__ import annotations

from apps.core.text.bm25_terms import bm25_terms
from apps.memory.judging.exact import normalize_content
from apps.memory.models import AtomicMemory

TEXT_FIELDS = ("content", "normalized_content", "terms", "term_count")
"""The fields that `set_content` sets: what saves one of them must save them all."""


def set_content(memory: AtomicMemory, content: str) -> None:
    """Set the content with everything that is derived from it."""
    memory.content = content
    memory.normalized_content = normalize_content(content)
    memory.terms = bm25_terms(content)
    memory.term_count = len(memory.terms)
