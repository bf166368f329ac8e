"""The protocol's own conformance suite (`@modelcontextprotocol/conformance`), unmodified, against our server.

The scenarios are those that the suite says a revision requires, and its scenarios for authorization servers. Whatever
needs nothing of the suite's example server passes; the rest is listed here with its reason.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from apps.accounts.models import User
from apps.accounts.services.people import create_token
from tests.clients.environments import Environment, install_node
from tests.support.http_server import HttpServer
from tests.support.oauth import App, make_browser, read_form

pytestmark = pytest.mark.spec("T2")

SUITE = Path("node_modules/@modelcontextprotocol/conformance/dist/index.js")
PASSED = {"SUCCESS", "INFO"}

# Scenarios that do not pass as a whole.
EXCUSED = {
    # calls a tool of the example server
    "elicitation-sep1034-defaults", "elicitation-sep1330-enums", "http-custom-header-server-validation",
    "json-schema-2020-12", "input-required-result-basic-elicitation", "input-required-result-basic-list-roots",
    "input-required-result-basic-sampling", "input-required-result-capability-check",
    "input-required-result-ignore-extra-params", "input-required-result-multi-round",
    "input-required-result-missing-input-response", "input-required-result-multiple-input-requests",
    "input-required-result-request-state", "input-required-result-result-type", "input-required-result-tampered-state",
    "tools-call-audio", "tools-call-elicitation", "tools-call-embedded-resource", "tools-call-error",
    "tools-call-image", "tools-call-mixed-content", "tools-call-sampling", "tools-call-simple-text",
    "tools-call-with-progress",
    # gets a prompt or reads a resource of the example server
    "input-required-result-non-tool-request", "prompts-get-embedded-resource", "prompts-get-simple",
    "prompts-get-with-args", "prompts-get-with-image", "resources-read-binary", "resources-read-text",
    "resources-templates-read",
    # not offered: completions, logging (deprecated), subscriptions: nothing changes without its owner
    "completion-complete", "logging-set-level", "tools-call-with-logging", "resources-subscribe",
    "resources-unsubscribe",
    # there are no sessions and no streams: every request is answered by itself
    "server-sse-polling",
    # tasks, an extension, are not offered: nothing here takes long
    "tasks-capability-negotiation", "tasks-dispatch-and-envelope", "tasks-lifecycle", "tasks-mrtr-composition",
    "tasks-mrtr-input", "tasks-request-headers", "tasks-request-state-removal", "tasks-required-task-error",
    "tasks-status-notifications", "tasks-wire-fields",
}  # fmt: skip

# Checks of scenarios whose others pass.
EXCUSED_CHECKS = {
    # call a tool of the example server
    "sep-2575-http-server-no-independent-requests-on-stream", "sep-2575-missing-capability-http-400",
    "sep-2575-server-no-log-without-loglevel", "sep-2575-server-rejects-undeclared-capability",
    # about subscriptions, and about sessions
    "sep-2575-server-honors-notification-filter", "sep-2575-server-sends-prompts-list-changed-on-subscription",
    "sep-2575-server-sends-subscription-ack", "sep-2575-server-sends-tools-list-changed-on-subscription",
    "sep-2575-server-tags-subscription-id", "server-sse-multiple-streams-session",
}  # fmt: skip


@pytest.fixture(scope="session")
def suite() -> Environment:
    return install_node("mcp_conformance")


@pytest.fixture
def server(transactional_db: None) -> Iterator[HttpServer]:
    """The product behind a front that adds a token: the suite knows no way to send one."""
    token = create_token(user=User.objects.create_user("mei"))
    with HttpServer(headers=[(b"authorization", f"Bearer {token}".encode())]) as front:
        yield front
        front.wait_until_idle()


def list_arguments(suite: Environment, *arguments: str) -> list[str]:
    return [str(suite.interpreter), str(suite.folder / SUITE), *arguments]


def read_results(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The checks of each scenario that ran."""
    found = {}
    for file in folder.glob("**/checks.json"):
        name = re.sub(r"^(server|authorization)-(?=.*-\d{4})|-\d{4}-\d\d-\d\dT.*$", "", file.parent.name)
        found[name] = json.loads(file.read_text())
    return found


@pytest.mark.parametrize(("revision", "passing"), [("2025-11-25", 6), ("2026-07-28", 10)])
def test_whatever_needs_nothing_of_the_example_server_passes(
    suite: Environment, server: HttpServer, tmp_path: Path, revision: str, passing: int
) -> None:
    asked = ("server", "--url", f"{server.url}/mcp", "--requirements", revision, "-o", str(tmp_path))
    subprocess.run(list_arguments(suite, *asked), capture_output=True, check=False, timeout=600)  # 1: something failed
    results = read_results(tmp_path)
    failed = {
        scenario: {check["id"]: check.get("errorMessage") for check in checks if check["status"] not in PASSED}
        for scenario, checks in results.items()
    }
    unexcused = {
        scenario: left
        for scenario, checks in failed.items()
        if scenario not in EXCUSED and (left := {k: v for k, v in checks.items() if k not in EXCUSED_CHECKS})
    }
    assert unexcused == {}
    assert {scenario for scenario in EXCUSED if scenario in failed and not failed[scenario]} == set(), "not needed now"
    assert len(set(results) - EXCUSED) >= passing


def test_the_authorization_server_is_described_as_it_must_be(
    suite: Environment, server: HttpServer, tmp_path: Path
) -> None:
    scenario = "authorization-server-metadata-endpoint"
    asked = ("authorization", "--url", server.url, "--scenario", scenario, "-o", str(tmp_path))
    subprocess.run(list_arguments(suite, *asked), capture_output=True, check=True, timeout=60)
    (checks,) = read_results(tmp_path).values()
    assert {check["status"] for check in checks} == {"SUCCESS"}


def test_the_suite_gets_a_token_as_a_client_does(suite: Environment, http_server: HttpServer, tmp_path: Path) -> None:
    """It listens for the answer on this machine; the page is opened and answered as its user would."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    user = User.objects.create_user("mei")
    with httpx2.Client(base_url=http_server.url) as client, make_browser(http_server.url, user) as browser:
        app = App(client)
        app.register(redirect_uris=["http://127.0.0.1/callback"]).raise_for_status()
        asked = ["--url", http_server.url, "--client-id", app.client_id, "--resource", f"{http_server.url}/mcp"]
        command = list_arguments(suite, "authorization", *asked, "-p", str(port), "-o", str(tmp_path))
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
            page = next(
                line.strip() for line in running.stdout if line.startswith(f"{http_server.url}/oauth/authorize")
            )
            fields = read_form(browser.get(page).text) | {"allow": "on"}
            sent = browser.post(page, data=fields, headers={"Referer": http_server.url})
            httpx2.get(sent.headers["location"]).raise_for_status()
            rest = running.stdout.read()
        assert running.returncode == 0, rest
    results = read_results(tmp_path)
    assert len(results) == 2
    assert {check["status"] for checks in results.values() for check in checks} == {"SUCCESS"}
