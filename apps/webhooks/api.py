"""REST of webhooks: /webhooks, a person's own. Those of everybody are made by staff in the panel."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from django.utils import timezone
from rest_framework import generics, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.selectors import get_user
from apps.accounts.spaces import NO_SPACE
from apps.accounts.types import Scope
from apps.core.errors import Conflict
from apps.core.fields import (
    KnownFieldsSerializer,
    ShortListField,
    StrictBooleanField,
    StrictCharField,
    StrictUUIDField,
    read_body,
)
from apps.core.http import read_uuid
from apps.core.operations import Problem, describe
from apps.webhooks.models import Delivery, Event, Webhook, check_url
from apps.webhooks.sending import read_secret
from apps.webhooks.services import (
    create_webhook,
    delete_webhook,
    get_webhook,
    list_deliveries,
    list_webhooks,
    rotate_secret,
    send_test,
    update_webhook,
)

# All that a person has: a hook without a space gets the events of every space.
operation = partial(describe, tag="Webhooks", unbound=True)
WEBHOOK_ID = "b3a7c1d2-4e5f-4a6b-8c9d-0e1f2a3b4c5d"
OFF = Problem(Conflict, "Webhooks are off on this installation")
TOO_MANY = Problem(Conflict, "There are 20 webhooks already")
RESULT = (
    "The status of the answer, such as `204`, or why there was none: `private` (an address that this installation does "
    "not allow), `TimeoutError`, `ConnectError`, `gaierror` (no such host) or another error; empty at first."
)


class WebhookSerializer(serializers.ModelSerializer[Webhook]):
    """An address to which signed events are sent."""

    example: ClassVar[Any] = {
        "id": WEBHOOK_ID,
        "url": "https://assistant.example/hooks/jiyi",
        "events": ["memory.changed", "review.waiting"],
        "space": None,
        "enabled": True,
        "failing_since": None,
        "last_result": "204",
        "created_at": "2026-11-20T08:30:00Z",
    }

    space = serializers.UUIDField(
        source="space_id",
        allow_null=True,
        read_only=True,
        help_text="Only events of what is in the space of this ID.",
    )

    class Meta:
        model = Webhook
        fields = read_only_fields = (
            "id",
            "url",
            "events",
            "space",
            "enabled",
            "failing_since",
            "last_result",
            "created_at",
        )
        extra_kwargs = {
            "enabled": {"help_text": "Whether events are sent. It is disabled when nothing arrived for five days."},
            "failing_since": {"help_text": "Since when nothing arrives; null while the last event arrived."},
            "last_result": {"help_text": RESULT},
        }


class WebhookWithSecretSerializer(WebhookSerializer):
    """A webhook with its secret, which is shown this once."""

    example: ClassVar[Any] = {
        **WebhookSerializer.example,
        "last_result": "",
        "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    }

    secret = serializers.SerializerMethodField(
        help_text="The key of the signatures, as Standard Webhooks has it: `whsec_` and base64."
    )

    class Meta:
        model = Webhook
        fields = read_only_fields = (*WebhookSerializer.Meta.fields, "secret")
        extra_kwargs = WebhookSerializer.Meta.extra_kwargs

    def get_secret(self, webhook: Webhook) -> str:
        return read_secret(webhook)


class WebhookRequest(KnownFieldsSerializer):
    """A new webhook."""

    example = WebhookSerializer.example

    url = StrictCharField(
        max_length=500, validators=[check_url], help_text="An address that begins with `http://` or `https://`."
    )
    events = ShortListField(
        child=serializers.ChoiceField(choices=Event.choices), allow_empty=False, max_length=len(Event.choices)
    )
    space = StrictUUIDField(
        required=False, allow_null=True, help_text="Only events of what is in the space of this ID; null: all."
    )
    enabled = StrictBooleanField(required=False)

    def validate_events(self, given: list[str]) -> list[str]:
        return list(dict.fromkeys(given))


class WebhookChangeRequest(WebhookRequest):
    """What to change of a webhook."""


class DeliverySerializer(serializers.ModelSerializer[Delivery]):
    """An event for a webhook, and how its delivery went."""

    example: ClassVar[Any] = {
        "id": "f0e1d2c3-b4a5-4968-8776-5a4b3c2d1e0f",
        "event": "memory.changed",
        "attempts": 1,
        "result": "204",
        "due_at": None,
        "delivered_at": "2026-11-20T08:30:01Z",
        "created_at": "2026-11-20T08:30:00Z",
    }

    class Meta:
        model = Delivery
        fields = read_only_fields = ("id", "event", "attempts", "result", "due_at", "delivered_at", "created_at")
        extra_kwargs = {
            "id": {"help_text": "The header `webhook-id` of every attempt."},
            "event": {"help_text": "One of those that a webhook can have, or `webhook.test`."},
            "result": {"help_text": RESULT},
            "due_at": {"help_text": "When it is sent next; null once it arrived or was given up."},
            "delivered_at": {"help_text": "When it arrived."},
        }


class WebhooksView(generics.ListAPIView[Webhook]):
    """A person's webhooks, and making one."""

    serializer_class = WebhookSerializer
    queryset = Webhook.objects.none()  # for the schema; requests see their user's own

    def get_queryset(self) -> Any:
        return list_webhooks(get_user(self.request))

    @operation("list_webhooks", scope=Scope.READ)
    def get(self, request: Request) -> Response:
        """List webhooks. Your own, in the order in which they were made."""
        return self.list(request)

    @operation(
        "create_webhook",
        scope=Scope.ADMIN,
        body=WebhookRequest,
        status=201,
        answers=WebhookWithSecretSerializer,
        problems=[NO_SPACE, OFF, TOO_MANY],
    )
    def post(self, request: Request) -> Response:
        """Add a webhook. The secret is in this answer alone: keep it.

        It takes `admin`, as events go on when the token is revoked. A webhook of a service receives the events of its
        end users, too.
        """
        body = read_body(WebhookRequest, request)
        webhook = create_webhook(user=get_user(request), now=timezone.now(), **body)
        return Response(WebhookWithSecretSerializer(webhook).data, status=status.HTTP_201_CREATED)


