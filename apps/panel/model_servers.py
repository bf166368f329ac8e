"""Connecting models (docs/models.md): a URL, a key, a test, and which models to use. Only with permission for it.

And how many embeddings there are of which model, and how far a change of models is (V2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from apps.accounts.models import User
from apps.connections.models import ConnectedModel, ModelKind, ModelServer
from apps.connections.probing import Outcome, list_served, try_chat_model, try_embedding_model
from apps.connections.services import list_servers, read_key, remove_server, save_server, set_default, try_model
from apps.connections.types import MAX_MODEL_CHARS, MAX_MODELS, MAX_SERVER_CHARS, MAX_URL_CHARS, PRESETS
from apps.conversations.models import Role
from apps.core.errors import Conflict, InvalidInput, JiyiError, ModelUnavailable, NotFound
from apps.core.llm.client import OFFLINE, get_embedder_name, get_environment_embedder_name, get_environment_name
from apps.memory.models import EmbeddingModel
from apps.memory.types import KindName
from apps.memory.vectors.memories import count_vectors
from apps.memory.vectors.reembedding import begin_reembedding
from apps.panel.jobs import explain_error
from apps.panel.owned import sees_everybody
from apps.panel.pages import PanelPage, is_partial
from apps.panel.refusals import translate_reason
from apps.panel.texts import read_id


class ServerForm(forms.Form):
    """A server and what to use of it. ``server``: the connected one that is changed, None for a new one.

    ``more``: chat models by name, one a line, for a server that does not list them.
    """

    name = forms.CharField(label=gettext_lazy("Name"), max_length=MAX_SERVER_CHARS)
    base_url = forms.CharField(label=gettext_lazy("URL"), max_length=MAX_URL_CHARS)
    api_key = forms.CharField(label=gettext_lazy("API key"), required=False, max_length=1_000)
    remove_key = forms.BooleanField(label=gettext_lazy("Remove the stored key"), required=False)
    chat = forms.CharField(required=False)
    more = forms.CharField(label=gettext_lazy("Other chat models"), required=False)
    embedding = forms.CharField(required=False, max_length=MAX_MODEL_CHARS)

    def __init__(self, *args: Any, server: ModelServer | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.server = server

    def clean_base_url(self) -> str:
        """Return the URL; one without a path gets the ``/v1`` that all these servers have."""
        url: str = self.cleaned_data["base_url"].rstrip("/")
        try:
            parts = urlsplit(url)
            is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_address = False
        if not is_address or any(character.isspace() for character in url):
            raise forms.ValidationError(_("Must be an address that begins with http:// or https://."))
        if parts.username or parts.password or parts.query or parts.fragment:
            raise forms.ValidationError(_("Leave user name, password and query out. The key has a field of its own."))
        return url if parts.path else f"{url}/v1"

    def clean_api_key(self) -> str:
        key: str = self.cleaned_data["api_key"]
        if not key.isascii() or not key.isprintable():
            raise forms.ValidationError(_("An API key has only ASCII letters, digits and signs."))
        return key

    def clean_chat(self) -> list[str]:
        """The ticked names; the field holds one or several."""
        names = cast(QueryDict, self.data).getlist("chat")
        return [name.strip() for name in names if name.strip()]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        more = cleaned.get("more", "").replace(",", "\n").split("\n")
        names = [*cleaned.get("chat", []), *(line.strip() for line in more)]
        cleaned["chat"] = list(dict.fromkeys(filter(None, names)))
        if any(len(name) > MAX_MODEL_CHARS for name in cleaned["chat"]):
            self.add_error("more", _("The name of a model is too long."))
        if len(cleaned["chat"]) >= MAX_MODELS:
            self.add_error("more", _("That is too many models."))
        # A key that is never shown must not be sent to whatever address somebody enters.
        keeps = self.server is not None and self.server.encrypted_key and self.new_key is None
        url = cleaned.get("base_url")
        if self.server is not None and keeps and url and _origin(url) != _origin(self.server.base_url):
            self.add_error("api_key", _("Enter the key again: the server URL changed."))
        return cleaned

    @property
    def new_key(self) -> str | None:
        """The key to store; None leaves the stored one as it is."""
        if self.cleaned_data["remove_key"]:
            return ""
        return self.cleaned_data.get("api_key") or None

    def find_key(self) -> str:
        """Return the key to ask the server with: what was entered, else the stored one."""
        return read_key(self.server) if self.server and self.new_key is None else self.new_key or ""


def fill_form(server: ModelServer) -> dict[str, Any]:
    """What the form holds of a connected server; never its key."""
    models = list(server.models.all())
    return {
        "name": server.name,
        "base_url": server.base_url,
        "chat": [row.model for row in models if row.kind == ModelKind.CHAT],
        "embedding": next((row.model for row in models if row.kind == ModelKind.EMBEDDING), ""),
    }


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


# How many of the ticked chat models a test asks: each may take seconds.
TRIED = 3


def may_connect(request: HttpRequest) -> bool:
    """Whether who asks may connect models: superusers, and whom they gave the permission."""
    return request.user.has_perm("connections.change_modelserver")


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of asking one model, in words. `detail`: what the server said, as it said it."""

    model: str
    works: bool
    text: str
    detail: str = ""


