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
    gettext_noop("Another active memory already uses this key."),
    gettext_noop("Another active memory already says this."),
    gettext_noop("The value has over 32,000 characters of JSON."),
    gettext_noop("The content has over 32,000 characters."),
    gettext_noop("This memory does not exist."),
    gettext_noop("This list was changed in the meantime."),
    gettext_noop("This change does not exist."),
    gettext_noop("This was changed again later. Undo the later change first."),
    gettext_noop("Deletions cannot be undone."),
    gettext_noop("The changed item has since been deleted."),
    gettext_noop("This change was already undone."),
    gettext_noop("The shared context no longer has room for what would come back."),
    gettext_noop("Another active memory now uses this key."),
    gettext_noop("Another active memory now says this."),
    gettext_noop("The memory that replaced this one has since been deleted."),
    gettext_noop("Must be a number of requests and a period, such as 60/min (sec, min, hour or day)."),
    gettext_noop("Must have 32 to 1,000 bytes."),
    gettext_noop("An end user of a service cannot be a service."),
    gettext_noop("You cannot deactivate or delete your own account."),
    gettext_noop("Another server has this name."),
    gettext_noop("Choose at least one model."),
    gettext_noop("Stored embeddings are of a model of this server. Choose another embedding model first."),
    gettext_noop("The old embeddings are still being deleted. Try again in a few minutes."),
    gettext_noop("The last superuser cannot be deactivated or deleted."),
)


def translate_reason(reason: str) -> str:
    """Return what a service says in the language of the page; as it stands where there is no translation."""
    return gettext(reason) if reason else reason
