"""Which tools a turn offers the model (T1, X2)."""

from __future__ import annotations

from typing import cast

from apps.accounts.types import MemorySettings
from apps.chat.emotions import ReplyStrategy
from apps.chat.toolbox import list_tools
from apps.chat.tools import Door
from apps.core.llm.client import ChosenModel
from apps.core.llm.types import ChatModel, ToolCallingModel

SEARCH = "search_memories"


def offer_tools(
    *, settings: MemorySettings, strategy: ReplyStrategy | None, reads: bool, writes: bool, chosen: ChosenModel | None
) -> tuple[str, ...]:
    """Return the names of the tools that the model may call.

    `reads`: whether anything remembered may be read (not in a temporary session, C7); `writes`: whether the turn leaves
    anything behind. None in plain chat (E6), none for a model that calls no tools, and no search under a strategy that
    wants no memories (E2). `chosen`: the model that answers; None offers it none.
    """
    if chosen is None or not settings.enable_agentic_search or strategy is None or not reads:
        return ()
    calling = as_tool_calling(chosen.model)
    if calling is None or not calling.takes_tools(chosen.other):
        return ()
    return tuple(
        name
        for name, tool in list_tools(Door.CHAT).items()
        if (writes or not tool.writes) and (strategy.use_memory or name != SEARCH)
    )


def as_tool_calling(model: ChatModel) -> ToolCallingModel | None:
    """Return the model if it can call tools; the offline model cannot."""
    return cast(ToolCallingModel, model) if hasattr(model, "converse") else None