class ModelServersPage(PanelPage):
    """What the pages below have in common: who may see them, and what is refused."""

    title = gettext_lazy("Models")

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not may_connect(request):
            raise PermissionDenied
        return super().dispatch(request, *args, **kwargs)

    def back(self) -> HttpResponse:
        return HttpResponseRedirect(reverse("admin:models"))


class ModelsPage(ModelServersPage):
    """GET: every connected server with its models, and what answers by default."""

    template_name = "panel/model_servers/list.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        servers = list_servers()
        rows = [row for server in servers for row in server.models.all()]
        environment = get_environment_name()
        return self.render(
            request,
            servers=servers,
            chat=[row for row in rows if row.kind == ModelKind.CHAT],
            embedding=[row for row in rows if row.kind == ModelKind.EMBEDDING],
            environment=environment,
            is_offline=environment == OFFLINE,
            presets=PRESETS,
            environment_embedder=get_environment_embedder_name(),
        )


class ServerPage(ModelServersPage):
    """GET: the form, empty, with a ``preset``, or of a connected ``server``. POST: connect it, or change it."""

    template_name = "panel/model_servers/form.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        server = _find_server(request)
        preset = next((preset for preset in PRESETS if preset.name == request.GET.get("preset")), None)
        initial = fill_form(server) if server else {"name": preset.name, "base_url": preset.base_url} if preset else {}
        return self._show(request, ServerForm(server=server, initial=initial), server, chosen=initial)

    def post(self, request: HttpRequest) -> HttpResponse:
        server = _find_server(request)
        form = ServerForm(request.POST, server=server)
        if form.is_valid():
            try:
                saved = _save(form, server)
            except JiyiError as error:
                field = next((name for name in error.fields if name in form.fields), None)
                form.add_error(field, _describe(error))
            else:
                messages.success(request, _("“%(name)s” is connected.") % {"name": saved.name})
                return self.back()
        chosen = {"chat": form.cleaned_data.get("chat", []), "embedding": form.data.get("embedding", "")}
        return self._show(request, form, server, chosen=chosen, status=400)

    def _show(
        self,
        request: HttpRequest,
        form: ServerForm,
        server: ModelServer | None,
        *,
        chosen: dict[str, Any],
        status: int = 200,
    ) -> HttpResponse:
        return self.render(
            request,
            status=status,
            form=form,
            server=server,
            presets=PRESETS,
            names=chosen.get("chat", []),
            embedders=list(filter(None, [chosen.get("embedding")])),
            chosen=chosen,
        )


