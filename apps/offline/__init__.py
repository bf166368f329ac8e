"""The model that answers when none is connected: small rules in two languages, honest about what it is.

It keeps what people say about themselves in their own words, ends little and claims nothing that did not happen
(docs/offline.md). Nothing imports it: the setting ``OFFLINE_CHAT_MODEL`` names it, and `apps.core.llm.client` loads it.
"""
