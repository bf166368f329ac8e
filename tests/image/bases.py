"""Images in place of those that `deploy/` takes from a registry, made of Debian's packages alone.

Each stands for what `deploy/` uses of the other: its programs, and what its entry point does with the variables that
are set. So no registry of images is needed, and the product's own image is built, for real, on something that differs
from its default base in the version of Python and in size.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.image.engine import BUILD_SECONDS, Engine, EngineError, Say

ROOT = Path(__file__).parents[2]
STANDINS = Path(__file__).parent / "standins"

PYTHON, NODE = "localhost/standin/python", "localhost/standin/node"

# What compose.yaml names, by the stand-in; `debian:trixie-slim`, which the pooler is built on, is a base itself.
COMPOSE_IMAGES = {"database": "pgvector/pgvector:pg17", "queue": "valkey/valkey:8", "proxy": "nginx:1.28"}

# What an image of Debian's "slim" kind leaves out.
_LEFT_OUT = ("doc", "man", "locale", "info")


def make_base(engine: Engine, suite: str, *, say: Say) -> None:
    """Make the image of a release of Debian, unless it is there from an earlier run."""
    tag = f"localhost/debian:{suite}"
    if engine.has_image(tag):
        return
    say(f"making a base of Debian's packages ({suite}); this takes a minute or two")
    archive = engine.folder / f"{suite}.tar"
    command = ["nice", "mmdebstrap", "--variant=minbase", "--quiet"]
    command += [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in _LEFT_OUT]
    command += [f"--aptopt={line}" for line in _read_apt_settings()]
    done = subprocess.run(
        [*command, suite, str(archive)], capture_output=True, text=True, check=False, timeout=BUILD_SECONDS
    )
    if done.returncode:
        archive.unlink(missing_ok=True)
        raise EngineError(f"mmdebstrap {suite}: {done.stderr[-2000:]}")
    engine.run("import", "--quiet", archive, tag)
    archive.unlink()


def make_builders(engine: Engine, *, say: Say) -> None:
    """Make what stands for `PYTHON_IMAGE` and `NODE_IMAGE` of the Dockerfile."""
    make_base(engine, "bookworm", say=say)
    for name, tag, context in (("python", PYTHON, STANDINS), ("node", NODE, ROOT / "requirements")):
        say(f"building what stands for the {name} image")
        engine.build(tag, file=STANDINS / f"{name}.Dockerfile", context=context)


def make_compose_images(engine: Engine, *, say: Say) -> None:
    """Make what stands for the images that compose.yaml names, and for the base of the pooler."""
    for suite in ("trixie", "forky"):
        make_base(engine, suite, say=say)
    engine.run("tag", "localhost/debian:trixie", "localhost/debian:trixie-slim")
    for name, tag in COMPOSE_IMAGES.items():
        say(f"building what stands for {tag}")
        engine.build(tag, file=STANDINS / f"{name}.Dockerfile", context=STANDINS)


def _read_apt_settings() -> list[str]:
    """This machine's word on how old Debian's lists may be: a mirror of a certain day is older than they allow."""
    if not shutil.which("apt-config"):
        return []
    names = ("Acquire::Check-Valid-Until", "Acquire::Check-Date")
    done = subprocess.run(["apt-config", "dump", *names], capture_output=True, text=True, check=False)
    return [line for line in done.stdout.splitlines() if line.startswith(names)]
