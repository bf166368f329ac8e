"""Vectors of messages and memories: who makes them, where they are kept, how they are searched (V1–V5)."""
