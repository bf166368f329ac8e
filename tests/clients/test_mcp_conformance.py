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

TOOLS = "calls a tool of the example server"
RESOURCES = "reads a resource of the example server"
PROMPTS = "gets a prompt of the example server"
NO_SESSIONS = "there are no sessions and no streams: every request is answered by itself"
COMPLETION = "completions are not offered"
SUBSCRIPTION = "subscriptions are not offered: nothing here changes without its owner"
TASKS = "tasks, an extension, are not offered: nothing here takes long"

EXCUSED = {
    "completion-complete": COMPLETION,
    "elicitation-sep1034-defaults": TOOLS,
    "elicitation-sep1330-enums": TOOLS,
    "http-custom-header-server-validation": TOOLS,
    "input-required-result-basic-elicitation": TOOLS,
    "input-required-result-basic-list-roots": TOOLS,
    "input-required-result-basic-sampling": TOOLS,
    "input-required-result-capability-check": TOOLS,
    "input-required-result-ignore-extra-params": TOOLS,
    "input-required-result-missing-input-response": TOOLS,
    "input-required-result-multi-round": TOOLS,
    "input-required-result-multiple-input-requests": TOOLS,
    "input-required-result-non-tool-request": PROMPTS,
    "input-required-result-request-state": TOOLS,
    "input-required-result-result-type": TOOLS,
    "input-required-result-tampered-state": TOOLS,
    "json-schema-2020-12": TOOLS,
    "logging-set-level": "logging is deprecated since 2026-07-28 and not offered",
    "prompts-get-embedded-resource": PROMPTS,
    "prompts-get-simple": PROMPTS,
    "prompts-get-with-args": PROMPTS,
    "prompts-get-with-image": PROMPTS,
    "resources-read-binary": RESOURCES,
    "resources-read-text": RESOURCES,
    "resources-subscribe": SUBSCRIPTION,
    "resources-templates-read": RESOURCES,
    "resources-unsubscribe": SUBSCRIPTION,
    "server-sse-polling": NO_SESSIONS,
    "tasks-capability-negotiation": TASKS,
    "tasks-dispatch-and-envelope": TASKS,
    "tasks-lifecycle": TASKS,
    "tasks-mrtr-composition": TASKS,
    "tasks-mrtr-input": TASKS,
    "tasks-request-headers": TASKS,
    "tasks-request-state-removal": TASKS,
    "tasks-required-task-error": TASKS,
    "tasks-status-notifications": TASKS,
    "tasks-wire-fields": TASKS,
    "tools-call-audio": TOOLS,
    "tools-call-elicitation": TOOLS,
    "tools-call-embedded-resource": TOOLS,
    "tools-call-error": TOOLS,
    "tools-call-image": TOOLS,
    "tools-call-mixed-content": TOOLS,
    "tools-call-sampling": TOOLS,
    "tools-call-simple-text": TOOLS,
    "tools-call-with-logging": "logging is deprecated since 2026-07-28 and not offered",
    "tools-call-with-progress": TOOLS,
}
"""Scenarios that do not pass as a whole."""

EXCUSED_CHECKS = {
    "sep-2575-http-server-no-independent-requests-on-stream": TOOLS,
    "sep-2575-missing-capability-http-400": TOOLS,
    "sep-2575-server-honors-notification-filter": SUBSCRIPTION,
    "sep-2575-server-no-log-without-loglevel": TOOLS,
    "sep-2575-server-rejects-undeclared-capability": TOOLS,
    "sep-2575-server-sends-prompts-list-changed-on-subscription": SUBSCRIPTION,
    "sep-2575-server-sends-subscription-ack": SUBSCRIPTION,
    "sep-2575-server-sends-tools-list-changed-on-subscription": SUBSCRIPTION,
    "sep-2575-server-tags-subscription-id": SUBSCRIPTION,
    "server-sse-multiple-streams-session": NO_SESSIONS,
}
"""Checks of scenarios whose others pass."""


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
    assert len(set(results) - set(EXCUSED)) >= passing


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
            assert running.stdout is not None
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
