"""The product's image, built once for all tests here, on bases of Debian's packages. `make test-image` runs them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.image.bases import NODE, PYTHON, ROOT, make_base, make_builders, make_compose_images
from tests.image.engine import NEEDED, PACKAGES, Engine, EngineError, Say
from tests.support.tools import find_tool, install_debian

HERE = Path(__file__).parent
FOLDER = ROOT / ".test-output" / "image"
IMAGE = "localhost/jiyi:latest"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.image)
            item.add_marker(pytest.mark.timeout(3600))  # the first one makes bases and builds


@pytest.fixture(scope="session")
def say(pytestconfig: pytest.Config) -> Say:
    """Prints a line at once, whatever pytest captures: what takes minutes is told."""
    manager = pytestconfig.pluginmanager.getplugin("capturemanager")
    started = time.monotonic()

    def say_now(line: str) -> None:
        with manager.global_and_fixture_disabled():
            print(f"\n[{time.monotonic() - started:4.0f} s] {line}", end="", flush=True)

    return say_now


@pytest.fixture(scope="session")
def engine(say: Say) -> Iterator[Engine]:
    """A Podman that can run containers here, or a skip that says why there is none."""
    if not all(map(shutil.which, NEEDED)):
        say("installing Podman and mmdebstrap")
        install_debian(*PACKAGES)
    for name in NEEDED:
        find_tool(name, reason=f"apt-get install {' '.join(PACKAGES)}, or run this as root on Debian")
    engine = Engine(FOLDER)
    try:
        make_base(engine, "bookworm", say=say)
        engine.run("run", "--rm", "localhost/debian:bookworm", "true")
    except EngineError as error:
        pytest.skip(f"Podman cannot run containers here: {error}")
    engine.close()
    yield engine
    engine.close()


@dataclass(frozen=True)
class Image:
    """The product's image as it was built."""

    tag: str
    build_seconds: float


@pytest.fixture(scope="session")
def image(engine: Engine, say: Say) -> Image:
    """The image of ``deploy/Dockerfile``."""
    make_builders(engine, say=say)
    started = time.monotonic()
    # The stage first and under a name of its own, so that it is kept for the next run.
    for tag, target in (("localhost/jiyi-packages", "packages"), (IMAGE, "")):
        engine.build(
            tag,
            file=ROOT / "deploy" / "Dockerfile",
            context=ROOT,
            arguments={"PYTHON_IMAGE": PYTHON, "NODE_IMAGE": NODE},
            target=target,
            say=say,
        )
    return Image(IMAGE, time.monotonic() - started)


@pytest.fixture(scope="session")
def compose_images(engine: Engine, image: Image, say: Say) -> None:
    """What compose.yaml takes from registries."""
    make_compose_images(engine, say=say)
