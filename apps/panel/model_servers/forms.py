"""What is entered to connect a model server, and what of it is wrong."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import urlsplit

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from apps.connections.models import ModelKind, ModelServer
from apps.connections.types import MAX_MODEL_CHARS, MAX_MODELS, MAX_SERVER_CHARS, MAX_URL_CHARS


class ServerForm(forms.Form):
    """A server and what to use of it. ``server``: the connected one that is changed, None for a new one.

    ``more``: chat models by name, one a line, for a server that does not list them.
    """

    name = forms.CharField(label=_("Name"), max_length=MAX_SERVER_CHARS)
    base_url = forms.CharField(label=_("URL"), max_length=MAX_URL_CHARS)
    api_key = forms.CharField(label=_("API key"), required=False, max_length=1_000)
    remove_key = forms.BooleanField(label=_("Remove the stored key"), required=False)
    chat = forms.CharField(required=False)
    more = forms.CharField(label=_("Other chat models"), required=False)
    embedding = forms.CharField(required=False, max_length=MAX_MODEL_CHARS)

    def __init__(self, *args: Any, server: ModelServer | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.server = server

    def clean_base_url(self) -> str:
        """Return the URL; one without a path gets the ``/v1`` that all these servers have."""
        url: str = self.cleaned_data["base_url"].rstrip("/")
        try:
            parts = urlsplit(url)
            is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_address = False
        if not is_address or any(character.isspace() for character in url):
            raise forms.ValidationError(_("Must be an address that begins with http:// or https://."))
        if parts.username or parts.password or parts.query or parts.fragment:
            raise forms.ValidationError(_("Leave user name, password and query out. The key has a field of its own."))
        return url if parts.path else f"{url}/v1"

    def clean_api_key(self) -> str:
        key: str = self.cleaned_data["api_key"]
        if not key.isascii() or not key.isprintable():
            raise forms.ValidationError(_("An API key has only ASCII letters, digits and signs."))
        return key

    def clean_chat(self) -> list[str]:
        """The ticked names; the field holds one or several."""
        names = cast(QueryDict, self.data).getlist("chat")
        return [name.strip() for name in names if name.strip()]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        more = cleaned.get("more", "").replace(",", "\n").split("\n")
        names = [*cleaned.get("chat", []), *(line.strip() for line in more)]
        cleaned["chat"] = list(dict.fromkeys(filter(None, names)))
        if any(len(name) > MAX_MODEL_CHARS for name in cleaned["chat"]):
            self.add_error("more", _("The name of a model is too long."))
        if len(cleaned["chat"]) >= MAX_MODELS:
            self.add_error("more", _("That is too many models."))
        # A key that is never shown must not be sent to whatever address somebody enters.
        keeps = self.server is not None and self.server.encrypted_key and self.new_key is None
        url = cleaned.get("base_url")
        if self.server is not None and keeps and url and _origin(url) != _origin(self.server.base_url):
            self.add_error("api_key", _("Enter the key again, because the server is another one now."))
        return cleaned

    @property
    def new_key(self) -> str | None:
        """The key to store; None leaves the stored one as it is."""
        if self.cleaned_data["remove_key"]:
            return ""
        return self.cleaned_data.get("api_key") or None


def fill_form(server: ModelServer) -> dict[str, Any]:
    """What the form holds of a connected server; never its key."""
    models = list(server.models.all())
    return {
        "name": server.name,
        "base_url": server.base_url,
        "chat": [row.model for row in models if row.kind == ModelKind.CHAT],
        "embedding": next((row.model for row in models if row.kind == ModelKind.EMBEDDING), ""),
    }


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc
