"""The current context of live sessions, and the do-not-relearn list."""
