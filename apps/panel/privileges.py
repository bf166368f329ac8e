"""Who may act as whom: with another's password or token one has all that they may."""

from __future__ import annotations

from django.contrib.auth.models import Permission
from django.db.models import Q
from django.http import HttpRequest

from apps.accounts.models import User


def may_erase(request: HttpRequest, user: User) -> bool:
    """Whether who asks may erase and export everything of `user`: their own, their service's, or with a permission."""
    if request.user.pk in (user.pk, user.service_id):
        return True
    # The permission to delete the account: what is left of one that was erased is its name.
    allowed = request.user.is_active and request.user.has_perm("accounts.delete_user")
    return allowed and getattr(request.user, "is_staff", False) and not has_more_power(user, request)


def has_more_power(user: User, request: HttpRequest) -> bool:
    """Whether somebody may more than who asks, counting what a deactivated account could again."""
    if getattr(request.user, "is_superuser", False) or user.pk == request.user.pk:
        return False
    if user.is_superuser:
        return True
    if not user.is_staff:
        return False
    granted = Permission.objects.filter(Q(user=user) | Q(group__user=user)).select_related("content_type")
    own = request.user.get_all_permissions()
    return any(f"{one.content_type.app_label}.{one.codename}" not in own for one in granted)
