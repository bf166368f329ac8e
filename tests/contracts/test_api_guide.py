"""The examples of docs/api.md and docs/services.md run from top to bottom in one shell, and print what they say."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from apps.accounts.services.people import create_token
from tests.client.guides import read_examples
from tests.support.http_server import ApiClient

pytestmark = [pytest.mark.long, pytest.mark.spec("T4")]

# How the block begins that makes a token in the installation of whoever reads it.
NOT_RUN = "export JIYI="

MARK = "--- end of example ---"


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("page", ["api.md", "services.md"])
def test_the_examples_do_what_they_say(alice: ApiClient, tmp_path: Path, page: str) -> None:
    guide = Path(__file__).parents[2] / "docs" / page
    examples = [example for example in read_examples(guide) if example.language == "bash"]
    assert [example.code.startswith(NOT_RUN) for example in examples] == [True] + [False] * (len(examples) - 1)
    script = "".join(f"{example.code}\necho '{MARK}'\n" for example in examples[1:])
    token = create_token(user=alice.user, is_service=page == "services.md")
    environment = {"PATH": os.environ["PATH"], "JIYI": str(alice.base_url), "JIYI_TOKEN": token}
    shell = ["bash", "-e", "-u", "-o", "pipefail"]
    done = subprocess.run(
        shell, input=script, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    for example, text in zip(examples[1:], done.stdout.split(MARK)[:-1], strict=True):
        example.check(text)
