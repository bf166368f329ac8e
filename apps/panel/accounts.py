from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from apps.accounts.models import ApiToken, Setting, User
from apps.panel.owned import ReadOnlyAdmin, StaffAdmin

admin.site.unregister(Group)


@admin.register(User)
class UserAdmin(DjangoUserAdmin, StaffAdmin):  # type: ignore[type-arg]  # not subscriptable when it runs
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "email", "is_staff", "is_active", "service", "external_id", "last_login")
    readonly_fields = ("service", "external_id", "data_epoch")


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    """Tokens can be seen and revoked here; they are made by `manage.py create_token`, which can show them."""

    list_display = ("name", "user", "token_key", "created", "expiry")
    list_select_related = ("user",)
    search_fields = ("name", "user__username")
    fields = readonly_fields = ("name", "user", "token_key", "created", "expiry")


@admin.register(Setting)
class SettingAdmin(StaffAdmin):
    list_display = ("key", "value", "user", "updated_at")
    list_select_related = ("user",)
    list_filter = ("key",)
    autocomplete_fields = ("user",)
