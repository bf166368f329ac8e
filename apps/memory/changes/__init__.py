"""The record of every change, undoing, and what was known at a time (L7)."""
