from __future__ import annotations

from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps
from django.utils.translation import gettext_lazy as _


class PanelConfig(AppConfig):
    name = "apps.panel"
    label = "panel"
    verbose_name = _("memory panel")
    default = True


class PanelSiteConfig(admin_apps.AdminConfig):
    """Django's admin with the panel as its site."""

    default_site = "apps.panel.site.PanelSite"
    default = False
