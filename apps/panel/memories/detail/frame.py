"""What every page about one memory has in common."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse

from apps.panel.memories.editing import EditingPages
from apps.panel.memories.kinds import LONG_TERM
from apps.panel.values import show_value


class MemoryFrame(EditingPages):
    """The frame of the page, and the way back to it."""

    def frame(self, request: HttpRequest, memory: Any) -> dict[str, Any]:
        """What every page about one memory has."""
        request.current_app = self.admin_site.name
        shown = show_value(memory.value) if self.kind is LONG_TERM else memory.content
        return {
            **self.admin_site.each_context(request),
            **self._row_context(request, self.read_query(request)),
            "title": memory.key if self.kind is LONG_TERM else str(self.opts.verbose_name),
            "memory": memory,
            "shown": shown,
            "is_large": len(shown) > 80 or "\n" in shown,
            "made_at": getattr(memory, self.kind.made_at),
        }

    def go_to(self, memory_id: UUID, *, done: str, operations: list[UUID]) -> HttpResponseRedirect:
        """Lead to a memory's page, which says what was done and offers to undo it."""
        address = reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", args=[memory_id])
        said = {"done": done, "operations": ",".join(map(str, operations))} if operations else {}
        return HttpResponseRedirect(f"{address}?{urlencode(said)}" if said else address)