class TestPage(ModelServersPage):
    """POST: the form as it is. Answers with what the server lists, and with what the ticked models say."""

    template_name = "panel/model_servers/found.html"

    def post(self, request: HttpRequest) -> HttpResponse:
        server = _find_server(request)
        form = ServerForm(request.POST, server=server)
        form.fields["name"].required = False
        if not form.is_valid():
            chosen = {"chat": form.cleaned_data.get("chat", []), "embedding": request.POST.get("embedding", "")}
            return self._answer(request, chosen, problems=[*form.errors.items()])
        chosen, url = form.cleaned_data, form.cleaned_data["base_url"]
        key, served = "", list[str]()
        try:
            key = form.find_key()
            served = list_served(base_url=url, api_key=key)
        except ModelUnavailable as failure:
            # Some servers list nothing and answer all the same; what was entered by hand is asked.
            if not chosen["chat"]:
                return self._answer(request, chosen, attempts=[_word(Outcome(0, failure=failure), model=url)])
        tried = chosen["chat"][:TRIED]
        attempts = [_word(try_chat_model(base_url=url, api_key=key, model=model), model=model) for model in tried]
        if embedding := chosen["embedding"]:
            outcome = try_embedding_model(base_url=url, api_key=key, model=embedding)
            attempts.append(_word(outcome, model=embedding))
        return self._answer(request, chosen, served=served, attempts=attempts)

    def _answer(self, request: HttpRequest, chosen: dict[str, Any], **context: Any) -> HttpResponse:
        served = context.pop("served", [])
        names = list(dict.fromkeys([*chosen["chat"], *served]))
        embedders = list(dict.fromkeys(filter(None, [chosen["embedding"], *served])))
        return self.render(
            request, chosen=chosen, names=names, embedders=embedders, count=len(served), is_tested=True, **context
        )


class TryModelPage(ModelServersPage):
    """POST ``model``: ask a connected model for one word, or one vector."""

    template_name = "panel/model_servers/attempts.html"

    def post(self, request: HttpRequest) -> HttpResponse:
        row = _find(ConnectedModel.objects.all(), request.POST.get("model"))
        try:
            outcome = try_model(row.pk)
        except ModelUnavailable as error:
            outcome = Outcome(0, failure=error)
        return self.render(request, attempts=[_word(outcome, model=row.name)])


class DefaultPage(ModelServersPage):
    """POST ``kind`` and ``model``: use it wherever no other is named; without one, that of the environment."""

    def post(self, request: HttpRequest) -> HttpResponse:
        kind, chosen = request.POST.get("kind"), request.POST.get("model")
        if kind not in ModelKind.values:
            raise Http404
        row = _find(ConnectedModel.objects.filter(kind=kind), chosen) if chosen else None
        try:
            if kind == ModelKind.EMBEDDING:
                outcome = try_model(row.pk) if row else Outcome(0)
                if outcome.failure is not None:
                    raise outcome.failure
                _use_embedder(row)
                text = _("Embeddings are being created with %(name)s. Search uses the old ones until all are done.")
                told = text % {"name": get_embedder_name()}
            else:
                set_default(kind="chat", model_id=row.pk if row else None)
                told = _("%(name)s now answers by default.") % {"name": row.name if row else get_environment_name()}
        except JiyiError as error:
            messages.error(request, _describe(error))
        else:
            messages.success(request, told)
        return self.back()


class RemovePage(ModelServersPage):
    """GET: asks whether to. POST: forget the server, its key and its models."""

    template_name = "panel/model_servers/remove.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.render(request, server=_find(ModelServer.objects.all(), request.GET.get("server")))

    def post(self, request: HttpRequest) -> HttpResponse:
        server = _find(ModelServer.objects.all(), request.POST.get("server"))
        try:
            remove_server(server_id=server.pk, kept=_list_embedders_in_use())
        except (Conflict, NotFound) as error:
            messages.error(request, _describe(error))
        else:
            messages.success(request, _("“%(name)s” was removed, and its key with it.") % {"name": server.name})
        return self.back()


def _save(form: ServerForm, server: ModelServer | None) -> ModelServer:
    """Store what was entered; a newly chosen embedding model must answer. Raises what services refuse."""
    given = form.cleaned_data
    if not given["chat"] and not given["embedding"]:
        raise InvalidInput(gettext_noop("Choose at least one model."))
    is_new = given["embedding"] and (server is None or given["embedding"] != fill_form(server)["embedding"])
    if is_new:
        outcome = try_embedding_model(base_url=given["base_url"], api_key=form.find_key(), model=given["embedding"])
        if outcome.failure is not None:
            raise outcome.failure
    with transaction.atomic():
        saved = save_server(
            server_id=server.pk if server else None,
            name=given["name"],
            base_url=given["base_url"],
            api_key=form.new_key,
            chat=given["chat"],
            embedding=[given["embedding"]] if given["embedding"] else [],
            kept=_list_embedders_in_use(),
        )
        if is_new:
            row = ConnectedModel.objects.get(server=saved, kind=ModelKind.EMBEDDING, model=given["embedding"])
            _use_embedder(row)
    return saved


