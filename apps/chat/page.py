"""The chat page: one document whose scripts do everything else through the REST API."""

from __future__ import annotations

import posixpath
import re
import uuid
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, cast

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.staticfiles import finders
from django.core.checks import CheckMessage, Error, register
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe
from django.views.i18n import JavaScriptCatalog

from apps.accounts.models import Space, User
from apps.accounts.selectors import get_settings
from apps.accounts.spaces import list_spaces
from apps.chat.selectors import list_models
from apps.core.llm.client import FROM_ENVIRONMENT, OFFLINE, get_environment_model
from apps.core.words import list_words
from apps.tidying.services import find_unseen


@require_safe
@login_required
@ensure_csrf_cookie
def show_chat_page(request: HttpRequest, session_id: uuid.UUID | None = None) -> HttpResponse:
    """Show the page, with a session opened by ``/s/<uuid>``.

    Whether that session exists is for the API to say: the page asks it anyway and shows what it answers.
    """
    user = cast(User, request.user)
    letter = find_unseen(user)
    models = list_models()
    name = next(choice.name for choice in models if choice.default)
    # Of the environment's model the name may be known only once its server was asked.
    model = get_environment_model().name if name == FROM_ENVIRONMENT else name
    context = {
        "page": {
            "sessionId": str(session_id) if session_id else None,
            "reviewUrl": reverse("admin:review"),
            "inspectorUrl": reverse("admin:chat_turn_change", args=[uuid.UUID(int=0)]),
            "spaceMemoriesUrl": f"{reverse('admin:memories_changelist')}?space={uuid.UUID(int=0)}",
            "spaceDeletionUrl": reverse("admin:accounts_space_delete", args=[uuid.UUID(int=0)]),
            # C8: the browser's zone is taken once; a person's own choice, UTC included, is left alone.
            "models": [asdict(choice) for choice in models],
            "isPaused": get_settings(user).paused,
            "letter": letter and {"id": str(letter.id), "changes": letter.change_count},
            "letterUrl": f"{reverse('admin:tidying')}?run={uuid.UUID(int=0)}",
            "timezoneIsSet": user.settings.filter(key="memory.timezone").exists(),
        },
        "spaces": list(
            list_spaces(user).values("id", "name", "kind", "instructions", "learns_to", "archived", "paused")
        ),
        "space_kinds": Space.Kind.choices,
        "space_targets": Space.LearnsTo.choices,
        "words": list_words(),
        "modules": list_modules("chat/main.js"),
        "model": model,
        "offline": name == OFFLINE,
        "may_connect": user.has_perm("connections.change_modelserver"),
    }
    return render(request, "chat/page.html", context)


# An import of another module, but not what is loaded only when it is needed (`import("…")`).
_IMPORT = re.compile(r'\b(?:from|import) "(\.[^"\n]+)"')


@cache
def list_modules(entry: str) -> list[str]:
    """Return the static paths of all modules that ``entry`` imports, directly or not, without itself; nearest first.

    The page names them, so that the browser asks for everything at once: otherwise it learns of each module from the
    one before, which takes six round trips one after the other.
    """
    found = [entry]
    for module in found:
        file = finders.find(module)
        for relative in _IMPORT.findall(Path(file).read_text()) if file else ():
            imported = posixpath.normpath(posixpath.join(posixpath.dirname(module), relative))
            if imported not in found:
                found.append(imported)
    return found[1:]


@register("environment")
def check_browser_libraries(**_options: Any) -> list[CheckMessage]:
    """Return an error for each library of the chat page that is not installed: without them no reply would be shown."""
    libraries = [entry for entry in settings.STATICFILES_DIRS if isinstance(entry, tuple)]
    return [
        Error(
            f"{name.removeprefix('vendor/')} is not installed in {folder}.",
            hint="Run `make run`, or `npm ci --prefix frontend`.",
            id="chat.E001",
        )
        for name, folder in libraries
        if not Path(folder).is_dir()
    ]


urlpatterns = [
    path("", show_chat_page, name="chat"),
    path("s/<uuid:session_id>", show_chat_page, name="chat-session"),
    path("texts.js", JavaScriptCatalog.as_view(packages=["apps.chat"]), name="texts"),
]
