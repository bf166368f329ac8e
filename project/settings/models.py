"""Which models are asked, and how long a turn may take."""

from __future__ import annotations

import os

from project.settings.environment import env

# For numpy, once it is loaded. A sentence is too small to share, and idle threads would wait for it on every core.
os.environ.setdefault("OMP_NUM_THREADS", "1")

OPENAI_API_KEY = env.str("OPENAI_API_KEY", default="")
OPENAI_BASE_URL = env.str("OPENAI_BASE_URL", default="")
CHAT_MODEL = env.str("CHAT_MODEL", default="")
# Upper bound of one reply, so that a model in a loop ends; 0 leaves it to the server.
CHAT_MAX_TOKENS = env.int("CHAT_MAX_TOKENS", default=2_000) or None

# The same for one answer in background work; one that is cut off gets twice as many.
BACKGROUND_MAX_TOKENS = env.int("BACKGROUND_MAX_TOKENS", default=2_000) or None

# What answers when no model is connected: a class that makes a `apps.core.llm.types.ChatModel`.
OFFLINE_CHAT_MODEL = "apps.offline.model.OfflineModel"

# What finds the models that were connected in the panel: a `apps.core.llm.client.Directory`.
MODEL_DIRECTORY = "apps.connections.services.find_endpoints"

EMBEDDING_MODEL = env.str("EMBEDDING_MODEL", default="")
EMBEDDING_BASE_URL = env.str("EMBEDDING_BASE_URL", default="")

# The turn

# Defaults of run-time settings given in the environment, as MEMORY_<NAME> (G1).
MEMORY_ENVIRONMENT = {name: value for name, value in env.ENVIRON.items() if name.startswith("MEMORY_")}

USE_MEMORY_EMOTION_SYSTEM = env.bool("USE_MEMORY_EMOTION_SYSTEM", default=True)
# How long a message may be `pending` before it counts as failed and can be retried (C6). A reply that comes later is
# stored all the same, unless the message was retried meanwhile.
TURN_LEASE_SECONDS = env.int("TURN_LEASE_SECONDS", default=180)
