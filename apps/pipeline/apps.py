from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PipelineConfig(AppConfig):
    name = "apps.pipeline"
    verbose_name = _("Background work")
