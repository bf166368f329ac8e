"""Which tools a turn offers the model (T1, X2)."""

from __future__ import annotations

from typing import cast

from apps.accounts.types import MemorySettings
from apps.chat.emotions import ReplyStrategy
from apps.chat.tools import CREATE_CONTEXT, SEARCH_MEMORIES, TOOLS, UPDATE_CONTEXT
from apps.core.llm.client import ChosenModel
from apps.core.llm.types import ChatModel, ToolCallingModel

WRITING = (CREATE_CONTEXT, UPDATE_CONTEXT)
"""Tools that change something."""


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
    left_out = {*(() if writes else WRITING), *(() if strategy.use_memory else (SEARCH_MEMORIES,))}
    return tuple(tool.name for tool in TOOLS if tool not in left_out)


def as_tool_calling(model: ChatModel) -> ToolCallingModel | None:
    """Return the model if it can call tools; the offline model cannot."""
    return cast(ToolCallingModel, model) if hasattr(model, "converse") else None
