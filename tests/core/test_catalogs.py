import gettext
from pathlib import Path

import pytest
from babel.messages.pofile import PoFileError

from apps.core.management.commands.compilemessages import compile_catalogs

PO = """
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\nPlural-Forms: nplurals=1; plural=0;\\n"

msgid "Memory"
msgstr "记忆"

#, fuzzy
msgid "Guessed"
msgstr "猜的"
"""


def write_catalog(folder: Path, text: str = PO) -> Path:
    source = folder / "zh_Hans" / "LC_MESSAGES" / "django.po"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(text)
    return source


def test_a_catalogue_is_compiled_and_guesses_are_left_out(tmp_path: Path) -> None:
    source = write_catalog(tmp_path)
    assert compile_catalogs([tmp_path]) == [source.with_suffix(".mo")]
    with source.with_suffix(".mo").open("rb") as file:
        translations = gettext.GNUTranslations(file)
    assert translations.gettext("Memory") == "记忆"
    assert translations.gettext("Guessed") == "Guessed"


def test_a_broken_catalogue_is_an_error_and_nothing_is_written(tmp_path: Path) -> None:
    source = write_catalog(tmp_path, 'msgid "a"\nmsgstr "b"\nno keyword\n')
    with pytest.raises(PoFileError):
        compile_catalogs([tmp_path])
    assert not source.with_suffix(".mo").exists()
