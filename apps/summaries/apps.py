from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SummariesConfig(AppConfig):
    name = "apps.summaries"
    verbose_name = _("Summaries")
