"""Choose another memory, preview the merge, confirm it (M2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from apps.core.errors import JiyiError
from apps.core.text.json_text import json_text
from apps.memory.models import Status
from apps.memory.selectors import (
    combine_contents,
    combine_values,
    embed_query,
    retrieve_atomic_memories,
    retrieve_relevant_memories,
)
from apps.memory.services import collect_operations, merge_atomic_memories, merge_memories
from apps.panel.answers import UNPROCESSABLE
from apps.panel.memories.detail.frame import MemoryFrame
from apps.panel.memories.kinds import LONG_TERM
from apps.panel.memories.query import ListQuery
from apps.panel.memories.rows import Row, read_rows
from apps.panel.reasons import translate_reason
from apps.panel.value_text import NotJson, read_value, write_value
from apps.panel.values import show_value

FOUND = 12
QUERY_CHARACTERS = 500


class MergePages(MemoryFrame):
    """`merge_view`: GET suggests what is near to the memory; POST ``q`` searches, ``with`` chooses, ``text`` confirms.

    The search is posted, so that no address and no log holds it.
    """

    def merge_view(self, request: HttpRequest, memory_id: UUID) -> HttpResponse:
        memory = self.find(request, memory_id)
        if memory.status != Status.ACTIVE:
            raise PermissionDenied
        chosen = request.POST.get("with", "")
        if chosen:
            return self._merge_with(request, memory, self._find_other(memory, chosen))
        typed = request.POST.get("q", "").strip()[:1_000]
        rows = self._search(memory, typed) if typed else self._suggest(memory)
        context = {**self.frame(request, memory), "rows": rows, "typed": typed}
        return TemplateResponse(request, "panel/detail/merge.html", context)

    def _find_other(self, memory: Any, chosen: str) -> Any:
        """Another active memory of the same person, whoever asks."""
        try:
            other_id = UUID(chosen)
        except ValueError:
            raise Http404 from None
        others = self.kind.model.objects.filter(user=memory.user, status=Status.ACTIVE).exclude(pk=memory.pk)
        other = others.select_related("user").defer(*self.kind.derived).filter(pk=other_id).first()
        if other is None:
            raise Http404
        return other

    def _search(self, memory: Any, typed: str) -> list[Row]:
        others = self.kind.model.objects.filter(user=memory.user, status=Status.ACTIVE).exclude(pk=memory.pk)
        found = self.kind.search(others, typed).order_by(f"-{self.kind.made_at}").values_list("pk", flat=True)[:FOUND]
        return read_rows(self.kind, list(found), ListQuery(q=typed))

    def _suggest(self, memory: Any) -> list[Row]:
        """What retrieval finds near to the memory itself; that counts as no use (L4)."""
        text = self._tell(memory)[:QUERY_CHARACTERS]
        embedding = embed_query(text)
        scored: Sequence[Any]
        if self.kind is LONG_TERM:
            scored = retrieve_relevant_memories(user=memory.user, message=text, limit=FOUND, query_embedding=embedding)
        else:
            scored = retrieve_atomic_memories(user=memory.user, query=text, limit=FOUND, query_embedding=embedding)
        ids = [item.candidate.id for item in scored if item.candidate.id != memory.pk]
        return read_rows(self.kind, ids, ListQuery())

    def _tell(self, memory: Any) -> str:
        return f"{memory.key} {json_text(memory.value)}" if self.kind is LONG_TERM else str(memory.content)

    def _merge_with(self, request: HttpRequest, memory: Any, other: Any) -> HttpResponse:
        problem = ""
        typed = request.POST["text"].replace("\r\n", "\n") if "text" in request.POST else None
        if typed is not None:
            try:
                with collect_operations() as operations:
                    self._merge(memory, other, typed)
            except JiyiError as error:
                problem = translate_reason(error.message)
            except NotJson as error:
                problem = str(error)
            else:
                return self.go_to(memory.pk, done="merged", operations=operations)
        text = "value" if self.kind is LONG_TERM else "content"
        kept, merged = getattr(memory, text), getattr(other, text)
        combined = combine_values(kept, merged) if self.kind is LONG_TERM else combine_contents(kept, merged)
        write = write_value if self.kind is LONG_TERM else str
        context = {
            **self.frame(request, memory),
            "other": other,
            "other_shown": show_value(merged),
            "choices": {"combined": write(combined), "kept": write(kept), "merged": write(merged)},
            "text": write(combined) if typed is None else typed,
            "problem": problem,
        }
        status = UNPROCESSABLE if problem else 200
        return TemplateResponse(request, "panel/detail/merge_preview.html", context, status=status)

    def _merge(self, memory: Any, other: Any, typed: str) -> None:
        now = timezone.now()
        if self.kind is LONG_TERM:
            value = read_value(typed)
            merge_memories(user=memory.user, kept_id=memory.pk, merged_id=other.pk, value=value, now=now)
        else:
            merge_atomic_memories(user=memory.user, kept_id=memory.pk, merged_id=other.pk, content=typed, now=now)
