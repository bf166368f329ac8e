"""What pages of the admin site have in common."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from unfold.admin import ModelAdmin


class ReadOnlyAdmin(ModelAdmin):
    """Can be looked at, and deleted where that makes sense."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class PartAdmin(ReadOnlyAdmin):
    """Can be looked at, and goes only with what it is part of: the pages of that may delete it, its own may not."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        page = getattr(request.resolver_match, "url_name", None) or ""
        own = page.startswith(f"{self.opts.app_label}_{self.opts.model_name}_")
        return not own and super().has_delete_permission(request, obj)
