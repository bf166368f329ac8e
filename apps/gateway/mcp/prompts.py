"""Messages that a person can start from in their client, often as a command: recalling and remembering."""

from __future__ import annotations

from collections.abc import Mapping

import mcp_types as types

from apps.core.errors import InvalidInput, NotFound

_RECALL = (
    "What do you remember about this? Search my memories with search_memories, also with other words if the first "
    "search finds little, and answer from what you find, with dates. Say so if nothing is remembered.\n\n{topic}"
)
_REMEMBER = (
    "Remember this with add_memory, in self-contained sentences with names and full dates. Search first: if a memory "
    "says something else about the same matter, correct it with update_memory instead.\n\n{text}"
)
_TEXTS = {"recall": ("topic", _RECALL), "remember": ("text", _REMEMBER)}
"""By name: the one argument, and the message with its place."""

PROMPTS = [
    types.Prompt(
        name="recall",
        title="Recall",
        description="Answer from what is remembered about a topic.",
        arguments=[types.PromptArgument(name="topic", description="What to look for.", required=True)],
    ),
    types.Prompt(
        name="remember",
        title="Remember",
        description="Keep something in memory.",
        arguments=[types.PromptArgument(name="text", description="What to remember.", required=True)],
    ),
]


def get_prompt(name: str, arguments: Mapping[str, str]) -> types.GetPromptResult:
    """Return the message. `NotFound` for an unknown prompt, `InvalidInput` without its argument."""
    if name not in _TEXTS:
        raise NotFound("This prompt does not exist.")
    argument, text = _TEXTS[name]
    if not (given := arguments.get(argument, "").strip()):
        raise InvalidInput(f"{argument}: Must not be blank.")
    content = types.TextContent(type="text", text=text.replace(f"{{{argument}}}", given))
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])
