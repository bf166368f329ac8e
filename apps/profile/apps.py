from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ProfileConfig(AppConfig):
    name = "apps.profile"
    verbose_name = _("Profile")

    def ready(self) -> None:
        from apps.memory.models import Change
        from apps.memory.services import register_copy_holder, register_kind, register_statement_holder
        from apps.profile import commands, copies
        from apps.profile.undo import KIND, PROPOSALS

        register_kind(Change.Kind.PROFILE, KIND)
        register_kind(Change.Kind.PROPOSAL, PROPOSALS)
        register_copy_holder("profile", copies.HOLDER)
        register_statement_holder(Change.Kind.PROFILE, commands.HOLDER)
