"""``make audit``: whether anything that is locked has a known vulnerability.

One that is found fails the run. A service that cannot be asked (no network, a mirror without advisories) does not: it
is said in one line. pip-audit calls packages that its service does not know "skipped" and succeeds; here they count as
not looked up.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
REQUIREMENTS = "requirements/base.txt"
TIMEOUT_SECONDS = 300

ACCEPTED: Mapping[str, str] = {}
"""Advisories that do not concern us, by ID, and why. Remove one with the version that it is about."""


@dataclass(frozen=True)
class Report:
    """What a service knew of the packages of one lock file. `looked_up` of `total` packages; `reason` why not more."""

    lock: str
    findings: tuple[str, ...] = ()
    looked_up: int = 0
    total: int = 0
    reason: str = ""

    def describe(self) -> str:
        """One line, and one more for each finding."""
        if not self.looked_up:
            return f"{self.lock}: not audited, {self.reason or 'the service of advisories gave no answer'}"
        first = f"{self.lock}: {self.looked_up} of {self.total} packages looked up"
        return "\n  ".join([f"{first}, known vulnerabilities: {len(self.findings)}", *self.findings])


def read_pip_audit(lock: str, output: str, *, accepted: Mapping[str, str] = ACCEPTED) -> Report:
    """Read ``pip-audit --format json``; what is no JSON is no answer."""
    answer = _read_json(output)
    packages = answer.get("dependencies", [])
    asked = [package for package in packages if "skip_reason" not in package]
    findings = tuple(
        f"{package['name']} {package['version']}: {found['id']}, mended in {_list(found['fix_versions'])}"
        for package in asked
        for found in package["vulns"]
        if not {found["id"], *found.get("aliases", ())} & accepted.keys()
    )
    reason = "the service knows none of its packages" if packages else ""
    return Report(lock, findings, looked_up=len(asked), total=len(packages), reason=reason)


def read_npm_audit(lock: str, output: str, *, accepted: Mapping[str, str] = ACCEPTED) -> Report:
    """Read ``npm audit --json``; an answer without a report is npm's way to tell of an error."""
    answer = _read_json(output)
    if "auditReportVersion" not in answer:
        return Report(lock, reason=str(answer.get("message", "")).partition("\n")[0])
    findings = tuple(
        f"{name}: {found['title']}, {found['url']}"
        for name, package in answer["vulnerabilities"].items()
        for found in package["via"]
        if isinstance(found, dict) and found["url"].rpartition("/")[2] not in accepted
    )
    total = answer["metadata"]["dependencies"]["total"]
    return Report(lock, findings, looked_up=total, total=total)


def decide(reports: Sequence[Report]) -> int:
    """The exit code: 1 where a vulnerability is known."""
    return int(any(report.findings for report in reports))


def _read_json(output: str) -> dict[str, Any]:
    try:
        answer = json.loads(output)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _list(versions: Sequence[str]) -> str:
    return ", ".join(versions) or "no version yet"


def _run(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            command, cwd=PROJECT, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout  # their exit codes are the same for a vulnerability and for no network


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--npm", default="npm", help="the npm to ask with")
    npm = parser.parse_args().npm
    pip_audit = [sys.executable, "-m", "pip_audit", "--require-hashes", "--disable-pip", "--progress-spinner", "off"]
    npm_audit = [npm, "audit", "--prefix", "frontend", "--package-lock-only", "--omit=dev", "--json"]
    reports = [
        read_pip_audit(REQUIREMENTS, _run([*pip_audit, "--format", "json", "--requirement", REQUIREMENTS])),
        read_npm_audit("frontend/package-lock.json", _run(npm_audit)),
    ]
    for report in reports:
        print(report.describe())
    return decide(reports)


if __name__ == "__main__":
    sys.exit(main())
