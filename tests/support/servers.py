"""A database and a broker of the tests' own: embedded ones in a temporary folder, unless real ones are given."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from apps.embedded.servers import get_missing_servers, hold_servers


def make_data_folder() -> Path:
    """A new folder to be the ``JIYI_DATA_DIR`` of this run; everybody may enter it, as the servers are not root."""
    folder = Path(tempfile.mkdtemp(prefix="jiyi-tests-"))
    folder.chmod(0o755)
    return folder


@contextmanager
def run_servers(data_dir: Path) -> Iterator[None]:
    """The servers the environment does not give, for the time of the block; they end with us, however we end."""
    with hold_servers(data_dir, names=get_missing_servers(), durable=False):
        yield


def remove_data_folder(data_dir: Path) -> None:
    """Remove what ``make_data_folder`` made, with all that the servers left in it."""
    shutil.rmtree(data_dir)
