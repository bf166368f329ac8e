from typing import Any

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in
from django.core.checks import CheckMessage, Error, register
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _


class AccountsConfig(AppConfig):
    name = "apps.accounts"
    verbose_name = _("Accounts")

    def ready(self) -> None:
        from apps.accounts.services.sessions import begin_session

        user_logged_in.connect(begin_session)
        register(check_environment_settings, "environment")
        autodiscover_modules("personal_data")


def check_environment_settings(**_options: Any) -> list[CheckMessage]:
    """Return an error for each ``MEMORY_<NAME>`` in the environment that is not acceptable (G1)."""
    from pydantic import ValidationError

    from apps.accounts.selectors import get_environment_settings
    from apps.accounts.types import MemorySettings

    try:
        MemorySettings.model_validate(get_environment_settings())
    except ValidationError as error:
        return [
            Error(f"MEMORY_{str(problem['loc'][0]).upper()}: {problem['msg']}", id="accounts.E001")
            for problem in error.errors()
        ]
    return []
