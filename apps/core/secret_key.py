"""The signing key of an installation that was given none: made once, kept in the data folder."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def get_secret_key(data_dir: Path) -> str:
    """Return the key kept in `data_dir`, making it (mode 600) when there is none.

    Safe for several processes starting at once: the file appears whole or not at all, and the first one wins.
    """
    path = data_dir / "secret_key"
    if not path.exists():
        data_dir.mkdir(parents=True, exist_ok=True)
        draft = data_dir / f".secret_key.{os.getpid()}.{secrets.token_hex(4)}"
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(48))
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text().strip()
