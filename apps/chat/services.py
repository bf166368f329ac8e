"""The turn, for every door: REST, SSE and the OpenAI-compatible endpoint only encode what these yield."""

from apps.chat.toolbox import describe_memory, get_memory, list_tools
from apps.chat.tools import Caller, Door, Tool
from apps.chat.turn.closing import get_outcome, get_stored_turn
from apps.chat.turn.command_record import describe_commands
from apps.chat.turn.commands import forget_candidate
from apps.chat.turn.editing import list_edits, open_edited_turn, undo_edit
from apps.chat.turn.engine import TurnRun, start_turn, stop_turns
from apps.chat.turn.journal import fail_left_turns, fail_left_turns_soon
from apps.chat.turn.opening import (
    open_another_turn,
    open_client_turn,
    open_form_turn,
    open_message_turn,
    open_retry_turn,
    preview_context,
)
from apps.chat.turn.relaying import read_instructions
from apps.chat.turn.stopping import stop_turn
from apps.chat.turn.types import ClientRequest, Delta, Done, Failed, OpenTurn, Relayed, Started, TurnEvent

__all__ = [
    "Caller",
    "ClientRequest",
    "Delta",
    "Done",
    "Door",
    "Failed",
    "OpenTurn",
    "Relayed",
    "Started",
    "Tool",
    "TurnEvent",
    "TurnRun",
    "describe_commands",
    "describe_memory",
    "fail_left_turns",
    "fail_left_turns_soon",
    "forget_candidate",
    "get_memory",
    "get_outcome",
    "get_stored_turn",
    "list_edits",
    "list_tools",
    "open_another_turn",
    "open_client_turn",
    "open_edited_turn",
    "open_form_turn",
    "open_message_turn",
    "open_retry_turn",
    "preview_context",
    "read_instructions",
    "start_turn",
    "stop_turn",
    "stop_turns",
    "undo_edit",
]
