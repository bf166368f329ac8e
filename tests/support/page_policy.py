"""What must hold of every page: its policy is sent along, and nothing in it needs more than the policy allows."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

# What Alpine's build for a strict policy cannot read in an expression: it would fail when it is first needed.
UNREADABLE = re.compile(r"=>|`|;\s*\S|\bif\s*\(|\b(?:localStorage|document|typeof|new)\b|\.\.\.|\?\?|\?\.")

_DATA = ("application/json", "application/ld+json")


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("script", "style") and not (given.get("src") or given.get("type") in _DATA):
            self.wrong.append(f"an inline {tag}")
        for name, value in attrs:
            if name.startswith("on"):
                self.wrong.append(f"a handler: {name}")
            elif name.startswith("hx-on") or (name.startswith("hx-") and re.match(r"\s*js(?:cript)?:", value or "")):
                self.wrong.append(f"a script for htmx: {name}={value}")
            elif name == "hx-trigger" and "[" in (value or ""):
                self.wrong.append(f"a condition for htmx: {value}")
            elif name.startswith(("x-", "@", ":")) and UNREADABLE.search(value or ""):
                self.wrong.append(f"an expression for Alpine: {name}={value}")
            elif name in ("href", "src", "action", "formaction") and re.match(r"\s*javascript:", value or "", re.I):
                self.wrong.append(f"a script as an address: {value}")


def read_policy(response: Any) -> dict[str, list[str]]:
    """The directives of the response's Content-Security-Policy."""
    directives = (part.split() for part in response["Content-Security-Policy"].split(";"))
    return {name: sources for name, *sources in directives}


def list_faults(response: Any) -> list[str]:
    """What is wrong with the policy of a response, and with its page if it is one."""
    policy = read_policy(response)
    if policy.get("default-src") != ["'none'"] or policy.get("frame-ancestors") != ["'none'"]:
        return [f"the policy {policy}"]
    if not response["Content-Type"].startswith("text/html"):
        return [] if set(policy) == {"default-src", "frame-ancestors"} else [f"the policy {policy}"]
    expected = {"script-src": ["'self'"], "style-src": ["'self'"], "object-src": ["'none'"], "base-uri": ["'none'"]}
    wrong = [f"{name} {policy.get(name)}" for name, sources in expected.items() if policy.get(name) != sources]
    page = _Page()
    page.feed(response.content.decode())
    return wrong + page.wrong
