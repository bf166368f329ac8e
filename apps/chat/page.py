"""The chat page: one document whose scripts do everything else through the REST API."""

from __future__ import annotations

import uuid
from dataclasses import asdict

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from apps.chat.page_modules import list_modules
from apps.chat.selectors import list_models
from apps.core.llm.client import FROM_ENVIRONMENT, OFFLINE, get_environment_model
from apps.core.words import list_words


@require_safe
@login_required
@ensure_csrf_cookie
def show_chat_page(request: HttpRequest, session_id: uuid.UUID | None = None) -> HttpResponse:
    """Show the page, with a session opened by ``/s/<uuid>``.

    Whether that session exists is for the API to say: the page asks it anyway and shows what it answers.
    """
    user = request.user
    models = list_models()
    name = next(choice.name for choice in models if choice.default)
    # Of the environment's model the name may be known only once its server was asked.
    model = get_environment_model().name if name == FROM_ENVIRONMENT else name
    context = {
        "page": {
            "sessionId": str(session_id) if session_id else None,
            "reviewUrl": reverse("admin:review"),
            "inspectorUrl": reverse("admin:chat_turn_change", args=[uuid.UUID(int=0)]),
            # C8: the browser's zone is taken once; a person's own choice, UTC included, is left alone.
            "models": [asdict(choice) for choice in models],
            "timezoneIsSet": user.settings.filter(key="memory.timezone").exists(),  # type: ignore[union-attr]
        },
        "words": list_words(),
        "modules": list_modules("chat/main.js"),
        "model": model,
        "offline": name == OFFLINE,
        "may_connect": user.has_perm("connections.change_modelserver"),
    }
    return render(request, "chat/page.html", context)
