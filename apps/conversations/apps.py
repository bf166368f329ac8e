from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ConversationsConfig(AppConfig):
    name = "apps.conversations"
    verbose_name = _("Conversations")

    def ready(self) -> None:
        from prometheus_client import REGISTRY

        from apps.conversations.worker import BacklogCollector

        REGISTRY.register(BacklogCollector())
