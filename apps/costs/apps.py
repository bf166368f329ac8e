from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CostsConfig(AppConfig):
    name = "apps.costs"
    verbose_name = _("Cost")

    def ready(self) -> None:
        from prometheus_client import REGISTRY

        from apps.costs.budgets import CostCollector

        REGISTRY.register(CostCollector())