@transaction.atomic
def _use_embedder(row: ConnectedModel | None) -> None:
    """Have everything embedded with this model, or that of the environment. Raises `Conflict`."""
    set_default(kind="embedding", model_id=row.pk if row else None)
    begin_reembedding(get_embedder_name())


def _list_embedders_in_use() -> set[str]:
    return set(EmbeddingModel.objects.values_list("name", flat=True))


def _find_server(request: HttpRequest) -> ModelServer | None:
    given = request.GET.get("server") or request.POST.get("server")
    return _find(ModelServer.objects.all(), given) if given else None


def _find(rows: QuerySet[Any], key: str | None) -> Any:
    row = rows.filter(pk=read_id(key)).first()
    if row is None:
        raise Http404
    return row


def _describe(error: JiyiError) -> str:
    if isinstance(error, ModelUnavailable):
        attempt = _word(Outcome(0, failure=error), model="")
        return f"{attempt.text} {attempt.detail}"
    return str(translate_reason(error.message))


def _word(outcome: Outcome, *, model: str) -> Attempt:
    if outcome.failure is None:
        seconds = f"{outcome.seconds:.1f}"
        if outcome.reply:
            text = _("answered in %(seconds)s s: “%(reply)s”") % {"seconds": seconds, "reply": outcome.reply}
        else:
            text = _("answered in %(seconds)s s") % {"seconds": seconds}
        return Attempt(model, works=True, text=text)
    fields = outcome.failure.fields
    explanation = explain_error(f"model_unavailable: {fields.get('reason')} {fields.get('status', '')}".strip())
    assert explanation is not None, "there is an error"
    return Attempt(model, works=False, text=explanation.meaning, detail=outcome.failure.message)


_MESSAGES = {
    Role.USER: gettext_lazy("User messages"),
    Role.ASSISTANT: gettext_lazy("Replies"),
    Role.SUMMARY: gettext_lazy("Summaries"),
}
_MEMORIES = {
    KindName.LONG_TERM: gettext_lazy("Long-term memories"),
    KindName.ATOMIC: gettext_lazy("Atomic memories"),
}


class EmbeddingsPage(PanelPage):
    """GET: the figures of who asks, for staff of everybody or of ``user``; for htmx without the page around them."""

    title = gettext_lazy("Embeddings")
    template_name = "panel/embeddings/page.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        everybody = sees_everybody(request) and not request.GET.get("user")
        models = load_figures(None if everybody else self.owner)
        template = "panel/embeddings/figures.html" if is_partial(request) else ""
        command = f"{settings.COMMAND} reembed"
        return self.render(request, template=template, models=models, everybody=everybody, command=command)


def load_figures(user: User | None) -> list[dict[str, Any]]:
    """Return how many embeddings there are of each model, of a person, None: of everybody.

    ``bars``: label, number, share of the largest. ``progress``: of the model being built, how much of what the active
    one has it has, with ``of``, that number.
    """
    models = count_vectors(user=user)
    active = next((model for model in models if model.state == EmbeddingModel.State.ACTIVE), None)
    figures = []
    for model in models:
        counts = [(label, model.messages.get(role, 0)) for role, label in _MESSAGES.items()]
        counts += [(label, model.memories.get(kind, 0)) for kind, label in _MEMORIES.items()]
        most = max(count for _label, count in counts) or 1
        is_building = model.state == EmbeddingModel.State.BUILDING and active is not None
        of = active.total if is_building and active else 0
        figures.append(
            {
                "name": model.name,
                "state": model.state,
                "total": model.total,
                "bars": [(label, count, count / most) for label, count in counts],
                "progress": (min(model.total / of, 1) if of else 1) if is_building else None,
                "of": of,
            }
        )
    return figures
