"""Every text of the page, the models and the admin has a Chinese translation that can be put in its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from babel.messages.extract import extract
from babel.messages.pofile import read_po
from django.conf import settings
from django.utils.translation.template import templatize

PYTHON = {"_": None, "gettext": None, "gettext_lazy": None, "ngettext": (1, 2), "ngettext_lazy": (1, 2)}
PYTHON |= {"pgettext": ((1, "c"), 2), "pgettext_lazy": ((1, "c"), 2)}
ROOT = Path(settings.BASE_DIR)


def read_texts(domain: str) -> Iterator[tuple[str, str]]:
    """Yield ``(text, where)`` of each translatable text that the sources of this catalogue hold."""
    if domain == "djangojs":
        sources = [("javascript", path, path.read_bytes()) for path in sorted((ROOT / "static").rglob("*.js"))]
    else:
        python = [path for folder in ("apps", "project") for path in sorted((ROOT / folder).rglob("*.py"))]
        # Taking all modules apart takes seconds; most of them never mention gettext.
        sources = [("python", path, text) for path in python if b"gettext" in (text := path.read_bytes())]
        for path in sorted((ROOT / "templates").rglob("*.html")):
            calls = re.findall(r"\b(?:n|p)?gettext\(.*?\) ", templatize(path.read_text(), origin=str(path)) + " ")
            sources.append(("python", path, "\n".join(calls).encode()))
    for method, path, source in sources:
        options: Any = {"encoding": "utf-8"}
        for _line, message, _comments, _context in extract(method, BytesIO(source), keywords=PYTHON, options=options):
            texts = message if isinstance(message, tuple) else (message,)
            yield next(text for text in texts if text), path.relative_to(ROOT).as_posix()


def read_catalog(domain: str) -> dict[str, str]:
    """Return the translations by text, by the singular where there is a plural; fuzzy ones do not count."""
    with (ROOT / "locale/zh_Hans/LC_MESSAGES" / f"{domain}.po").open("rb") as file:
        catalog = read_po(file, locale="zh_Hans")
    texts = {}
    for message in catalog:
        if message.id and not message.fuzzy:
            singular = message.id if isinstance(message.id, str) else message.id[0]
            texts[singular] = message.string if isinstance(message.string, str) else message.string[0]
    return texts


@pytest.mark.parametrize(("domain", "least"), [("django", 120), ("djangojs", 120)])
def test_every_text_is_translated(domain: str, least: int) -> None:
    catalog = read_catalog(domain)
    texts = dict(read_texts(domain))
    assert len(texts) >= least, "the texts were not found"
    assert {text: where for text, where in texts.items() if not catalog.get(text)} == {}


@pytest.mark.parametrize("domain", ["django", "djangojs"])
def test_translations_have_the_placeholders_of_their_texts(domain: str) -> None:
    placeholder = re.compile(r"%\(\w+\)s|%s|\{\w*\}")
    different = {
        text: translation
        for text, translation in read_catalog(domain).items()
        if sorted(placeholder.findall(text)) != sorted(placeholder.findall(translation))
    }
    assert different == {}
