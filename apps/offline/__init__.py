"""The model that answers when none is connected: small rules in two languages, honest about it (docs/models.md).

Nothing imports it: the setting ``OFFLINE_CHAT_MODEL`` names it, and `apps.core.llm.client` loads it.
"""
