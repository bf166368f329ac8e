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
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
REQUIREMENTS, PACKAGES = "requirements/base.txt", "frontend/package-lock.json"
TIMEOUT_SECONDS = 300

# Advisories that do not concern us, by ID, and why. Remove one with the version that it is about.
ACCEPTED: Mapping[str, str] = {}


def audit_python() -> tuple[list[str], int]:
    """Ask pip-audit; return what was found and how many packages were looked up."""
    command = [sys.executable, "-m", "pip_audit", "--require-hashes", "--disable-pip", "--progress-spinner", "off"]
    packages = _ask([*command, "--format", "json", "--requirement", REQUIREMENTS]).get("dependencies", [])
    asked = [package for package in packages if "skip_reason" not in package]
    findings = [
        f"{package['name']} {package['version']}: {found['id']}, mended in {', '.join(found['fix_versions']) or 'none'}"
        for package in asked
        for found in package["vulns"]
        if not {found["id"], *found.get("aliases", ())} & ACCEPTED.keys()
    ]
    return findings, len(asked)


def audit_npm(npm: str) -> tuple[list[str], int]:
    """Ask npm; an answer without a report is its way to tell of an error."""
    answer = _ask([npm, "audit", "--prefix", "frontend", "--package-lock-only", "--omit=dev", "--json"])
    if "auditReportVersion" not in answer:
        return [], 0
    findings = [
        f"{name}: {found['title']}, {found['url']}"
        for name, package in answer["vulnerabilities"].items()
        for found in package["via"]
        if isinstance(found, dict) and found["url"].rpartition("/")[2] not in ACCEPTED
    ]
    return findings, answer["metadata"]["dependencies"]["total"]


def _ask(command: Sequence[str]) -> dict[str, Any]:
    """Return a program's answer, {} for none; the exit codes are the same for a vulnerability and for no network."""
    try:
        done = subprocess.run(
            command, cwd=PROJECT, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS
        )
        answer = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return {}
    return answer if isinstance(answer, dict) else {}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--npm", default="npm", help="the npm to ask with")
    reports = {REQUIREMENTS: audit_python(), PACKAGES: audit_npm(parser.parse_args().npm)}
    for lock, (findings, looked_up) in reports.items():
        known = f"{looked_up} packages looked up, known vulnerabilities: {len(findings)}"
        print("\n  ".join([f"{lock}: {known if looked_up else 'not audited, no answer'}", *findings]))
    return int(any(findings for findings, _looked_up in reports.values()))


if __name__ == "__main__":
    sys.exit(main())
