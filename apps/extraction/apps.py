from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ExtractionConfig(AppConfig):
    name = "apps.extraction"
    verbose_name = _("Background work")
