"""Conversations and memories from elsewhere (``/memory/imports``)."""

from __future__ import annotations

from typing import BinaryIO

from jiyi._decoding import Into, Number, PageOf
from jiyi._requests import Request, Resource, Transport, all_pages, call, delete, get, post, unless_none, upload
from jiyi.types import ImportFormat, ImportItem, ImportItemState, Page, PastImport, Preview


class Imports(Resource[Transport]):
    """Imports of exports from chat applications and memory stores, of JSON lines, and of everything from Jiyi.

    The format is found by the content of a file unless it is given; a text with a memory on each line has the format
    "text". A file is bytes, or open in binary and seekable.
    """

    @call
    def preview(
        self,
        file: bytes | BinaryIO,
        *,
        name: str = "file",
        format: ImportFormat | None = None,
        space: str | None = None,
    ) -> Request[Preview]:
        """Return what a file holds; nothing is imported. Raises `ImportRefused` if it cannot be read."""
        body = {"format": unless_none(format), "space": unless_none(space), "dry_run": True}
        return upload("/memory/imports", Into(Preview), file=file, name=name, body=body)

    @call
    def create(
        self,
        file: bytes | BinaryIO,
        *,
        name: str = "file",
        format: ImportFormat | None = None,
        space: str | None = None,
    ) -> Request[PastImport]:
        """Start importing a file in the background, and return the import, to be followed with `get`.

        `space`: ID or name of the space that all of it goes to.
        Importing a file again imports only what is new. Raises `ImportRefused` if it cannot be read.
        """
        body = {"format": unless_none(format), "space": unless_none(space)}
        return upload("/memory/imports", Into(PastImport), file=file, name=name, body=body)

    @call
    def list(self, *, limit: int | None = None, offset: int | None = None) -> Request[Page[PastImport]]:
        """Return a page of the imports, newest first."""
        return get("/memory/imports", PageOf(PastImport), query={"limit": limit, "offset": offset})

    iterate = all_pages(list)

    @call
    def get(self, import_id: str) -> Request[PastImport]:
        """Return one import, with its progress and report."""
        return get("/memory/imports/{import_id}", Into(PastImport), import_id=import_id)

    @call
    def items(
        self,
        import_id: str,
        *,
        state: ImportItemState | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Request[Page[ImportItem]]:
        """Return a page of the items of an import, in the order of the file."""
        query = {"state": state, "limit": limit, "offset": offset}
        return get("/memory/imports/{import_id}/items", PageOf(ImportItem), query=query, import_id=import_id)

    iterate_items = all_pages(items)

    @call
    def delete(self, import_id: str) -> Request[int]:
        """Cancel an import under way; of one that has ended, delete the report. What was imported stays."""
        return delete("/memory/imports/{import_id}", Number("deleted"), import_id=import_id)

    @call
    def undo(self, import_id: str) -> Request[PastImport]:
        """Remove in the background what an import created. Raises `Conflict` unless `can_undo`."""
        return post("/memory/imports/{import_id}/undo", Into(PastImport), import_id=import_id)
