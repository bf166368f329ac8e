"""Our own export of everything (`GET /memory/export`, `manage.py export_user`): rows by table."""

from __future__ import annotations

from collections.abc import Iterator

from apps.gateway.imports.formats.files import Upload
from apps.gateway.imports.formats.json_stream import read_document
from apps.gateway.imports.types import ExportedRow, Item, LeftOut, Omission

DATA = "data"


def read(upload: Upload) -> Iterator[Item]:
    """Yield what the file says about itself (`table` ""), then its rows, table by table, in the order of the file."""
    for member in upload.members:
        with upload.open_text(member) as text:
            for node in read_document(text, inside=frozenset({DATA})):
                if node.path[:1] == (DATA,) and len(node.path) == 2:
                    if node.is_element and isinstance(node.value, dict):
                        yield ExportedRow(node.path[1], node.value)
                    else:
                        yield Omission(LeftOut.MALFORMED, label=node.path[1], detail="This is not a row of a table.")
                elif len(node.path) == 1 and not node.is_element:
                    yield ExportedRow("", {node.path[0]: node.value})
