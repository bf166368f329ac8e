from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ProfileConfig(AppConfig):
    name = "apps.profile"
    verbose_name = _("Profile")

    def ready(self) -> None:
        from apps.accounts.services.personal_data import PersonalTable, register_tables
        from apps.memory.changes.records import register_kind
        from apps.memory.commands import register_statement_holder
        from apps.memory.deletion import register_copy_holder
        from apps.memory.models import Change
        from apps.profile.history import COPIES, KIND, PROPOSALS, STATEMENTS
        from apps.profile.models import ProfileProposal, ProfileVersion, UserProfile

        register_kind(Change.Kind.PROFILE, KIND)
        register_kind(Change.Kind.PROPOSAL, PROPOSALS)
        register_copy_holder("profile", COPIES)
        register_statement_holder(Change.Kind.PROFILE, STATEMENTS)
        register_tables(
            PersonalTable(UserProfile),
            PersonalTable(ProfileVersion, identity=("profile_id", "version")),
            PersonalTable(ProfileProposal),
        )
