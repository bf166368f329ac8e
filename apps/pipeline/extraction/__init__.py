"""From a stored round to memories, profile and shared context: one model call for a batch of messages of a session."""

from apps.pipeline.extraction.run import extract

__all__ = ["extract"]
