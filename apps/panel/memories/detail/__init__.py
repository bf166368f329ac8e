"""The page of one memory: everything about it, where it came from, what used it, its history, and what to do (M2)."""
