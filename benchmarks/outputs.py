"""The files that a benchmark writes where they are asked for: its figures as JSON, and as a picture."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.environments import install
from benchmarks.plots import Chart, save_plot


def add_outputs(parser: argparse.ArgumentParser) -> None:
    """Add ``--json`` and ``--png``."""
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    parser.add_argument("--png", type=Path, metavar="FILE", help="draw the figures here")


def check_outputs(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    """Refuse files that could not be written, before anything is measured."""
    for path in (given.json, given.png):
        if path is not None and (path.is_dir() or not path.resolve().parent.is_dir()):
            parser.error(f"{path} cannot be written: it is a folder, or there is none to put it in")


def prepare_outputs(given: argparse.Namespace) -> None:
    """Install what draws the picture, if there is to be one. Raises `benchmarks.environments.NotInstalled`."""
    if given.png is not None:
        install("benchmarks")


def write_outputs(given: argparse.Namespace, report: Mapping[str, Any], charts: Sequence[Chart], *, title: str) -> None:
    """Write the files that were asked for."""
    if given.json is not None:
        given.json.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if given.png is not None:
        save_plot(given.png, charts, title=title)
