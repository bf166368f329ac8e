"""REST of an account: its settings (G1), the export of everything remembered about it (R2), and its erasure (R3).

And the guard of what an installation tells of itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.crypto import constant_time_compare
from rest_framework import serializers
from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.selectors import get_settings, get_user
from apps.accounts.services.erasure import confirms_erasure, erase_user
from apps.accounts.services.export import answer_export
from apps.accounts.services.people import update_settings
from apps.accounts.types import PREFIX, Handling, MemorySettings, Scope, ScoreWeights, Sensitive
from apps.core.access import Access, may_read
from apps.core.db import in_database
from apps.core.errors import Forbidden, InvalidInput, NotFound
from apps.core.fields import KnownFieldsSerializer, StrictCharField, read_body
from apps.core.http import AsyncAPIView
from apps.core.operations import Component, describe

operation = partial(describe, tag="Account")


def _to_wire(values: MemorySettings) -> dict[str, Any]:
    return {f"{PREFIX}{name}": value for name, value in values.model_dump(mode="json").items()}


# The properties of the settings that are objects.
_MAPPINGS = {
    "score_weights": ScoreWeights.model_json_schema()["properties"],
    "sensitive": {
        one.value: {"type": "string", "enum": [*Handling], "default": Handling.REMEMBER.value} for one in Sensitive
    },
}


def _describe_settings(*, changes: bool) -> dict[str, object]:
    """Return the JSON schema of the object, from the registry; in changes null restores a default."""
    properties: dict[str, object] = {}
    for name, schema in MemorySettings.model_json_schema()["properties"].items():
        described = dict(schema)
        if name in _MAPPINGS:
            parts = _MAPPINGS[name]
            described = {"type": "object", "properties": parts, "additionalProperties": False} | described
            described.pop("$ref", None)
        described.pop("title", None)
        properties[f"{PREFIX}{name}"] = {"anyOf": [described, {"type": "null"}]} if changes else described
    about = "Changes to settings; null restores the default." if changes else "The settings in effect."
    required = {} if changes else {"required": sorted(properties)}
    return {"type": "object", "description": about, "properties": properties, "additionalProperties": False} | required


SETTINGS = Component("Settings", _describe_settings(changes=False), _to_wire(MemorySettings.model_validate({})))
CHANGES = Component(
    "SettingsChangeRequest",
    _describe_settings(changes=True),
    {f"{PREFIX}timezone": "Asia/Shanghai", f"{PREFIX}rag_top_n": None},
)
EXPORT = Component(
    "DataExport",
    {
        "type": "object",
        "description": "All data of a person.",
        "required": ["about", "exported_at", "user", "data"],
        "properties": {
            "about": {"type": "string"},
            "exported_at": {"type": "string", "format": "date-time"},
            "user": {"type": "object", "additionalProperties": True},
            "data": {
                "type": "object",
                "description": "The rows of each table.",
                "additionalProperties": {
                    "type": "array",
                    "items": {"type": "object", "additionalProperties": True},
                },
            },
        },
    },
)


class SettingsView(APIView):
    """Effective settings: the user's own settings override global ones, the environment and defaults."""

    @operation("get_settings", scope=Scope.READ, answers=SETTINGS)
    def get(self, request: Request) -> Response:
        """Get the settings. What is in effect: your own settings, else global ones, the environment's, and defaults."""
        return Response(_to_wire(get_settings(get_user(request))))

    @operation("update_settings", scope=Scope.ADMIN, unbound=True, body=CHANGES, answers=SETTINGS)
    def patch(self, request: Request) -> Response:
        """Change settings. Only the given ones, from the next turn on. Null restores the default."""
        if not isinstance(request.data, dict):
            raise InvalidInput("Settings must be a JSON object.")
        return Response(_to_wire(update_settings(user=get_user(request), changes=request.data)))


