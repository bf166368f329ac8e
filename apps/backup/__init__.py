"""Backups of a whole installation, restoring them, and bringing an installation to a newer version.

``archive`` is the file, ``programs`` and ``database`` what PostgreSQL needs, ``dumping`` and ``loading`` copy one into
the other, ``restoring`` is all that a restore does besides, ``redoing`` what was erased since.
"""
