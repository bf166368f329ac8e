"""``jiyi spaces`` and ``jiyi move``, and the option ``--space`` of other commands."""

from __future__ import annotations

import sys

import click

from jiyi._client import Jiyi
from jiyi.cli.output import Given, with_server
from jiyi.types import Space, SpaceKind

NONE = "none"
KINDS = click.Choice(["project", "assistant", "character"])

in_space = click.option("--space", "space", metavar="SPACE", help="In this space, by name or ID.")


def find_space(client: Jiyi, named: str) -> Space:
    """Return the space with this ID or name, whatever its case."""
    for space in client.spaces.iterate(limit=200):
        if named in (space.id, space.name) or named.casefold() == space.name.casefold():
            return space
    raise click.UsageError(f"There is no space {named!r}. `jiyi spaces` lists them.")


def find_id(client: Jiyi, named: str | None) -> str | None:
    """Return the ID of the space that is named, None for none."""
    return None if named in (None, NONE) else find_space(client, named).id


@click.command()
@click.option("--create", "name", metavar="NAME", help="Make a space.")
@click.option("--kind", type=KINDS, help="With --create; project by default.")
@click.option("--instructions", metavar="TEXT", help="With --create: what the assistant is told in it.")
@click.option("--delete", "gone", metavar="SPACE", help="Delete a space, by name or ID.")
@click.option("--to", metavar="SPACE", help="With --delete: move what is in it there; none: it is everywhere.")
@click.option("--erase", is_flag=True, help="With --delete: erase what is in it for good, conversations too.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_server
def spaces(
    given: Given,
    name: str | None,
    kind: SpaceKind | None,
    instructions: str | None,
    gone: str | None,
    to: str | None,
    erase: bool,
    yes: bool,
) -> None:
    """Show the spaces: projects, assistants and characters whose memories stay there. Or make or delete one."""
    client, out = given.client, given.out
    if name is not None and gone is not None:
        raise click.UsageError("--create and --delete exclude each other.")
    if name is None and (kind or instructions):
        raise click.UsageError("--kind and --instructions are for --create.")
    if gone is None and (to or erase):
        raise click.UsageError("--to and --erase are for --delete.")
    if gone is not None:
        _delete(given, find_space(client, gone), to=to, erase=erase, yes=yes)
        return
    if name is not None:
        found = [client.spaces.create(name=name, kind=kind, instructions=instructions)]
    else:
        found = [*client.spaces.iterate(limit=200)]
    if out.as_json:
        out.data(found if name is None else found[0])
    elif found:
        rows = [(space.name, space.kind, space.sessions, space.memories, space.id) for space in found]
        out.table(("Name", "Kind", "Conversations", "Memories", "ID"), rows)
    else:
        out.message("There is nothing yet.")


def _delete(given: Given, space: Space, *, to: str | None, erase: bool, yes: bool) -> None:
    if (to is not None) == erase:
        raise click.UsageError("Say what becomes of its memories: --to SPACE, --to none or --erase.")
    target = find_id(given.client, to) or NONE
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("Nobody is there to confirm. Add --yes.")
        fate = "Erase" if erase else "Move"
        question = f"{fate} {space.memories} memories and {space.sessions} conversations, and delete {space.name}?"
        click.confirm(question, abort=True, err=True)
    if erase:
        done = given.client.spaces.delete(space.id, memories="erase", confirm=space.name)
    else:
        done = given.client.spaces.delete(space.id, memories="move", to=target)
    if given.out.as_json:
        given.out.data(done)
    else:
        given.out.message(f"Deleted {space.name}.")


@click.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--to", required=True, metavar="SPACE", help="The space, by name or ID; none: they are everywhere.")
@with_server
def move(given: Given, ids: tuple[str, ...], to: str) -> None:
    """Move memories to a space, or with `--to none` out of all. The panel undoes it."""
    done = given.client.spaces.move(ids, space=find_id(given.client, to))
    if given.out.as_json:
        given.out.data(done)
        return
    given.out.message(f"Moved {done.moved} of {len(set(ids))}.")
    if done.taken:
        given.out.message(f"Already there under the same key or content: {', '.join(done.taken)}.")
