"""Why signing in with another service came to nothing, on a page."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _

PROBLEMS = {
    "cancelled": (400, _("You cancelled the login there. Nothing was changed.")),
    "failed": (401, _("The login there could not be verified. Try again.")),
    "unavailable": (502, _("The service cannot be reached at the moment. Try again later.")),
    "unknown": (
        403,
        _("No account here is connected to this one yet. Log in with your password and connect it under Settings › "
          "Login and security, or ask an administrator for an account."),
    ),
    "email_taken": (
        403,
        _("There is an account with your email address. Log in to it with your password and connect this one under "
          "Settings › Login and security."),
    ),
    "domain": (403, _("Accounts with your email address may not log in here.")),
    "not_allowed": (403, _("This account may not log in.")),
    "connected_other": (409, _("This account there is connected to another account here.")),
}  # fmt: skip
"""Status and words, by reason."""


def answer_problem(request: HttpRequest, reason: str) -> HttpResponse:
    """Answer with the page that says why, with a way back."""
    status, words = PROBLEMS[reason]
    context = {"words": words, "service": settings.OIDC_NAME}
    return render(request, "registration/sign_in_problem.html", context, status=status)
