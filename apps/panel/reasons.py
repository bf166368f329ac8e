"""What services say when they refuse, in the language of the page."""

from __future__ import annotations

from django.utils.translation import gettext, gettext_noop

_REASONS = (
    gettext_noop("Must not be blank."),
    gettext_noop("Must not be null or blank."),
    gettext_noop("Must be a number from 0 to 1."),
    gettext_noop("Must have at most 200 characters."),
    gettext_noop("Must be text that is not blank."),
    gettext_noop("Must be a list of at most 50 tags."),
    gettext_noop("Each tag must be text of 1 to 50 characters."),
    gettext_noop("Another active memory has this key."),
    gettext_noop("Another active memory says this."),
    gettext_noop("The value has over 32,000 characters of JSON."),
    gettext_noop("The content has over 32,000 characters."),
    gettext_noop("There is no such memory."),
    gettext_noop("There is no such change."),
    gettext_noop("This has changed since: undo the later change first."),
    gettext_noop("A deletion is final."),
    gettext_noop("What was changed has been deleted since."),
    gettext_noop("This was undone already."),
    gettext_noop("Another active memory has this key by now."),
    gettext_noop("Another active memory says this by now."),
    gettext_noop("What took the place of this memory has been deleted since."),
)


def translate_reason(reason: str) -> str:
    """Return what a service says in the language of the page; as it stands where there is no translation."""
    return gettext(reason) if reason else reason