class ExportView(AsyncAPIView):
    """All data of the user as one JSON document."""

    @operation("export_data", scope=Scope.ADMIN, unbound=True, answers=EXPORT)
    async def get(self, request: Request) -> HttpResponseBase:
        """Export all data.

        Everything that is remembered about the person, of every kind and status, table by table, as an
        attachment. Vectors and credentials are left out.
        """
        return await in_database(answer_export, get_user(request))


class EraseRequest(KnownFieldsSerializer):
    """A confirmation."""

    example = {"confirm": "alice"}

    confirm = StrictCharField(
        trim_whitespace=False, help_text="The username or, for an end user of a service, the external ID."
    )


class ErasureReceiptSerializer(serializers.Serializer[object]):
    """What was erased."""

    deleted = serializers.DictField(child=serializers.IntegerField(), help_text="How many rows of each table.")
    verified = serializers.BooleanField(help_text="Whether a check found nothing left.")


class EraseView(APIView):
    """Permanently erase all data of the user. The account and its tokens are kept."""

    @operation("erase_data", scope=Scope.ADMIN, unbound=True, body=EraseRequest, answers=ErasureReceiptSerializer)
    def post(self, request: Request) -> Response:
        """Erase all data.

        For good, everywhere: tables, vectors, history, cache and queued work. The account and its tokens stay.
        Answers with a receipt of what was deleted, after looking for what is left.
        """
        user = get_user(request)
        body = read_body(EraseRequest, request)
        if not confirms_erasure(user, body["confirm"]):
            reason = "Must be the end user's external ID." if user.service_id else "Must be your user name."
            raise InvalidInput(f"confirm: {reason}", fields={"confirm": [reason]})
        return Response(asdict(erase_user(user=user)))


class GuardedView(APIView):
    """Answers GET with `view` where the setting named `setting` allows it.

    Otherwise in the API's error shape: 404 where it is closed, 401 without an account, 403 with one that does not do.
    `bearer_setting` names a token that does instead of an account. With `is_page`, visitors are sent to log in.
    """

    schema = None
    throttle_classes = ()
    view: ClassVar[Callable[..., HttpResponseBase] | None] = None
    setting: ClassVar[str] = ""
    bearer_setting: ClassVar[str] = ""
    is_page: ClassVar[bool] = False

    @property
    def access(self) -> Access:
        return getattr(settings, self.setting)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if self.access is Access.CLOSED:
            raise NotFound("There is nothing here.")
        super().initial(request, *args, **kwargs)

    def get_authenticators(self) -> list[Any]:
        return [] if self._needs_no_account() else super().get_authenticators()

    def check_permissions(self, request: Request) -> None:
        if self._needs_no_account() or may_read(request._request, self.access, user=request.user):
            return
        if not request.user.is_authenticated:
            raise NotAuthenticated(f"This takes an account. Who may read it is set by {self.setting}.")
        raise Forbidden(f"This is for staff. Who may read it is set by {self.setting}.")

    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        assert self.view is not None, "as_view is given a view"
        response = self.view(request._request, *args, **kwargs)
        # Of the inner view's own kind (HTML, say) and not of this one's, which is JSON.
        return response.render() if isinstance(response, Response) else response

    def handle_exception(self, exc: Exception) -> Response:
        if self.is_page and isinstance(exc, NotAuthenticated) and "text/html" in self.request.headers.get("Accept", ""):
            return redirect_to_login(self.request.get_full_path())  # type: ignore[return-value]  # DRF takes any response
        return super().handle_exception(exc)

    def _needs_no_account(self) -> bool:
        # Before the accounts' credentials are looked at: a scraper's token is none of theirs, and needs no database.
        request: HttpRequest | Request = self.request
        asked = request._request if isinstance(request, Request) else request
        return may_read(asked, self.access, user=None) or self._has_token(asked)

    def _has_token(self, request: HttpRequest) -> bool:
        expected = getattr(settings, self.bearer_setting) if self.bearer_setting else ""
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        return bool(expected) and scheme.lower() == "bearer" and constant_time_compare(given.strip(), expected)
