"""The model that answers when no other is configured: rules over small curated tables, Chinese and English.

It reads the prompt a real model would get and answers in the same form. See `apps.core.llm.offline.model`.
"""

from apps.core.llm.offline.model import OfflineModel

__all__ = ["OfflineModel"]
