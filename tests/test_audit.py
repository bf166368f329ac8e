"""What `make audit` makes of the answers of pip-audit and npm: in their documented formats, and as they came here."""

from __future__ import annotations

import json

from tests.support.audit import Report, decide, read_npm_audit, read_pip_audit

SAFE = {"name": "django", "version": "5.2.19", "vulns": []}
UNSAFE = {
    "name": "flask",
    "version": "0.5",
    "vulns": [
        {"id": "PYSEC-2019-179", "fix_versions": ["1.0"], "aliases": ["CVE-2019-1010083"], "description": "…"},
        {"id": "PYSEC-2018-66", "fix_versions": [], "aliases": [], "description": "…"},
    ],
}
SKIPPED = {"name": "amqp", "skip_reason": "Dependency not found on PyPI and could not be audited: amqp (5.4.2)"}


def audit_python(*packages: object, **accepted: str) -> Report:
    output = json.dumps({"dependencies": packages, "fixes": []})
    return read_pip_audit("base.txt", output, accepted={name.replace("_", "-"): why for name, why in accepted.items()})


def audit_npm(answer: object, **accepted: str) -> Report:
    return read_npm_audit("package-lock.json", json.dumps(answer), accepted=accepted)


def test_a_known_vulnerability_fails_the_run() -> None:
    report = audit_python(SAFE, UNSAFE)
    assert decide([report]) == 1
    assert report.describe().splitlines() == [
        "base.txt: 2 of 2 packages looked up, known vulnerabilities: 2",
        "  flask 0.5: PYSEC-2019-179, mended in 1.0",
        "  flask 0.5: PYSEC-2018-66, mended in no version yet",
    ]


def test_one_that_was_accepted_for_a_reason_does_not_by_either_of_its_names() -> None:
    report = audit_python(UNSAFE, CVE_2019_1010083="we serve no JSON with it", PYSEC_2018_66="not on Linux")
    assert (report.findings, decide([report])) == ((), 0)


def test_nothing_known() -> None:
    report = audit_python(SAFE, SAFE)
    assert (decide([report]), report.describe()) == (0, "base.txt: 2 of 2 packages looked up, known vulnerabilities: 0")


def test_packages_that_the_service_does_not_know_are_not_called_safe() -> None:
    assert "not audited" in audit_python(SKIPPED, SKIPPED).describe()
    some = audit_python(SAFE, SKIPPED)
    assert some.describe() == "base.txt: 1 of 2 packages looked up, known vulnerabilities: 0"
    assert decide([some, audit_python(SKIPPED, UNSAFE)]) == 1


def test_no_answer_is_one_line_and_no_failure() -> None:
    refused = {"message": "405 Method Not Allowed - POST https://example.org/bulk", "error": {"summary": ""}}
    for report in (read_pip_audit("base.txt", ""), read_npm_audit("lock", "not JSON"), audit_npm(refused)):
        assert decide([report]) == 0
        assert len(report.describe().splitlines()) == 1
        assert "not audited" in report.describe()
    assert "405 Method Not Allowed" in audit_npm(refused).describe()


def test_npm() -> None:
    advisory = {"title": "Prototype Pollution", "url": "https://github.com/advisories/GHSA-jf85-cpcp-j695"}
    answer = {
        "auditReportVersion": 2,
        "vulnerabilities": {"lodash": {"via": [advisory]}, "above": {"via": ["lodash"]}},
        "metadata": {"dependencies": {"total": 9}},
    }
    report = audit_npm(answer)
    assert decide([report]) == 1
    assert report.findings == ("lodash: Prototype Pollution, https://github.com/advisories/GHSA-jf85-cpcp-j695",)
    assert decide([audit_npm(answer, **{"GHSA-jf85-cpcp-j695": "not called"})]) == 0
    assert decide([audit_npm({**answer, "vulnerabilities": {}})]) == 0
