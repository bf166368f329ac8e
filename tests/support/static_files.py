"""Find the static files once for all test clients. A plugin of pytest.

Each client of Django or DRF builds the middleware, which looks at every static file of every app: most of what an
ordinary request of a test cost. The files are the same for all.
"""

from __future__ import annotations

from typing import Any

from servestatic.middleware import ServeStaticMiddleware

_found: dict[str, Any] = {}


def pytest_configure() -> None:
    """Have every middleware after the first take over what that one found."""
    find = ServeStaticMiddleware.add_files_from_finders

    def find_once(self: ServeStaticMiddleware) -> None:
        if not _found:
            find(self)
            _found.update(self.files)
        self.files.update(_found)

    ServeStaticMiddleware.add_files_from_finders = find_once  # type: ignore[method-assign]
