from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class DoorsConfig(AppConfig):
    name = "apps.doors"
    verbose_name = _("Integrations")
