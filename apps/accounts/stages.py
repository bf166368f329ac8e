"""The steps of logging in after a password or another service has been accepted."""

from __future__ import annotations

from typing import Any

from allauth.mfa.stages import AuthenticateStage

STRONG = frozenset({"mfa", "otp", "hwk"})
"""What another service calls a second factor, or one that needs no other (RFC 8176)."""


class SecondFactorStage(AuthenticateStage):
    """Asks for a code, unless who signs in through another service has given one there."""

    def _should_handle(self, request: Any) -> bool:
        social = (self.login.signal_kwargs or {}).get("sociallogin")
        methods = social.account.extra_data.get("amr") if social else None
        if isinstance(methods, list) and STRONG & {str(method) for method in methods}:
            return False
        return bool(super()._should_handle(request))
