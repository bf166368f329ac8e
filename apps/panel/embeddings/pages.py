"""The state of the vectors, and search by meaning in what was said (V5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from apps.conversations.models import Role, Session
from apps.core.errors import ModelUnavailable
from apps.memory.selectors import ConversationMatch, search_conversations
from apps.panel.embeddings.figures import load_figures
from apps.panel.owned import sees_everybody
from apps.panel.pages import PanelPage

FOUND = 20
MAX_CHARACTERS = 2_000
"""Of a query: what is longer says more than one thing."""

SHOWN = 600


@dataclass(frozen=True, slots=True)
class Match:
    """Something near the query. ``near``: whether the person's setting would let it be found."""

    content: str
    similarity: float
    near: bool
    role: str
    session: Session | None
    match: ConversationMatch


class VectorsPage(PanelPage):
    """GET: the figures by themselves, of who asks; for staff of everybody, or of ``user``."""

    title = gettext_lazy("Embeddings")
    template_name = "panel/embeddings/figures.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        everybody = sees_everybody(request) and not request.GET.get("user")
        return self.render(request, models=load_figures(None if everybody else self.owner))


class SearchPage(PanelPage):
    """GET: what is near ``q`` in meaning, most similar first, with how near."""

    title = gettext_lazy("Search by meaning")
    template_name = "panel/embeddings/search.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        query = request.GET.get("q", "").strip()[:MAX_CHARACTERS]
        threshold = get_settings(self.owner).similarity_threshold
        matches: list[Match] = []
        problem = ""
        if query:
            try:
                matches = find_matches(self.owner, query, threshold=threshold)
            except ModelUnavailable:
                problem = _("The embedding model is not responding. Try again in a moment.")
        return self.render(request, query=query, matches=matches, threshold=threshold, problem=problem)


def find_matches(user: User, query: str, *, threshold: float) -> list[Match]:
    """The `FOUND` nearest of what was said, near or not, with the sessions they are from."""
    found: Sequence[ConversationMatch] = search_conversations(user=user, query=query, top_k=FOUND, threshold=0)
    sessions = Session.objects.filter(user=user).in_bulk({match.chat_id for match in found})
    return [
        Match(
            content=match.content if len(match.content) <= SHOWN else f"{match.content[:SHOWN]}…",
            similarity=match.similarity,
            near=match.similarity >= threshold,
            role=str(Role(match.message_type).label),
            session=sessions.get(match.chat_id),
            match=match,
        )
        for match in found
    ]
