"""An import-linter contract: of another app, only its surface is imported (docs/decisions.md, "What apps share").

The surface is every module that is called services, selectors, types, serializers or models, or lies in a package of
that name, and the modules of `NOUNS`, which are named after what they are about. `core` is a library and open.
"""

from __future__ import annotations

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

NOUNS = {
    *("attachments", "export", "histories", "queue", "recordings", "rounds", "search", "sessions", "worker"),
    *("context", "document", "emotions", "inspect", "tools", "turn"),
}
SURFACE = frozenset({"services", "selectors", "types", "serializers", "models"}) | NOUNS


class AppSurfaceContract(Contract):
    """`root`: the package of the apps. `libraries`: apps that may be imported everywhere, in whole."""

    root = fields.StringField()
    libraries = fields.SetField(subfield=fields.StringField(), required=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        broken = [
            (importer, imported)
            for importer in sorted(graph.modules)
            for imported in sorted(graph.find_modules_directly_imported_by(importer))
            if self.reaches_inside(importer, imported)
        ]
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def reaches_inside(self, importer: str, imported: str) -> bool:
        """Whether this import takes something from another app that is not on its surface."""
        source, target = self._find_app(importer), self._find_app(imported)
        if source is None or target is None or source == target or target in (self.libraries or ()):
            return False
        return SURFACE.isdisjoint(imported.split("."))

    def _find_app(self, module: str) -> str | None:
        root, _, inside = module.partition(f"{self.root}.")
        return inside.split(".")[0] if not root and inside else None

    def render_broken_contract(self, check: ContractCheck) -> None:
        for importer, imported in check.metadata["broken"]:
            output.print_error(f"{importer} imports {imported}, which is not on its app's surface")
