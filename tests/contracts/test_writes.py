"""Only the app that owns a table writes it (docs/decisions.md, "Code")."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

APPS = Path(__file__).parents[2] / "apps"
WRITES = {
    "bulk_create", "bulk_update", "create", "delete", "get_or_create", "save", "update", "update_or_create",
}  # fmt: skip


def list_foreign_writes(source: str, *, app: str) -> Iterator[str]:
    """Yield the calls that write through a model imported from another app."""
    tree = ast.parse(source)
    foreign = {
        name.asname or name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (module := (node.module or "").split("."))[0] == "apps"
        if "models" in module and module[1] != app
        for name in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WRITES:
            root: ast.expr = node.func.value
            while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
                root = root.func if isinstance(root, ast.Call) else root.value
            if isinstance(root, ast.Name) and root.id in foreign:
                yield ast.unparse(node.func)


@pytest.mark.long
def test_no_app_writes_the_tables_of_another() -> None:
    sources = [path for path in APPS.rglob("*.py") if "migrations" not in path.parts]
    assert len(sources) > 300
    found = {
        str(path.relative_to(APPS)): writes
        for path in sources
        if (writes := list(list_foreign_writes(path.read_text(), app=path.relative_to(APPS).parts[0])))
    }
    assert found == {}
