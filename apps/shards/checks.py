"""System checks: what is wrong in the settings of several servers is told at the start."""

from __future__ import annotations

import re
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

_NAME = re.compile(r"[a-z][a-z0-9_]{0,19}")


@register("environment")
def check_shards(**_options: Any) -> list[CheckMessage]:
    """Return an error for each setting of the environment that cannot be meant."""
    problems = []
    if settings.SHARD and settings.SHARDS:
        problems.append("SHARD is for a shard and SHARDS for the directory: set one of them.")
    if settings.SHARD and not settings.DIRECTORY_DATABASE_URL:
        problems.append("A shard needs DIRECTORY_DATABASE_URL, the database of the directory.")
    problems += [
        f"{name!r} is no name of a shard: up to 20 of a–z, 0–9 and _, a letter first."
        for name in (*settings.SHARDS, *filter(None, [settings.SHARD]))
        if not _NAME.fullmatch(name)
    ]
    if unknown := set(settings.SHARDS_FOR_NEW_PEOPLE) - set(settings.SHARDS):
        problems.append(f"SHARDS_FOR_NEW_PEOPLE names {', '.join(sorted(unknown))}, which SHARDS does not.")
    problems += [
        f"SHARDS: {name} needs a database and a url."
        for name, shard in settings.SHARDS.items()
        if not {"database", "url"} <= shard.keys()
    ]
    return [Error(problem, id="shards.E001") for problem in problems]
