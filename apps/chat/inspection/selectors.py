"""What the panel reads of prompts: those of past turns, and the one that a message would get."""

from apps.chat.inspection.past import read_working
from apps.chat.inspection.rebuild import rebuild_prompt
from apps.chat.inspection.trial import Stage, set_stage, try_context

__all__ = ["Stage", "read_working", "rebuild_prompt", "set_stage", "try_context"]
