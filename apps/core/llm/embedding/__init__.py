"""Texts as vectors: one interface, a local model and any OpenAI-compatible server behind it (V2)."""
