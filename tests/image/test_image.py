"""What the image holds, and what it does not."""

from __future__ import annotations

import json

from tests.image.bases import PYTHON
from tests.image.conftest import Image
from tests.image.engine import Engine, Say

# All that it adds to its base: 507 MB on 2026-11-28, 483 of them Python packages.
MOST_BYTES = 600 * 10**6

# Prints what should not be there: what only developers need, and what a clone or a build leaves behind.
LOOK = r"""
import json, os, re
unwanted = re.compile(
    r"/(pip|tests|\.git|\.env|pginstall\d+/include)$|^/opt/jiyi/(docs|benchmarks|clients)$"
)
found = []
for top in ("/opt", "/data", "/tmp"):
    for folder, folders, files in os.walk(top):
        found += [path for name in folders + files if unwanted.search(path := os.path.join(folder, name))]
        found += [os.path.join(folder, name) for name in files if os.stat(os.path.join(folder, name)).st_mode & 0o6000]
print(json.dumps(found))
"""


def test_it_is_labelled_and_runs_as_nobody_in_particular(engine: Engine, image: Image) -> None:
    found = engine.inspect(image.tag, kind="image")
    config = found["Config"]
    assert config["User"] == "10001:10001"
    assert config["Labels"]["org.opencontainers.image.title"] == "Jiyi"
    assert config["Labels"]["org.opencontainers.image.licenses"] == "MIT"
    assert list(config["Volumes"]) == ["/data"]
    assert list(config["ExposedPorts"]) == ["8000/tcp"]
    assert found["Healthcheck"]["Test"] == ["CMD", "python", "deploy/probe.py", "/readyz"]


def test_it_holds_nothing_that_only_developers_need(engine: Engine, image: Image) -> None:
    options = ("run", "--rm", "--network=none", "--read-only", "--user=0", image.tag)
    assert json.loads(engine.run(*options, "python", "-c", LOOK)) == []
    assert engine.run(*options, "sh", "-c", "ls deploy") == "probe.py"


def test_it_is_as_small_as_what_it_runs(engine: Engine, image: Image, say: Say) -> None:
    whole, base = (engine.inspect(tag, kind="image")["Size"] for tag in (image.tag, PYTHON))
    own = (whole - base) / 1e6
    say(f"the image has {whole / 1e6:.0f} MB, {own:.0f} of them its own; {image.build_seconds:.0f} s to build")
    assert whole - base < MOST_BYTES
