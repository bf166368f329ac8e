"""Find a Chromium for the browser tests, or get one: ``python -m tests.support.browser``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

# The shell has no window around its pages, which takes a third less time.
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find_chromium() -> str | None:
    """Path of a Chromium: the system's, else one that playwright downloaded; None when there is none."""
    for name in _NAMES:
        if path := shutil.which(name):
            return path
    with sync_playwright() as playwright:
        downloaded = Path(playwright.chromium.executable_path)
    return str(downloaded) if downloaded.exists() else None


def install_chromium() -> None:
    """As root Debian's package, with a font for Chinese; else, or where that fails, playwright's own download."""
    attempts = [[sys.executable, "-m", "playwright", "install", "chromium"]]
    if os.geteuid() == 0 and shutil.which("apt-get"):
        packages = "chromium-headless-shell fonts-noto-cjk"
        attempts.insert(0, ["sh", "-c", f"apt-get update -q && apt-get install -qy --no-install-recommends {packages}"])
    for command in attempts:
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        if subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, check=False).returncode == 0:
            return


def main() -> None:
    if find_chromium() is None:
        install_chromium()
    if find_chromium() is None:
        sys.exit("The browser tests need a Chromium and none could be installed; install one, then run this again.")


if __name__ == "__main__":
    main()
