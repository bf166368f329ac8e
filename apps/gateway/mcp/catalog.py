"""Every tool that the server offers, with the scope that it takes and hints for clients."""

from __future__ import annotations

from dataclasses import dataclass

import mcp_types as types

from apps.accounts.types import Scope
from apps.chat.tools import CREATE_CONTEXT, FETCH_CONTEXT, SEARCH_MEMORIES, UPDATE_CONTEXT, Tool
from apps.gateway.mcp.memories import (
    ADD_MEMORY,
    DELETE_MEMORY,
    GET_PROFILE,
    LIST_SESSION_SUMMARIES,
    MUTE_MEMORY,
    UPDATE_MEMORY,
)

READ, WRITE = Scope.READ, Scope.WRITE


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool as the server offers it. `idempotent`: calling it again changes nothing."""

    tool: Tool
    scope: Scope
    destructive: bool = False
    idempotent: bool = True

    def describe(self) -> types.Tool:
        """The tool on the wire."""
        reads = self.scope == READ
        return types.Tool(
            name=self.tool.name,
            title=self.tool.title,
            description=self.tool.description,
            input_schema=self.tool.input_schema,
            output_schema=self.tool.output_schema,
            annotations=types.ToolAnnotations(
                title=self.tool.title,
                read_only_hint=reads,
                destructive_hint=self.destructive,
                idempotent_hint=self.idempotent,
                open_world_hint=False,
            ),
        )


OFFERED = {
    offered.tool.name: offered
    for offered in (
        OfferedTool(SEARCH_MEMORIES, READ),
        OfferedTool(ADD_MEMORY, WRITE),
        OfferedTool(UPDATE_MEMORY, WRITE, destructive=True),
        OfferedTool(DELETE_MEMORY, WRITE, destructive=True),
        OfferedTool(MUTE_MEMORY, WRITE),
        OfferedTool(GET_PROFILE, READ),
        OfferedTool(LIST_SESSION_SUMMARIES, READ),
        OfferedTool(CREATE_CONTEXT, WRITE, idempotent=False),
        OfferedTool(FETCH_CONTEXT, READ),
        OfferedTool(UPDATE_CONTEXT, WRITE, idempotent=False),
    )
}
"""By name, in the order in which they are listed."""
