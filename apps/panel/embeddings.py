"""How many embeddings there are of which model, and how far a change of models is (V2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.conversations.models import Role
from apps.memory.models import EmbeddingModel
from apps.memory.types import KindName
from apps.memory.vectors.memories import ModelVectors, count_vectors
from apps.panel.owned import sees_everybody
from apps.panel.pages import PanelPage, is_partial

_MESSAGES = {
    Role.USER: _("User messages"),
    Role.ASSISTANT: _("Replies"),
    Role.SUMMARY: _("Summaries"),
}
_MEMORIES = {
    KindName.LONG_TERM: _("Long-term memories"),
    KindName.ATOMIC: _("Atomic memories"),
}


@dataclass(frozen=True, slots=True)
class Bar:
    """A number beside the largest of its kind."""

    label: Any
    count: int
    share: float


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """The embeddings of a model. ``progress``: of the model being built, how much of what the active one has it has."""

    name: str
    state: str
    total: int
    bars: Sequence[Bar]
    progress: float | None
    of: int


class EmbeddingsPage(PanelPage):
    """GET: the figures of who asks, for staff of everybody or of ``user``; for htmx without the page around them."""

    title = _("Embeddings")
    template_name = "panel/embeddings/page.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        everybody = sees_everybody(request) and not request.GET.get("user")
        models = load_figures(None if everybody else self.owner)
        template = "panel/embeddings/figures.html" if is_partial(request) else ""
        return self.render(request, template=template, models=models, everybody=everybody)


def load_figures(user: User | None) -> list[ModelFigures]:
    """Return the figures of a person, None: of everybody."""
    models = count_vectors(user=user)
    active = next((model for model in models if model.state == EmbeddingModel.State.ACTIVE), None)
    return [_describe(model, active=active) for model in models]


def _describe(model: ModelVectors, *, active: ModelVectors | None) -> ModelFigures:
    counts = [(label, model.messages.get(role, 0)) for role, label in _MESSAGES.items()]
    counts += [(label, model.memories.get(kind, 0)) for kind, label in _MEMORIES.items()]
    most = max((count for _label, count in counts), default=0)
    building = model.state == EmbeddingModel.State.BUILDING and active is not None
    of = active.total if building and active else 0
    return ModelFigures(
        name=model.name,
        state=model.state,
        total=model.total,
        bars=[Bar(label=label, count=count, share=count / most if most else 0) for label, count in counts],
        progress=(min(model.total / of, 1) if of else 1) if building else None,
        of=of,
    )