class WebhookView(APIView):
    """One webhook."""

    serializer_class = WebhookSerializer

    @operation("get_webhook", scope=Scope.READ)
    def get(self, request: Request, webhook_id: str) -> Response:
        """Get a webhook."""
        return Response(WebhookSerializer(get_webhook(get_user(request), read_uuid(webhook_id))).data)

    @operation("update_webhook", scope=Scope.ADMIN, body=WebhookChangeRequest(partial=True), problems=[NO_SPACE])
    def patch(self, request: Request, webhook_id: str) -> Response:
        """Change a webhook. What is not named stays. How it failed before is forgotten."""
        webhook = get_webhook(get_user(request), read_uuid(webhook_id))
        changes = read_body(WebhookChangeRequest, request, partial=True)
        return Response(WebhookSerializer(update_webhook(webhook, changes=changes)).data)

    @operation("delete_webhook", scope=Scope.ADMIN)
    def delete(self, request: Request, webhook_id: str) -> Response:
        """Delete a webhook. With what waits to be sent to it."""
        delete_webhook(get_webhook(get_user(request), read_uuid(webhook_id)))
        return Response({"deleted": 1})


class RotateSecretView(APIView):
    """Another secret."""

    @operation("rotate_webhook_secret", scope=Scope.ADMIN, answers=WebhookWithSecretSerializer)
    def post(self, request: Request, webhook_id: str) -> Response:
        """Rotate a webhook's secret. The new one, in this answer alone, signs all that is sent from now on."""
        webhook = get_webhook(get_user(request), read_uuid(webhook_id))
        rotate_secret(webhook)
        return Response(WebhookWithSecretSerializer(webhook).data)


class TestView(APIView):
    """A test event."""

    @operation("send_test_event", scope=Scope.ADMIN, answers=DeliverySerializer, problems=[OFF])
    def post(self, request: Request, webhook_id: str) -> Response:
        """Send a test event. At once, also to one that is disabled; the answer says whether it arrived, and why not."""
        webhook = get_webhook(get_user(request), read_uuid(webhook_id))
        return Response(DeliverySerializer(send_test(webhook, now=timezone.now())).data)


class DeliveriesView(generics.ListAPIView[Delivery]):
    """What was sent to a webhook."""

    serializer_class = DeliverySerializer
    queryset = Delivery.objects.none()  # for the schema; requests see those of one webhook

    def get_queryset(self) -> Any:
        return list_deliveries(get_webhook(get_user(self.request), read_uuid(self.kwargs["webhook_id"])))

    @operation("list_webhook_deliveries", scope=Scope.READ)
    def get(self, request: Request, webhook_id: str) -> Response:
        """List deliveries of a webhook. Of a week, newest first. What they carried is not kept."""
        return self.list(request)
