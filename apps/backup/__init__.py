"""Backups of a whole installation, restoring them, and bringing an installation to a newer version."""
