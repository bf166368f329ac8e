"""``manage.py shards``: which servers there are, who is where, and whether everything is in its place."""

from __future__ import annotations

from typing import IO, Any, cast

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.table import Table

from apps.shards.overview import describe_servers
from apps.shards.recovering import finish_moves


class Command(BaseCommand):
    help = (
        "List the servers with their people, after moves that somebody died over have been ended. Fails if a server "
        "does not answer, or holds rows of somebody who is elsewhere."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        problems = []
        try:
            ended = finish_moves()
        except Exception as error:
            problems.append(f"Moves could not be ended: {error}")
            ended = []
        for each in ended:
            what = "completed" if each.committed else "taken back"
            self.stdout.write(f"{each.server}: the move of user {each.user_id} was {what}")
        table = Table("server", "answers", "people", "strays", "moves under way")
        for state in describe_servers():
            name = state.name or "directory"
            table.add_row(
                name,
                "yes" if state.answers else "no",
                f"{state.people:,}",
                f"{len(state.strays):,}",
                f"{state.prepared}",
            )
            if not state.answers:
                problems.append(f"{name} does not answer.")
            if state.strays:
                ids = ", ".join(map(str, state.strays[:20]))
                problems.append(f"{name} holds rows of people who are elsewhere (user IDs {ids}).")
        Console(file=cast(IO[str], self.stdout)).print(table)
        if problems:
            raise CommandError("\n".join(problems))
